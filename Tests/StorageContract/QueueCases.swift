import Storage
import Testing

private let hour: EpochMilliseconds = 3_600_000

extension ContractCase {
    static let queue: [ContractCase] = [
        ContractCase(open: "a push is claimed with every field unchanged and its device") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let push = PendingPush(
                id: Samples.id().text, secretHash: device.secretHash, deviceID: device.id,
                eventType: "permission", sessionID: "ses 🦊 ", payload: Array(0...255), pushType: "background",
                priority: 5, collapseID: "a b", attempts: 3, dueAt: Samples.time + 7,
                createdAt: Samples.time - 9, expiresAt: 4_000_000_000_001, eventID: "event 🦊 ",
                kind: "permission")
            #expect(try await storage.enqueue([push], lease: nil, limitPerSecret: 9) == [.queued])
            let claimed = try await storage.claimed(at: Samples.time + 7)
            #expect(claimed == [ClaimedPush(push: push, device: device)])
        },

        ContractCase(open: "a push that isn't due isn't claimed, and its due time can be queried") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            #expect(try await storage.nextPushDue() == nil)
            let (soon, late) = (
                Samples.pending(device, dueAt: Samples.time + 5),
                Samples.pending(device, dueAt: Samples.time + hour)
            )
            _ = try await storage.enqueue([late, soon], lease: nil, limitPerSecret: 9)
            #expect(try await storage.nextPushDue() == Samples.time + 5)
            #expect(try await storage.claimed(at: Samples.time + 4) == [])
            #expect(try await storage.claimed(at: Samples.time + 5).map(\.push.id) == [soon.id])
            #expect(try await storage.claimed(at: Samples.time + 5) == [])
        },

        ContractCase(open: "an ended push is removed, and its end is in the delivery log once") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let pushes = [Samples.pending(device), Samples.pending(device)]
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
            let lease = Samples.lease()
            _ = try await storage.claimed(lease)
            let ends = [
                Samples.over(pushes[0], lease.owner),
                Samples.over(pushes[1], lease.owner, .failed, error: "Expired"),
            ]
            #expect(try await storage.settle(ends) == [true, true])
            #expect(try await storage.settle(ends) == [false, false])
            #expect(try await storage.countPushes(limit: 9) == 0)
            #expect(try await storage.nextPushDue() == nil)
            let log = try await storage.deliveries(of: key, before: nil, limit: 9)
            #expect(Set(log.map(\.id)) == Set(pushes.map(\.id)))
            #expect(log.first { $0.id == pushes[1].id }?.error == "Expired")
            #expect(log.allSatisfy { $0.deviceID == device.id })
        },

        ContractCase(
            open: "pushes of several secrets are settled in one call, except those that aren't leased"
        ) {
            storage async throws in
            var pushes: [PendingPush] = []
            for name in ["one", "two", "three", "four"] {
                let device = try await storage.registered("aa", Samples.key(name))
                pushes += [Samples.pending(device), Samples.pending(device)]
            }
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
            let lease = Samples.lease()
            #expect(try await storage.claimed(lease).count == pushes.count)
            let later = Samples.time + hour
            let ends = pushes.enumerated().map { index, push in
                let owner = index == 3 ? Samples.lease().owner : lease.owner
                return index % 2 == 0
                    ? Samples.over(push, owner) : Samples.again(push, owner, dueAt: later, attempts: 3)
            }
            #expect(try await storage.settle(ends) == pushes.indices.map { $0 != 3 })
            #expect(try await storage.countPushes(limit: 9) == 4)
            let again = try await storage.claimed(at: later).map(\.push)
            let postponed = pushes.indices.filter { $0 % 2 == 1 }.map { pushes[$0].id }
            #expect(Set(again.map(\.id)) == Set(postponed))
            for name in ["one", "two", "three", "four"] {
                let log = try await storage.deliveries(of: Samples.key(name), before: nil, limit: 9)
                #expect(log.count == 1)
            }
        },

        ContractCase(open: "a postponed push is claimed again when it is due, with its attempts") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let push = Samples.pending(device)
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            let lease = Samples.lease()
            _ = try await storage.claimed(lease)
            let later = Samples.again(push, lease.owner, dueAt: Samples.time + hour, attempts: 5)
            #expect(try await storage.settle([later]) == [true])
            #expect(try await storage.settle([later]) == [false])
            #expect(try await storage.claimed(at: Samples.time + hour - 1) == [])
            let again = try await storage.claimed(at: Samples.time + hour)
            #expect(again.map(\.push.attempts) == [5])
            #expect(again.map(\.push.payload) == [push.payload])
        },

        ContractCase(open: "an end that is already in the log stays unchanged, and the push is removed") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let push = Samples.pending(device)
            try await storage.append([Samples.delivery(key, id: push.id, status: .failed, error: "first")])
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            let lease = Samples.lease()
            _ = try await storage.claimed(lease)
            #expect(try await storage.settle([Samples.over(push, lease.owner)]) == [true])
            #expect(try await storage.deliveries(of: key, before: nil, limit: 9).map(\.error) == ["first"])
            #expect(try await storage.countPushes(limit: 9) == 0)
        },

        ContractCase(open: "a secret's limit refuses further pushes of that secret only") {
            storage async throws in
            let (mine, yours) = (Samples.key("mine"), Samples.key("yours"))
            let devices = [
                try await storage.registered("aa", mine), try await storage.registered("aa", yours),
            ]
            let pushes = (0..<5).map { _ in Samples.pending(devices[0]) } + [Samples.pending(devices[1])]
            let results = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 3)
            #expect(results == [.queued, .queued, .queued, .secretFull, .secretFull, .queued])
            #expect(try await storage.countPushes(limit: 9) == 4)
            #expect(try await storage.countPushes(limit: 2) == 2)
            // Leased pushes count as well.
            let lease = Samples.lease()
            _ = try await storage.claimed(lease)
            let more = Samples.pending(devices[0])
            #expect(try await storage.enqueue([more], lease: nil, limitPerSecret: 3) == [.secretFull])
            _ = try await storage.settle([Samples.over(pushes[0], lease.owner)])
            #expect(try await storage.enqueue([more], lease: nil, limitPerSecret: 3) == [.queued])
        },

        ContractCase(open: "a push stored twice is queued once, even at the limit") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let pushes = [Samples.pending(device), Samples.pending(device)]
            for limit in [9, 2, 1] {
                #expect(
                    try await storage.enqueue(pushes, lease: nil, limitPerSecret: limit)
                        == [.queued, .queued])
            }
            #expect(try await storage.countPushes(limit: 9) == 2)
        },

        ContractCase(open: "a push that can't be stored unchanged is refused with its whole batch") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let good = Samples.pending(device)
            let wrong = PendingPush(
                id: Samples.id().text, secretHash: device.secretHash, deviceID: device.id,
                eventType: "complete", sessionID: "ses_1",
                payload: [UInt8](repeating: 0, count: StorageLimits.payloadBytes + 1), pushType: "alert",
                priority: 10, collapseID: nil, attempts: 0, dueAt: 0, createdAt: 0, expiresAt: 0)
            await #expect(throws: StorageError.invalidValue(field: "payload")) {
                _ = try await storage.enqueue([good, wrong], lease: nil, limitPerSecret: 9)
            }
            #expect(try await storage.countPushes(limit: 9) == 0)
        },

        ContractCase("queued pushes are there after closing and opening") { database async throws in
            let storage = try await database.open()
            let device = try await storage.registered("aa", Samples.key("secret"))
            let push = Samples.pending(device)
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            await storage.close()
            let again = try await database.open()
            #expect(try await again.claimed(at: Samples.time).map(\.push) == [push])
            await again.close()
        },
    ]
}

extension Storage {
    /// Claims all due pushes.
    func claimed(_ lease: PushLease, at now: EpochMilliseconds = Samples.time) async throws -> [ClaimedPush] {
        try await claimPushes(dueAt: now, lease: lease, limit: 1_000, scope: .everySecret)
    }

    /// Claims all due pushes under a lease that the test doesn't use again.
    func claimed(at now: EpochMilliseconds) async throws -> [ClaimedPush] {
        try await claimed(Samples.lease(from: now), at: now)
    }
}
