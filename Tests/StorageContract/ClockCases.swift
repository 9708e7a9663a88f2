import Storage
import Testing

private let minutes40: EpochMilliseconds = 40 * 60 * 1_000

/// Cases with times that were written while a clock was ahead, before it was set.
extension ContractCase {
    static let clocks: [ContractCase] = [
        ContractCase(open: "pushes due too late are found, leased ones separately, and made due") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let waiting = (0..<4).map { Samples.pending(device, dueAt: Samples.time + minutes40 + $0) }
            let held = Samples.pending(device)
            let lease = Samples.lease(from: Samples.time + minutes40)
            _ = try await storage.enqueue(waiting, lease: nil, limitPerSecret: 9)
            _ = try await storage.enqueue([held], lease: lease, limitPerSecret: 9)
            let horizon = Samples.time + minutes40
            func found(leased: Bool, limit: Int = 9) async throws(StorageError) -> [DuePush] {
                try await storage.pushes(dueAfter: horizon, leased: leased, limit: limit)
            }
            #expect(try await found(leased: false).map(\.id) == waiting.dropFirst().reversed().map(\.id))
            #expect(try await found(leased: false, limit: 2).map(\.id) == [waiting[3].id, waiting[2].id])
            #expect(try await found(leased: false, limit: 0) == [])
            let leased = try await found(leased: true)
            #expect(leased.map(\.id) == [held.id] && leased.map(\.dueAt) == [lease.until])

            #expect(try await storage.setDue([], to: Samples.time) == 0)
            #expect(try await storage.setDue(found(leased: false, limit: 2), to: Samples.time) == 2)
            #expect(
                Set(try await storage.claimed(at: Samples.time).map(\.push.id)) == [
                    waiting[3].id, waiting[2].id,
                ])
        },

        ContractCase(open: "a lease from a clock that was ahead expires once it is made due") {
            storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let pushes = [Samples.pending(device), Samples.pending(device)]
            let lease = Samples.lease(from: Samples.time + minutes40)
            _ = try await storage.enqueue(pushes, lease: lease, limitPerSecret: 9)
            let leased = try await storage.pushes(dueAfter: Samples.time, leased: true, limit: 9)
            #expect(try await storage.setDue(leased, to: Samples.time) == 2)
            // A lease's holder may still end its push as long as nobody else has taken the lease.
            #expect(try await storage.settle([Samples.over(pushes[0], lease.owner)]) == [true])
            #expect(try await storage.claimed(at: Samples.time).map(\.push.id) == [pushes[1].id])
            #expect(try await storage.settle([Samples.over(pushes[1], lease.owner)]) == [false])
        },

        ContractCase(open: "rows that changed since they were found stay unchanged") { storage async throws in
            let device = try await storage.registered("aa", Samples.key("secret"))
            let push = Samples.pending(device, dueAt: Samples.time + minutes40)
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
            let found = try await storage.pushes(dueAfter: Samples.time, leased: false, limit: 9)
            let lease = Samples.lease(from: Samples.time + minutes40)
            #expect(try await storage.claimed(lease, at: Samples.time + minutes40).count == 1)
            #expect(try await storage.setDue(found, to: Samples.time) == 0)
            #expect(try await storage.nextPushDue() == lease.until)
        },

        ContractCase(
            open: "schedules with a time in the future are found and get new times unless they changed"
        ) {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let now = Samples.time - minutes40
            let ahead = Samples.schedule(key, rule: "{}", at: Samples.time + 5)
            #expect(try await storage.create(ahead, under: key, limit: 9) == .created)
            func found(after time: EpochMilliseconds, at now: EpochMilliseconds) async throws(StorageError)
                -> [Schedule]
            {
                try await storage.schedules(writtenAfter: time, at: now, limit: 9)
            }
            #expect(try await found(after: now, at: now) == [ahead])
            #expect(try await found(after: Samples.time, at: now) == [])
            #expect(try await storage.schedules(writtenAfter: now, at: now, limit: 0) == [])
            var redated = Schedule(
                id: ahead.id, secretHash: key.primary, kind: ahead.kind, rule: ahead.rule,
                content: ahead.content, nextAt: now + 5, endsAt: now + 9, lateBy: ahead.lateBy,
                createdAt: now)
            redated.dueAt = now + 6
            #expect(try await storage.redate(ahead, to: redated))
            #expect(try await storage.schedules(of: key, kind: .schedule, limit: 9) == [redated])
            #expect(try await !storage.redate(ahead, to: ahead))
            // Sent by a relay whose clock was ahead; the schedule isn't found while it is being sent.
            let lease = PushLease(owner: Samples.id(), until: now + 60_000)
            let claimed = try await storage.claimSchedules(dueAt: now + 6, lease: lease, limit: 9, from: 0)
            let outcome = ScheduleEnd.Outcome(at: Samples.time, word: "sent")
            #expect(try await found(after: now - 1, at: now + 6) == [])
            let next = ScheduleEnd.next(nextAt: Samples.time + 9, dueAt: Samples.time + 9, outcome)
            let held = try #require(claimed.first)
            #expect(try await storage.settle(held, next))
            let misdated = try await found(after: now, at: now)
            let sent = try #require(misdated.first)
            #expect(sent.lastAt == Samples.time && sent.createdAt == now)
            var again = sent
            again.lastAt = now
            #expect(try await storage.redate(sent, to: again))
            #expect(try await found(after: now, at: now) == [])
        },

        ContractCase(open: "an agent's last use in the future is replaced by a current one") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let hour = minutes40 + 1_200_000
            for (time, kept) in [(hour, hour), (0, 0), (-StorageLimits.clockSkewMax, 0)] {
                let use = AgentUse(usedAt: Samples.time + time, client: nil)
                try await storage.note([(use: use, key: key)])
                let stored = try await storage.agentUse(of: key, deliveries: 0)
                #expect(stored.use?.usedAt == Samples.time + kept)
            }
        },

        ContractCase(open: "an event's lease that ends too late is shortened and not taken over") {
            storage async throws in
            let key = Samples.key("secret")
            let ahead = Samples.claim("event", under: key, at: Samples.time + minutes40, lease: 90_000)
            #expect(try await storage.claim(ahead) == .claimed)
            func claim(at time: EpochMilliseconds) -> EventClaim {
                Samples.claim("event", under: key, at: Samples.time + time, lease: 90_000)
            }
            #expect(try await storage.claim(claim(at: 0)) == .inProgress)
            #expect(try await storage.claim(claim(at: 50_000)) == .inProgress)
            #expect(try await storage.claim(claim(at: 89_999)) == .inProgress)
            #expect(try await storage.claim(claim(at: 90_000)) == .claimed)
            #expect(try await !storage.complete(ahead, answer: [1]))
        },

        ContractCase(open: "a lease of the maximum length stays, and so does an answer") {
            storage async throws in
            let key = Samples.key("secret")
            let longest = StorageLimits.receiptLeaseMax
            let first = Samples.claim("event", under: key, lease: longest)
            #expect(try await storage.claim(first) == .claimed)
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .inProgress)
            let late = Samples.claim("event", under: key, at: Samples.time + longest - 1)
            #expect(try await storage.claim(late) == .inProgress)
            #expect(try await storage.complete(first, answer: [1]))
            let ahead = Samples.claim("other", under: key, at: Samples.time + minutes40, lease: 90_000)
            #expect(try await storage.claim(ahead) == .claimed)
            #expect(try await storage.complete(ahead, answer: [2]))
            #expect(try await storage.claim(Samples.claim("other", under: key)) == .answered([2]))
        },
    ]
}
