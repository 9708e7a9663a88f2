import APNs
import HTTPServer
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Clock changes while pushes wait", .timeLimit(.minutes(2)))
struct QueueClockTests {
    private static let minutes40: EpochMilliseconds = 40 * 60 * 1_000
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    @Test("A step is how far the wall clock moved relative to the monotonic clock since the last check")
    func steps() {
        var watch = ClockWatch()
        #expect(watch.step(to: 5_000, at: start) == .zero)
        #expect(watch.step(to: 8_000, at: start + .seconds(3)) == .zero)
        #expect(watch.step(to: 68_000, at: start + .seconds(3)) == .seconds(60))
        #expect(watch.step(to: 68_000, at: start + .seconds(4)) == .seconds(-1))
        #expect(watch.step(to: -10_000, at: start + .seconds(5)) == .seconds(-79))
        #expect(watch.step(to: -9_000, at: start + .seconds(6)) == .zero)
    }

    @Test("A lease that ends too late expires after it has been seen unchanged for a whole lease time")
    func lateLeases() {
        func lease(_ id: String, until: EpochMilliseconds = 9_000_000) -> DuePush {
            DuePush(secretHash: RelayFixture.key.primary, id: id, dueAt: until)
        }
        var late = LateLeases()
        #expect(late.over([lease("a"), lease("b")], after: .seconds(90), at: start) == [])
        let soon = start + .milliseconds(89_999)
        #expect(late.over([lease("a"), lease("b"), lease("c")], after: .seconds(90), at: soon) == [])
        // b has been leased again since then.
        let found = [lease("a"), lease("b", until: 9_000_001), lease("c")]
        #expect(late.over(found, after: .seconds(90), at: start + .seconds(90)) == [lease("a")])
        // If a lease is absent from one check, its wait starts over.
        #expect(late.over([], after: .seconds(90), at: start + .seconds(100)) == [])
        #expect(late.over([lease("c")], after: .seconds(90), at: start + .seconds(200)) == [])
    }

    @Test("Pushes due within the longest wait stay; it is long enough for every setting")
    func longestWait() {
        var options = PushQueue.Options()
        #expect(options.waitMax >= .seconds(Answer.retryAfterMax) + Bounds.clockSkewMax)
        options.schedule.delayMax = .seconds(86_400)
        #expect(options.waitMax == .seconds(86_460))
        options.schedule.delayMax = .milliseconds(100)
        #expect(options.waitMax >= Bounds.queuedQuietLook + Bounds.clockSkewMax)
        // An event's lease with the longest settings that are allowed.
        let longest = Duration.seconds(300) + Bounds.claimLeaseMargin(databaseTimeout: .seconds(60))
        #expect(longest.inMilliseconds < StorageLimits.receiptLeaseMax)
    }

    /// Makes the worker look at the queue, by adding a push that is due now and is then sent.
    private func look(_ relay: RelayFixture, _ worker: LoopBound<DueWorker>) async throws {
        let now = relay.time.withLock { $0 }
        let device = relay.storage.add("dd00", under: RelayFixture.key)
        let push = PendingPush(
            id: "look-\(now)", secretHash: device.secretHash, deviceID: device.id, eventType: "error",
            sessionID: "ses_9", payload: [], pushType: "alert", priority: 10, collapseID: nil, attempts: 1,
            dueAt: now, createdAt: now, expiresAt: now + 60_000)
        #expect(await relay.queue.store([push], lease: nil) == [.queued])
        await relay.loop.run { _ in worker.value.look() }
        #expect(await relay.until { $0.production.pushes.contains { $0.id == push.id } })
    }

    private func sent(_ relay: RelayFixture, _ token: String) async -> Int {
        await relay.onLoop { $0.production.pushes.count { $0.deviceToken.text == token } }
    }

    @Test("A push that is due too late is sent at once, at the start and after a step back")
    func misdated() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00", "cc00"] { relay.storage.add(token, under: RelayFixture.key) }
            let waitMax = await relay.queue.options.waitMax.inMilliseconds
            relay.fill(["aa00"], dueIn: waitMax + 1, expiresIn: 86_400_000)
            relay.fill(["bb00"], dueIn: waitMax, expiresIn: 86_400_000)
            try await relay.withWorker { worker in
                #expect(await relay.until { $0.production.pushes.map(\.deviceToken.text) == ["aa00"] })
                relay.time.withLock { $0 += Self.minutes40 }
                try await look(relay, worker)
                #expect(await sent(relay, "bb00") == 1, "due by that clock")
                relay.fill(["cc00"], dueIn: Self.minutes40 + 10_000, expiresIn: 86_400_000)
                relay.time.withLock { $0 -= Self.minutes40 }
                try await look(relay, worker)
                #expect(await relay.until { $0.production.pushes.contains { $0.deviceToken.text == "cc00" } })
            }
        }
    }

    @Test("A poll planned with the time before a step back doesn't wait for the clock to catch up")
    func plannedBefore() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.time.withLock { $0 += Self.minutes40 }
            try await relay.withWorker { worker in
                try await look(relay, worker)
                let due = Self.minutes40 + 1_000
                await relay.loop.run { _ in
                    relay.fill(["aa00"], dueIn: due, expiresIn: 86_400_000)
                    relay.time.withLock { $0 -= Self.minutes40 }
                    worker.value.look(at: RelayFixture.start + due)
                }
                #expect(await relay.until { $0.production.pushes.contains { $0.deviceToken.text == "aa00" } })
            }
        }
    }

    @Test("After a step back no push keeps its old due time, however short its wait")
    func setBackALittle() async throws {
        var options = RelayFixture.Options()
        options.queue.schedule.delayMax = .seconds(86_400)
        try await RelayFixture.with(options) { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            try await relay.withWorker { worker in
                try await look(relay, worker)
                relay.fill(["aa00"], dueIn: 10_000, expiresIn: 86_400_000)
                relay.time.withLock { $0 -= 61_000 }
                try await look(relay, worker)
                #expect(await relay.until { $0.production.pushes.contains { $0.deviceToken.text == "aa00" } })
                // Only once: pushes stored afterwards wait as they should.
                relay.fill(["bb00"], dueIn: 10_000, expiresIn: 86_400_000)
                try await look(relay, worker)
                #expect(await sent(relay, "bb00") == 0)
            }
        }
    }

    @Test("A lease that ends too late is found, however long pushes may wait")
    func lateLeaseOfLongWaits() async throws {
        var options = RelayFixture.Options()
        options.queue.schedule.delayMax = .seconds(86_400)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.fill(["aa00"], expiresIn: 86_400_000)
            let owner = await relay.onLoop { $0.services.makeID() }
            let leaseTime = await relay.queue.options.leaseTime
            relay.storage.state.withLock {
                $0.pending[0].lease = PushLease(owner: owner, until: RelayFixture.start + Self.minutes40)
            }
            try await relay.withWorker { worker in
                try await look(relay, worker)
                relay.pass(leaseTime)
                try await look(relay, worker)
                #expect(await relay.until { $0.production.pushes.contains { $0.deviceToken.text == "aa00" } })
            }
        }
    }

    @Test("Times written by another relay's wrong clock are found within a minute")
    func misdatedByAnother() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await relay.withWorker { worker in
                try await look(relay, worker)
                relay.fill(["aa00"], dueIn: Self.minutes40, expiresIn: 86_400_000)
                relay.pass(.seconds(59))
                try await look(relay, worker)
                #expect(await sent(relay, "aa00") == 0)
                relay.pass(.seconds(1))
                try await look(relay, worker)
                #expect(await relay.until { $0.production.pushes.contains { $0.deviceToken.text == "aa00" } })
            }
        }
    }

    @Test(
        "A lease from a clock that was ahead ends only after it has existed for a whole lease time"
    )
    func lateLease() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.fill(["aa00"], expiresIn: 86_400_000)
            let owner = await relay.onLoop { $0.services.makeID() }
            let leaseTime = await relay.queue.options.leaseTime
            relay.storage.state.withLock {
                $0.pending[0].lease = PushLease(owner: owner, until: RelayFixture.start + Self.minutes40)
            }
            try await relay.withWorker { worker in
                try await look(relay, worker)
                relay.pass(Bounds.dueCheckInterval)
                try await look(relay, worker)
                #expect(await sent(relay, "aa00") == 0)
                relay.pass(leaseTime)
                try await look(relay, worker)
                #expect(await relay.until { $0.production.pushes.contains { $0.deviceToken.text == "aa00" } })
            }
        }
    }

    @Test(
        "Setting the clock forward ends no lease: pushes in flight stay leased for a lease time")
    func leases() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.fill(["aa00"], expiresIn: 86_400_000)
            let queue = await relay.queue
            let owner = await relay.onLoop { $0.services.makeID() }
            relay.storage.state.withLock {
                $0.pending[0].lease = queue.lease(owner: owner, at: RelayFixture.start)
            }
            try await relay.withWorker { worker in
                try await look(relay, worker)
                relay.time.withLock { $0 += Self.minutes40 }
                try await look(relay, worker)
                #expect(await sent(relay, "aa00") == 0)
                // The lease's holder can still end the push.
                #expect(relay.pending.first?.lease?.owner == owner)
                // If the holder doesn't, the push is sent.
                relay.pass(queue.options.leaseTime - .milliseconds(1))
                try await look(relay, worker)
                #expect(await sent(relay, "aa00") == 0)
                relay.pass(.milliseconds(1))
                try await look(relay, worker)
                #expect(await relay.until { $0.production.pushes.contains { $0.deviceToken.text == "aa00" } })
            }
        }
    }

    @Test("If the database fails right after the step, it is queried before the next claim")
    func leasesAfterFailure() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.fill(["aa00"], expiresIn: 86_400_000)
            let queue = await relay.queue
            let owner = await relay.onLoop { $0.services.makeID() }
            relay.storage.state.withLock {
                $0.pending[0].lease = queue.lease(owner: owner, at: RelayFixture.start)
            }
            try await relay.withWorker { worker in
                try await look(relay, worker)
                // In one job, so that the worker doesn't look in between.
                await relay.loop.run { _ in
                    relay.time.withLock { $0 += Self.minutes40 }
                    relay.storage.state.withLock { $0.listFailures = [.unavailable(logDetail: "away")] }
                }
                try await look(relay, worker)
                #expect(relay.storage.state.withLock(\.listFailures).isEmpty)
                #expect(await sent(relay, "aa00") == 0)
            }
        }
    }

    @Test("Setting the clock forward doesn't shorten the life of a stored push")
    func expiration() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00", "cc00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in
                relay.production.value.script = {
                    $0.deviceToken.text == "cc00" ? .rejected(503, "ServiceUnavailable") : .accepted($0)
                }
            }
            let queue = await relay.queue
            async let run: Void = queue.run()
            try await relay.withWorker { worker in
                try await look(relay, worker)
                // In one job, so that the worker doesn't look in between.
                await relay.loop.run { _ in
                    relay.fill(["aa00", "cc00"], expiresIn: 1_000)
                    // This push expires before the clock is set.
                    relay.fill(["bb00"], expiresIn: 400)
                    relay.pass(.milliseconds(500))
                    relay.time.withLock { $0 += Self.minutes40 }
                }
                try await look(relay, worker)
                #expect(await sent(relay, "aa00") == 1)
                #expect(await sent(relay, "bb00") == 0)
                // A push that can't be sent now is due again before it expires.
                let isWaiting = await eventually {
                    let pushes = relay.pending.map(\.push)
                    return pushes.map(\.deviceID) == ["device-2"] && pushes.first?.attempts == 2
                }
                #expect(isWaiting)
                let now = relay.time.withLock { $0 }
                #expect(relay.pending.allSatisfy { (now...(now + 500)).contains($0.dueAt) })
                relay.pass(.milliseconds(500))
                await relay.loop.run { _ in worker.value.look() }
                #expect(await eventually { relay.pending.isEmpty })
                await relay.stop(worker)
            }
            queue.finish()
            await run
            let ends = relay.storage.state.withLock(\.deliveries).filter { !$0.id.hasPrefix("look-") }
            #expect(ends.compactMap(\.error) == ["Expired", "Expired"])
            #expect(ends.filter { $0.status == .sent }.map(\.deviceID) == ["device-0"])
        }
    }

    @Test("A step forward no longer matters once it was reversed or is long past")
    func expirationAgain() async throws {
        try await RelayFixture.with { relay in
            let device = relay.storage.add("aa00", under: RelayFixture.key)
            let clock = QueueClock(await relay.queue)
            let push = RelayFixture.waiting(for: device, expiresIn: 1_000)
            func end(after time: Duration, ahead: EpochMilliseconds) -> EpochMilliseconds {
                clock.end(
                    of: push, at: RelayFixture.start + time.inMilliseconds + ahead, start + time)
            }
            #expect(end(after: .seconds(1), ahead: 0) == push.expiresAt)
            #expect(end(after: .seconds(2), ahead: Self.minutes40) == push.expiresAt + Self.minutes40)
            // Pushes stored after the step aren't affected by it.
            let later = RelayFixture.start + Self.minutes40 + 2_000
            let stored = PendingPush(
                id: "later", secretHash: device.secretHash, deviceID: device.id, eventType: "error",
                sessionID: "ses_9", payload: [], pushType: "alert", priority: 10, collapseID: nil,
                attempts: 1,
                dueAt: later, createdAt: later, expiresAt: later + 1_000)
            #expect(clock.end(of: stored, at: later, start + .seconds(2)) == later + 1_000)
            #expect(end(after: .seconds(3_601), ahead: Self.minutes40) == push.expiresAt + Self.minutes40)
            #expect(end(after: .seconds(3_602), ahead: Self.minutes40) == push.expiresAt)
            #expect(end(after: .seconds(3_700), ahead: 2 * Self.minutes40) == push.expiresAt + Self.minutes40)
            #expect(end(after: .seconds(3_701), ahead: 0) == push.expiresAt)
            #expect(end(after: .seconds(3_702), ahead: 59_000) == push.expiresAt)
        }
    }

    @Test(
        "A claimed push is sent or returned by elapsed time, whatever the clock says",
        arguments: [minutes40, -minutes40])
    func held(step: EpochMilliseconds) async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            relay.fill(["aa00", "bb00"], expiresIn: 86_400_000)
            try await relay.withWorker(inFlight: 2) { _ in
                #expect(await relay.until { $0.production.held.count == 1 })
                relay.time.withLock { $0 += step }
                await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
                #expect(await relay.until { $0.production.held.map(\.push.deviceToken.text) == ["bb00"] })
                await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            }
        }
    }

    @Test("After a step forward /ready uses elapsed time")
    func ready() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aabb", under: RelayFixture.key)
            relay.fill(["aabb"], expiresIn: 86_400_000)
            func status() async -> Int {
                await relay.onLoop { $0.services.shared.readiness.forget() }
                return await relay.answer(Request(target: "/ready")).status.rawValue
            }
            relay.time.withLock { $0 += Self.minutes40 }
            #expect(await status() == 503)
            let queue = await relay.queue
            queue.clockSetForward(at: await relay.onLoop { $0.services.shared.monotonic() })
            #expect(await status() == 200)
            relay.pass(.seconds(300))
            #expect(await status() == 200)
            relay.pass(.milliseconds(1))
            #expect(await status() == 503)
        }
    }
}
