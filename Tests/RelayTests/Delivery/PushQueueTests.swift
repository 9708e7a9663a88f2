import APNs
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("The queue of an event", .timeLimit(.minutes(2)))
struct PushQueueTests {
    private static let busy = Outcome.rejected(503, "ServiceUnavailable")

    private func answerBusy(_ relay: RelayFixture) async {
        await relay.loop.run { _ in relay.production.value.script = { _ in Self.busy } }
    }

    @Test("A push that can't be stored has failed, and the response says why")
    func notStored() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await answerBusy(relay)
            relay.storage.state.withLock { $0.queueFailures = [.unavailable(logDetail: "gone")] }
            let json = await relay.event().json
            #expect(json["failed"] == 1 && json["queued"] == 0)
            #expect(json["deliveries"]?.array?.first?["reason"] == "QueueUnavailable")
            #expect(relay.pending.isEmpty)
        }
    }

    @Test("A push over a limit of the queue fails")
    func full() async throws {
        for (perSecret, total, queued) in [(1, 9, 1), (9, 1, 0), (9, 0, 0), (9, 2, 2)] {
            var options = RelayFixture.Options()
            options.queue.perSecretMax = perSecret
            options.queue.totalMax = total
            try await RelayFixture.with(options) { relay in
                relay.storage.add("aa00", under: RelayFixture.key)
                relay.storage.add("bb00", under: RelayFixture.key)
                await answerBusy(relay)
                let json = await relay.event().json
                #expect(json["queued"]?.int == queued && json["failed"]?.int == 2 - queued)
                let reasons = json["deliveries"]?.array?.compactMap { $0["reason"]?.string } ?? []
                #expect(reasons.count { $0 == "QueueFull" } == 2 - queued)
                #expect(relay.pending.count == queued)
                #expect(relay.pending.allSatisfy { $0.lease == nil && $0.push.attempts == 1 })
            }
        }
    }

    @Test("The total size of queued payloads is also bounded")
    func bytes() async throws {
        var payload = 0
        for (spare, queued) in [(10_000, 2), (0, 2), (-1, 0)] {
            var options = RelayFixture.Options()
            options.queue.bytesMax = 2 * payload + spare
            try await RelayFixture.with(options) { relay in
                relay.storage.add("aa00", under: RelayFixture.key)
                relay.storage.add("bb00", under: RelayFixture.key)
                await answerBusy(relay)
                let json = await relay.event().json
                #expect(json["queued"]?.int == queued && json["failed"]?.int == 2 - queued)
                let reasons = json["deliveries"]?.array?.compactMap { $0["reason"]?.string } ?? []
                #expect(reasons.count { $0 == "QueueFull" } == 2 - queued)
                #expect(relay.pending.count == queued)
                payload = relay.pending.first?.push.payload.count ?? payload
                #expect(await relay.queue.figures.waitingBytes == queued * payload)
            }
        }
    }

    @Test("A push to a device that was removed in the meantime fails")
    func gone() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in
                    relay.storage.state.withLock { $0.devices = [] }
                    return Self.busy
                }
            }
            let json = await relay.event().json
            #expect(json["deliveries"]?.array?.first?["reason"] == "DeviceRemoved")
        }
    }

    @Test("A push whose time to live is zero is never stored")
    func oneAttempt() async throws {
        var options = RelayFixture.Options()
        options.push.timeToLive = .zero
        options.limits.eventDeadline = .milliseconds(20)
        options.limits.pushesPerEventMax = 1
        try await RelayFixture.with(options) { relay in
            for token in ["aa00", "bb00", "cc00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in
                relay.production.value.script = { $0.deviceToken.text == "aa00" ? Self.busy : nil }
            }
            let json = await relay.event().json
            #expect(
                json["deliveries"]?.array?.map { $0["reason"] } == [
                    "ServiceUnavailable", "DeadlineExceeded", "DeadlineExceeded",
                ])
            #expect(json["failed"] == 3 && relay.pending.isEmpty)
        }
    }

    @Test("Pushes that were never begun are also queued, due at once")
    func notBegun() async throws {
        var options = RelayFixture.Options()
        options.limits.eventDeadline = .milliseconds(20)
        options.limits.pushesPerEventMax = 1
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.add("bb00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            #expect(await relay.event().json["queued"] == 2)
            let rows = relay.pending
            #expect(rows.count == 2)
            #expect(rows.count { $0.lease == nil && $0.dueAt == 1_800_000_000_000 } == 1)
            // The push in flight becomes due again if this process dies, but only after the maximum clock difference.
            let held = try #require(rows.first { $0.lease != nil })
            #expect(held.dueAt > 1_800_000_000_000 + Bounds.clockSkewMax.inMilliseconds)
            #expect(rows.allSatisfy { $0.push.expiresAt == 1_800_086_400_000 && $0.push.attempts == 0 })
            #expect(await relay.onLoop { $0.services.slots.taken } == 1)
        }
    }

    @Test("A push that ends long after its event was answered has its end recorded once")
    func late() async throws {
        var options = RelayFixture.Options()
        options.limits.eventDeadline = .milliseconds(20)
        try await RelayFixture.with(options) { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            #expect(await relay.event().json["queued"] == 2)
            await relay.loop.run { _ in
                relay.production.value.answerHeld { .accepted($0) }
                relay.production.value.answerHeld { _ in Self.busy }
            }
            await relay.writeEnds()
            let rows = relay.storage.state.withLock(\.deliveries)
            #expect(rows.map(\.status) == [.sent])
            #expect(rows.map(\.id) == [await relay.onLoop { $0.production.pushes[0].id }])
            #expect(relay.pending.map(\.push.attempts) == [1])
            #expect(relay.pending.allSatisfy { $0.lease == nil })
            #expect(await relay.onLoop { $0.services.slots.taken } == 0)
        }
    }

    @Test("Ends are retried while the database is unavailable, and aren't lost")
    func endsRetried() async throws {
        var options = RelayFixture.Options()
        options.limits.eventDeadline = .milliseconds(20)
        options.queue.pause = { _ in await Task.yield() }
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            _ = await relay.event()
            relay.storage.state.withLock {
                $0.queueFailures = Array(repeating: .unavailable(logDetail: "gone"), count: 20)
            }
            let queue = await relay.queue
            async let run: Void = queue.run()
            await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            #expect(await eventually { relay.pending.isEmpty })
            queue.finish()
            await run
            #expect(relay.storage.state.withLock(\.deliveries).map(\.status) == [.sent])
        }
    }

    @Test("Ends that time out together are written in smaller batches, then together again")
    func endsSplit() async throws {
        var options = RelayFixture.Options()
        options.queue.pause = { _ in await Task.yield() }
        try await RelayFixture.with(options) { relay in
            let device = relay.storage.add("aa00", under: RelayFixture.key)
            let owner = await relay.onLoop { $0.services.makeID() }
            let queue = await relay.queue
            let lease = queue.lease(owner: owner, at: 0)
            let pushes = (0..<300).map { number in
                PendingPush(
                    id: "push \(number)", secretHash: device.secretHash, deviceID: device.id,
                    eventType: "error", sessionID: "ses_9", payload: [], pushType: "alert", priority: 5,
                    collapseID: nil, attempts: 1, dueAt: 0, createdAt: 0, expiresAt: 1)
            }
            relay.storage.state.withLock { state in
                state.pending = pushes.map { FakeStorage.Pending(push: $0, lease: lease) }
            }
            for push in pushes {
                queue.end(LeasedPush(push, to: device, owner: owner).over(.sent, at: 1))
            }
            relay.storage.state.withLock { $0.settlementsMax = 10 }
            await relay.writeEnds()
            #expect(relay.pending.isEmpty)
            let ids = relay.storage.state.withLock(\.deliveries).map(\.id)
            #expect(ids == (0..<300).map { "push \($0)" })
            let sizes = relay.storage.state.withLock(\.settled)
            #expect(sizes.starts(with: [256, 128, 64, 32, 16, 8, 16, 8, 16, 8]))
        }
    }

    @Test("The worker is woken only for pushes that are due before its next check")
    func wakesWorker() async throws {
        try await RelayFixture.with { relay in
            let device = relay.storage.add("aa00", under: RelayFixture.key)
            let queue = await relay.queue
            let lease = queue.lease(owner: await relay.onLoop { $0.services.makeID() }, at: 0)
            let told = Lock<[EpochMilliseconds]>([])
            queue.alarm.onEarlier { due in told.withLock { $0.append(due) } }
            queue.alarm.workerLooks(at: RelayFixture.start + 1_000)
            for (time, lease) in [(1_000, nil), (900, lease), (500, nil), (700, nil), (400, nil)] {
                let push = RelayFixture.waiting(for: device, dueIn: EpochMilliseconds(time))
                #expect(await queue.store([push], lease: lease) == [.queued])
            }
            #expect(told.withLock { $0 } == [RelayFixture.start + 500, RelayFixture.start + 400])
        }
    }

    @Test("Ended pushes leave the queue's count, postponed ones don't, and it never drops below zero")
    func waiting() async throws {
        try await RelayFixture.with { relay in
            let device = relay.storage.add("aa00", under: RelayFixture.key)
            let queue = await relay.queue
            let push = RelayFixture.waiting(for: device)
            let owner = await relay.onLoop { $0.services.makeID() }
            let held = LeasedPush(push, to: device, owner: owner)
            _ = await queue.store([push, push], lease: nil)
            #expect(queue.figures.waiting == 2)
            queue.end(held.end(.again(dueAt: 1, attempts: 2)))
            #expect(queue.figures.waiting == 2)
            for waiting in [1, 0, 0] {
                queue.end(held.over(.sent, at: 1))
                #expect(queue.figures.waiting == waiting)
            }
            // A push that isn't stored isn't counted as waiting.
            relay.storage.state.withLock { $0.devices = [] }
            _ = await queue.store([push], lease: nil)
            #expect(queue.figures.waiting == 0)
        }
    }

    @Test("Unwritten ends are bounded, refused once the queue is finished, and losses are reported")
    func endsBound() async throws {
        try await RelayFixture.with { relay in
            let queue = await relay.queue
            let owner = await relay.onLoop { $0.services.makeID() }
            let end = PushQueue.End(
                settlement: Settlement(
                    id: "push", secretHash: RelayFixture.key.primary, owner: owner,
                    end: .again(dueAt: 1, attempts: 1)))
            for _ in 0..<(Bounds.endsWaitingMax + 1) { queue.end(end) }
            #expect(queue.unwrittenEnds == Bounds.endsWaitingMax)
            await relay.writeEnds()
            queue.end(end)
            #expect(queue.unwrittenEnds == 0)
            let lost = try await relay.lines.closed().filter { $0["event"] == "queue.end_lost" }
            #expect(lost.count == 2)
        }
    }

    @Test("An end that the database refuses permanently is dropped, also at the end of the process")
    func endsLost() async throws {
        for failure in [StorageError.corrupt(logDetail: "x"), .unavailable(logDetail: "x")] {
            var options = RelayFixture.Options()
            options.limits.eventDeadline = .milliseconds(20)
            options.queue.pause = { _ in }
            try await RelayFixture.with(options) { relay in
                relay.storage.add("aa00", under: RelayFixture.key)
                await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
                _ = await relay.event()
                relay.storage.state.withLock {
                    $0.queueFailures = Array(repeating: failure, count: 100)
                }
                await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
                await relay.writeEnds()
                #expect(relay.pending.count == 1)
                #expect(relay.storage.state.withLock(\.queueFailures).count >= 95)
                let lines = try await relay.lines.closed()
                #expect(lines.contains { $0["event"] == "queue.end_lost" })
            }
        }
    }
}
