import APNs
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("The worker for what is scheduled", .timeLimit(.minutes(2)))
struct DueSchedulesTests {
    @Test("What is due is sent once as an event with its own eventID, and what happens once is over")
    func once() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let schedule = try await relay.schedule()
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            let push = try #require(await relay.onLoop { $0.production.pushes.first })
            let payload = try JSON.parse(push.notification.payload, maxBytes: 9_999)
            #expect(payload["aps"]?["alert"]?["title"]?.string == "Later")
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
            let receipt = try #require(relay.storage.state.withLock(\.receipts).first)
            #expect(receipt.eventID == "sched:\(schedule.id):\(RelayFixture.start)")
            #expect(receipt.answer != nil)
            #expect(await relay.outcomes == ["sent": 1])
        }
    }

    @Test("A repeated one advances, with what became of it")
    func repeated() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await relay.schedule(kind: .repeat, rule: #"{"seconds":60}"#, dueIn: -130_000)
            try await relay.withScheduleWorker { worker in
                #expect(await eventually { relay.schedules.first?.lastOutcome == "sent" })
                let row = try #require(relay.schedules.first)
                #expect(row.nextAt == RelayFixture.start + 50_000 && row.dueAt == row.nextAt)
                #expect(row.lastAt == RelayFixture.start && row.skipped == 2)
                relay.pass(.seconds(50))
                await relay.loop.run { _ in worker.value.look() }
                #expect(await eventually { relay.schedules.first?.nextAt == RelayFixture.start + 110_000 })
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == 2)
            #expect(await relay.outcomes == ["sent": 2, "skipped": 2])
        }
    }

    @Test("After a crash between sending and advancing, the receipt keeps it from being sent again")
    func crash() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await relay.schedule()
            // The advance fails permanently, as if the process had died before it.
            relay.storage.state.withLock { $0.scheduleFailures = [.closed] }
            try await relay.withScheduleWorker { _ in
                #expect(await relay.until { $0.production.pushes.count == 1 })
                #expect(await eventually { relay.storage.state.withLock(\.scheduleEnds).count == 1 })
            }
            #expect(relay.schedules.count == 1)
            relay.pass(.seconds(600))
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("An advance that the database refuses for a while is written later, and sent no second time")
    func databaseAway() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await relay.schedule()
            relay.storage.state.withLock { state in
                state.scheduleFailures = Array(repeating: .timeout(logDetail: "x"), count: 3)
            }
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(relay.storage.state.withLock(\.scheduleEnds) == [.over, .over, .over, .over])
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("However long events may take, a schedule isn't held so long that its lease counts as expired")
    func lease() async throws {
        var options = RelayFixture.Options()
        options.limits.eventDeadline = .seconds(3_600)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            try await relay.schedule()
            try await relay.withScheduleWorker { _ in
                #expect(await relay.until { $0.production.held.count == 1 })
                let lease = relay.storage.state.withLock { $0.schedules.first?.lease }
                let until = (lease?.until ?? 0) - RelayFixture.start
                #expect(until > 600_000 && until < StorageLimits.scheduleLeaseMax)
                await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
                #expect(await eventually { relay.schedules.isEmpty })
            }
        }
    }

    @Test("A secret over its limit is sent later, not skipped")
    func rateLimited() async throws {
        var options = RelayFixture.Options()
        options.rates.eventsPerMinute = 1
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            for _ in 0..<2 { try await relay.schedule() }
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.map(\.dueAt) != [RelayFixture.start] })
                #expect(await eventually { relay.schedules.count == 1 })
                #expect(await eventually { (relay.schedules.first?.dueAt ?? 0) > RelayFixture.start })
            }
            let row = try #require(relay.schedules.first)
            #expect(row.dueAt <= RelayFixture.start + 66_000 && row.nextAt == RelayFixture.start)
            #expect(row.lastOutcome == nil && row.skipped == 0)
            let queue = await relay.onLoop { $0.services.shared.schedules.figures }
            #expect(queue.postponed == [1, 0, 0])
        }
    }

    @Test("What neither APNs takes nor the database stores is sent later, once")
    func unstored() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(503, "ServiceUnavailable") }
            }
            relay.storage.state.withLock { $0.queueFailures = [.unavailable(logDetail: "gone")] }
            try await relay.schedule()
            try await relay.withScheduleWorker { worker in
                #expect(await eventually { (relay.schedules.first?.dueAt ?? 0) > RelayFixture.start })
                #expect(relay.storage.state.withLock(\.receipts).isEmpty)
                await relay.loop.run { _ in relay.production.value.script = { .accepted($0) } }
                relay.pass(.seconds(Bounds.scheduleRetrySecondsMax))
                await relay.loop.run { _ in worker.value.look() }
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == 2)
            #expect(relay.storage.state.withLock { $0.receipts.allSatisfy { $0.answer != nil } })
            #expect(await relay.outcomes == ["sent": 1])
        }
    }

    @Test("What is too late is in the delivery log, also when nothing else is left of it")
    func missed() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let day: EpochMilliseconds = 86_400_000
            try await relay.schedule(dueIn: -day)
            try await relay.schedule(kind: .held, dueIn: -day, deviceID: "phone")
            try await relay.schedule(kind: .repeat, rule: #"{"seconds":60}"#, dueIn: -30_000)
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.map(\.kind) == [.repeat] })
                #expect(await eventually { relay.schedules.first?.lastOutcome == "sent" })
            }
            let log = await relay.onLoop { $0.services.shared.deliveryLog }
            log.finish()
            await log.run()
            let rows = relay.storage.state.withLock(\.deliveries)
            let missed = rows.filter { $0.error == "ScheduleMissed" }
            #expect(missed.count == 2 && missed.allSatisfy { $0.status == .failed })
            #expect(Set(missed.map(\.deviceID)) == [nil, "phone"])
            #expect(missed.allSatisfy { $0.eventType == rows.first { $0.status == .sent }?.eventType })
            #expect(missed.allSatisfy { $0.createdAt == RelayFixture.start })
        }
    }

    @Test("A blocked secret gets nothing, and what can't be read is kept for a relay that can")
    func unsent() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await relay.schedule(kind: .repeat, rule: #"{"seconds":60}"#)
            try await relay.schedule(rule: "from the future")
            try await relay.schedule(content: #"{"from":"the future"}"#)
            _ = try await relay.storage.block(
                BlockedSecret(secretHash: RelayFixture.key.primary, createdAt: 0, note: nil), limit: 9)
            try await relay.onLoop { $0.services.shared.blocked }.read()
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.allSatisfy { $0.lastOutcome != nil } })
            }
            #expect(relay.schedules.map(\.lastOutcome) == ["blocked", "invalid", "invalid"])
            #expect(relay.schedules.map(\.skipped) == [1, 0, 0])
            #expect(relay.schedules.dropFirst().allSatisfy { $0.nextAt == RelayFixture.start })
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
        }
    }

    @Test("Without devices, and for devices that don't want it, the outcome says so")
    func nobody() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await relay.schedule(kind: .repeat, rule: #"{"seconds":60}"#)
            relay.storage.state.withLock { $0.devices = [] }
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.schedules.first?.lastOutcome == "no_devices" })
            }
        }
    }

    @Test("After the clock was set far forward, nothing is sent for a while")
    func clockSet() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await relay.schedule(dueIn: 3_000_000)
            try await relay.withScheduleWorker { worker in
                #expect(await eventually { relay.storage.state.withLock(\.scheduleLooks) > 0 })
                let looks = relay.storage.state.withLock(\.scheduleLooks)
                relay.time.withLock { $0 += 3_600_000 }
                await relay.loop.run { _ in worker.value.look() }
                // The clock is set back before the worker's rest is over, but nothing was sent early.
                #expect(relay.storage.state.withLock(\.scheduleLooks) == looks)
                #expect(relay.schedules.count == 1)
                relay.time.withLock { $0 -= 3_600_000 }
                relay.pass(.seconds(61))
                await relay.loop.run { _ in worker.value.look() }
                #expect(await eventually { relay.storage.state.withLock(\.scheduleLooks) > looks })
                #expect(await relay.onLoop { $0.production.pushes.isEmpty })
            }
        }
    }

    @Test("A new schedule wakes the worker, which otherwise only looks")
    func wakes() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await relay.withScheduleWorker { _ in
                #expect(await eventually { relay.storage.state.withLock(\.scheduleLooks) == 1 })
                try await relay.schedule()
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("Many at once are sent a few at a time, and a stop returns those that weren't begun")
    func many() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.onLoop { $0.production.script = { _ in nil } }
            for _ in 0..<200 { try await relay.schedule() }
            try await relay.withScheduleWorker { worker in
                #expect(await relay.until { $0.production.held.count == Bounds.schedulesInFlightMax })
                #expect(
                    await eventually {
                        relay.storage.state.withLock { $0.schedules.count { $0.lease != nil } }
                            == 2 * Bounds.schedulesInFlightMax
                    })
                await relay.onLoop { $0.production.script = { .accepted($0) } }
                await relay.loop.run { _ in relay.production.value.answerHeld(.max) { .accepted($0) } }
                #expect(await eventually { relay.schedules.isEmpty })
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == 200)
            #expect(relay.storage.state.withLock { $0.schedules.allSatisfy { $0.lease == nil } })
        }
    }

    @Test("Those that waited too long while the loop had much else to send are claimed again")
    func waitedTooLong() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.onLoop { $0.production.script = { _ in nil } }
            for _ in 0..<(2 * Bounds.schedulesInFlightMax) { try await relay.schedule() }
            try await relay.withScheduleWorker { _ in
                #expect(await relay.until { $0.production.held.count == Bounds.schedulesInFlightMax })
                #expect(
                    await eventually {
                        relay.storage.state.withLock { $0.schedules.allSatisfy { $0.lease != nil } }
                    })
                let others = Bounds.schedulesBusyLoop + 2 * Bounds.schedulesInFlightMax
                let isTaken = await relay.onLoop { relay in
                    relay.production.script = { .accepted($0) }
                    return relay.services.slots.take(others)
                }
                #expect(isTaken)
                relay.pass(Bounds.scheduleWaitMax + .seconds(1))
                await relay.loop.run { _ in relay.production.value.answerHeld(.max) { .accepted($0) } }
                #expect(await eventually { relay.schedules.isEmpty })
                await relay.onLoop { for _ in 0..<others { $0.services.slots.giveBack() } }
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == 2 * Bounds.schedulesInFlightMax)
        }
    }
}
