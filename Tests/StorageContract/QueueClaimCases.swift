import Storage
import Testing

/// The maximum difference between two relays' clocks.
private let skew: EpochMilliseconds = 60_000

extension ContractCase {
    static let queueClaims: [ContractCase] = [
        ContractCase("concurrent callers never claim the same push, and all pushes are claimed") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let device = try await storages[0].registered("aa", Samples.key("secret"))
                let pushes = (0..<200).map { _ in Samples.pending(device) }
                _ = try await storages[0].enqueue(pushes, lease: nil, limitPerSecret: 1_000)
                let claims = try await concurrently(20) { index in
                    // Colliding claims get fewer pushes or none, so each storage claims until nothing is due.
                    var held: [String] = []
                    let storage = storages[index % storages.count]
                    while try await storage.nextPushDue() ?? .max <= Samples.time {
                        let lease = Samples.lease()
                        let claimed = try await storage.claimPushes(
                            dueAt: Samples.time, lease: lease, limit: 7, scope: .everySecret)
                        held += claimed.map(\.push.id)
                    }
                    return held
                }
                let held = claims.flatMap(\.self)
                #expect(held.count == 200)
                #expect(Set(held) == Set(pushes.map(\.id)))
            }
        },

        ContractCase(open: "no more are claimed than asked for") { storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            _ = try await storage.enqueue(
                (0..<10).map { _ in Samples.pending(device) }, lease: nil, limitPerSecret: 99)
            for expected in [4, 4, 2, 0] {
                let claimed = try await storage.claimPushes(
                    dueAt: Samples.time, lease: Samples.lease(), limit: 4, scope: .oldest)
                #expect(claimed.count == expected)
            }
            #expect(
                try await storage.claimPushes(
                    dueAt: .max, lease: Samples.lease(), limit: 0, scope: .everySecret) == [])
        },

        ContractCase(open: "after a lease expires, its owner can no longer end the push") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let push = Samples.pending(device)
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            let first = Samples.lease(lasting: 30_000)
            #expect(try await storage.claimed(first).count == 1)
            #expect(try await storage.nextPushDue() == first.until)
            #expect(try await storage.claimed(at: first.until - 1) == [])
            let second = Samples.lease(from: first.until)
            #expect(try await storage.claimed(second, at: first.until).map(\.push.id) == [push.id])
            #expect(try await storage.settle([Samples.over(push, first.owner)]) == [false])
            #expect(try await storage.settle([Samples.again(push, first.owner)]) == [false])
            #expect(try await storage.deliveries(of: key, before: nil, limit: 9) == [])
            #expect(try await storage.settle([Samples.over(push, second.owner)]) == [true])
        },

        ContractCase(open: "a push whose lease expired can still be ended if no other caller took it") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let push = Samples.pending(device)
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            let lease = Samples.lease(lasting: 1)
            _ = try await storage.claimed(lease)
            #expect(try await storage.settle([Samples.over(push, lease.owner)]) == [true])
            #expect(try await storage.claimed(at: Samples.time + 1_000_000) == [])
        },

        ContractCase(open: "a relay whose clock is a minute ahead can't take another relay's leased pushes") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let push = Samples.pending(device)
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            // Leases as relays make them: the work takes at most 30 s, and clocks may differ by a minute.
            let work: EpochMilliseconds = 30_000
            let lease = Samples.lease(lasting: work + skew)
            #expect(try await storage.claimed(lease).count == 1)
            for elapsed in [0, 1, work - 1] {
                #expect(try await storage.claimed(at: Samples.time + elapsed + skew) == [])
            }
            #expect(try await storage.settle([Samples.over(push, lease.owner)]) == [true])
        },

        ContractCase("of two relays whose clocks are a minute apart, only one settles each push") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let key = Samples.key("secret")
                let device = try await storages[0].registered("aa", key)
                let pushes = (0..<40).map { _ in Samples.pending(device) }
                _ = try await storages[0].enqueue(pushes, lease: nil, limitPerSecret: 99)
                // The leases are far too short, so both storages believe that they hold the same pushes.
                let behind = Samples.lease(lasting: 1_000)
                let ahead = Samples.lease(from: Samples.time + skew, lasting: 1_000)
                #expect(try await storages[0].claimed(behind).count == 40)
                let last = storages[storages.count - 1]
                #expect(try await last.claimed(ahead, at: Samples.time + skew).count == 40)
                let ended = try await concurrently(2) { index in
                    let owner = index == 0 ? behind.owner : ahead.owner
                    let ends = pushes.map { Samples.over($0, owner) }
                    return try await storages[index % storages.count].settle(ends).count { $0 }
                }
                #expect(ended.sorted() == [0, 40])
                #expect(try await last.deliveries(of: key, before: nil, limit: 99).count == 40)
            }
        },

        ContractCase(open: "a push stored with a lease belongs to its owner until the lease expires") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let pushes = [Samples.pending(device), Samples.pending(device)]
            let lease = Samples.lease()
            #expect(
                try await storage.enqueue(pushes, lease: lease, limitPerSecret: 9) == [.queued, .queued])
            #expect(try await storage.claimed(at: lease.until - 1) == [])
            #expect(try await storage.settle([Samples.over(pushes[0], lease.owner)]) == [true])
            #expect(try await storage.claimed(at: lease.until).map(\.push.id) == [pushes[1].id])
        },

        ContractCase(open: "expired pushes are claimed, so that their end can be recorded") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let push = Samples.pending(device, expiresAt: Samples.time + 10)
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            #expect(try await storage.claimed(at: Samples.time + 11).map(\.push) == [push])
        },
    ]

    static let queueFairness: [ContractCase] = [
        ContractCase(open: "a secret with 10,000 due pushes doesn't delay another secret's single push") {
            storage async throws in
            // Both are in one part of the queue.
            let keys = Samples.keys(2, inBucket: 5)
            let busy = try await storage.registered("aa", keys[0])
            for _ in 0..<10 {
                let pushes = (0..<1_000).map { _ in Samples.pending(busy, dueAt: Samples.time - 5_000) }
                _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 20_000)
            }
            let quiet = try await storage.registered("aa", keys[1])
            let one = Samples.pending(quiet)
            _ = try await storage.enqueue([one], lease: nil, limitPerSecret: 20_000)
            // A claim that only looks at the oldest pushes doesn't see it, and claims none that is due later.
            let oldest = try await storage.claimPushes(
                dueAt: Samples.time, lease: Samples.lease(), limit: 8, scope: .oldest)
            #expect(oldest.count == 8)
            #expect(oldest.allSatisfy { $0.push.secretHash == busy.secretHash })
            let claimed = try await storage.claimPushes(
                dueAt: Samples.time, lease: Samples.lease(), limit: 8, scope: .everySecret)
            #expect(claimed.count == 8)
            #expect(claimed.map(\.push.id).contains(one.id))
        },

        ContractCase(
            open: "secrets take turns, and within a secret the push that has waited longest comes first"
        ) {
            storage async throws in
            var devices: [Device] = []
            for name in ["a", "b", "c"] {
                devices.append(try await storage.registered("aa", Samples.key(name)))
            }
            var pushes: [PendingPush] = []
            for (index, count) in [20, 2, 10].enumerated() {
                pushes += (0..<count).map {
                    Samples.pending(devices[index], dueAt: Samples.time - Int64(1_000 - index * 100 - $0))
                }
            }
            _ = try await storage.enqueue(pushes.shuffled(), lease: nil, limitPerSecret: 99)
            let claimed = try await storage.claimPushes(
                dueAt: Samples.time, lease: Samples.lease(), limit: 10, scope: .everySecret)
            let bySecret = devices.map { device in
                claimed.map(\.push).filter { $0.secretHash == device.secretHash }.map(\.dueAt)
            }
            #expect(bySecret.map(\.count) == [4, 2, 4])
            for (index, times) in bySecret.enumerated() {
                let first = Samples.time - Int64(1_000 - index * 100)
                #expect(times.sorted() == (0..<Int64(times.count)).map { first + $0 })
            }
        },
    ]
}
