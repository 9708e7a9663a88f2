import APNs
import JSON
import Network
import Storage
import Testing

@testable import Relay

/// Errors that don't go away on their own.
private let lasting: [StorageError] = [
    .refused(logDetail: "x"), .full(logDetail: "x"), .denied(logDetail: "x"), .corrupt(logDetail: "x"),
    .invalidValue(field: "x"), .internalFault(logDetail: "x"),
]

@Suite("Ends that the database refuses", .timeLimit(.minutes(2)))
struct RefusedEndTests {
    /// A relay whose waits take no time.
    private func with(_ body: (RelayFixture) async throws -> Void) async throws {
        var options = RelayFixture.Options()
        options.queue.pause = { _ in await Task.yield() }
        try await RelayFixture.with(options, body)
    }

    /// Leases accepted pushes to this process and adds their ends to the queue.
    private func end(_ count: Int, _ relay: RelayFixture) async {
        let device = relay.storage.add("aa00", under: RelayFixture.key)
        let owner = await relay.onLoop { $0.services.makeID() }
        let queue = await relay.queue
        let lease = queue.lease(owner: owner, at: RelayFixture.start)
        let pushes = (0..<count).map { RelayFixture.waiting(for: device, id: "push \($0)") }
        relay.storage.state.withLock { state in
            state.pending = pushes.map { FakeStorage.Pending(push: $0, lease: lease) }
        }
        for push in pushes { queue.end(LeasedPush(push, to: device, owner: owner).over(.sent, at: 1)) }
    }

    /// Writes the ends and then the log rows, as a process does when it exits.
    private func writeAll(_ relay: RelayFixture) async {
        await relay.writeEnds()
        let log = await relay.onLoop { $0.services.shared.deliveryLog }
        log.finish()
        await log.run()
    }

    @Test("A push is settled even if its log row can't be written", arguments: lasting)
    func withoutLog(_ failure: StorageError) async throws {
        try await with { relay in
            relay.storage.state.withLock { $0.logFailure = failure }
            await end(5, relay)
            await writeAll(relay)
            #expect(relay.pending.isEmpty)
            #expect(relay.storage.state.withLock(\.deliveries).isEmpty)
            #expect(await relay.onLoop { $0.services.shared.deliveryLog.figures.dropped } == 5)
            let lines = try await relay.lines.closed()
            #expect(!lines.contains { $0["event"] == "queue.end_lost" })
        }
    }

    @Test("One refused log row doesn't affect the rows of other pushes", arguments: lasting)
    func oneRow(_ failure: StorageError) async throws {
        try await with { relay in
            relay.storage.state.withLock { $0.refusedRows = ["push 77": failure] }
            await end(300, relay)
            await writeAll(relay)
            #expect(relay.pending.isEmpty)
            let ids = relay.storage.state.withLock { Set($0.deliveries.map(\.id)) }
            #expect(ids.count == 299 && !ids.contains("push 77"))
        }
    }

    @Test("One refused end doesn't take the rest of its batch with it", arguments: lasting)
    func oneEnd(_ failure: StorageError) async throws {
        try await with { relay in
            relay.storage.state.withLock { $0.refusedEnds = ["push 0": failure, "push 200": failure] }
            await end(300, relay)
            await writeAll(relay)
            #expect(relay.pending.map(\.push.id) == ["push 0", "push 200"])
            #expect(relay.storage.state.withLock(\.deliveries).count == 298)
            let lines = try await relay.lines.closed().filter { $0["event"] == "queue.end_lost" }
            #expect(lines.compactMap { $0["pushes"]?.int } == [2])
        }
    }

    @Test("Refused ends are written once the database accepts them; other ends don't wait")
    func later() async throws {
        try await with { relay in
            relay.storage.state.withLock {
                for number in 0..<40 { $0.refusedEnds["push \(number)"] = .full(logDetail: "x") }
            }
            let queue = await relay.queue
            async let run: Void = queue.run()
            await end(60, relay)
            #expect(await eventually { relay.pending.count == 40 })
            #expect(await eventually { queue.unwrittenEnds == 40 })
            relay.storage.state.withLock { $0.refusedEnds = [:] }
            #expect(await eventually { relay.pending.isEmpty })
            #expect(await eventually { queue.unwrittenEnds == 0 })
            await writeAll(relay)
            await run
            #expect(relay.storage.state.withLock(\.deliveries).count == 60)
        }
    }

    @Test("A delivered push whose end can't be written isn't sent again by this process")
    func onceOnly() async throws {
        try await with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.state.withLock { $0.settleFailure = .denied(logDetail: "x") }
            relay.fill(["aa00"], expiresIn: 1_000_000)
            let queue = await relay.queue
            async let run: Void = queue.run()
            try await relay.withWorker { worker in
                #expect(await relay.until { $0.production.pushes.count == 1 })
                for claims in 2...4 {
                    // The lease expires, and another push makes the worker look at the queue.
                    relay.pass(queue.options.leaseTime + .milliseconds(1))
                    relay.storage.add("bb0\(claims)", under: RelayFixture.key)
                    let other = try #require(relay.storage.state.withLock(\.devices).last)
                    let push = RelayFixture.waiting(for: other, expiresIn: 1_000_000)
                    #expect(await queue.store([push], lease: nil) == [.queued])
                    #expect(await relay.until { $0.production.pushes.count == claims })
                }
                relay.storage.state.withLock { $0.settleFailure = nil }
                #expect(await eventually { relay.pending.isEmpty })
            }
            queue.finish()
            await run
            let tokens = await relay.onLoop { $0.production.pushes.map(\.deviceToken.text) }
            #expect(tokens == ["aa00", "bb02", "bb03", "bb04"])
            await writeAll(relay)
            #expect(relay.storage.state.withLock(\.deliveries).count == 4)
        }
    }

    @Test("A delivered push isn't sent again if its row moved to another hash while it was in flight")
    func moved() async throws {
        try await with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            relay.fill(["aa00"], expiresIn: 1_000_000)
            let queue = await relay.queue
            async let run: Void = queue.run()
            try await relay.withWorker { worker in
                #expect(await relay.until { $0.production.held.count == 1 })
                // A relay with another pepper does this: the row gets another hash, under the same lease.
                let moved = SecretHasher().key(of: Secret("moved")).primary
                relay.storage.state.withLock { $0.movePending(to: moved) }
                await relay.loop.run { _ in
                    relay.production.value.script = { .accepted($0) }
                    relay.production.value.answerHeld { .accepted($0) }
                }
                #expect(await eventually { relay.storage.state.withLock { $0.settled.count } == 1 })
                #expect(relay.pending.count == 1)
                relay.pass(queue.options.leaseTime + .milliseconds(1))
                let other = relay.storage.add("bb00", under: RelayFixture.key)
                let push = RelayFixture.waiting(for: other, expiresIn: 1_000_000)
                #expect(await queue.store([push], lease: nil) == [.queued])
                #expect(await eventually { relay.pending.isEmpty })
            }
            queue.finish()
            await run
            let tokens = await relay.onLoop { $0.production.pushes.map(\.deviceToken.text) }
            #expect(tokens == ["aa00", "bb00"])
            #expect(relay.storage.state.withLock(\.deliveries).map(\.status) == [.sent, .sent])
        }
    }

    @Test("A registration is removed only after the end of its push is written")
    func removalAfterEnd() async throws {
        try await with { relay in
            let device = relay.storage.add("aa00", under: RelayFixture.key)
            let queue = await relay.queue
            let lease = queue.lease(owner: await relay.onLoop { $0.services.makeID() }, at: 0)
            let push = RelayFixture.waiting(for: device)
            relay.storage.state.withLock {
                $0.pending = [FakeStorage.Pending(push: push, lease: lease)]
                $0.queueFailures = Array(repeating: .unavailable(logDetail: "x"), count: 3)
            }
            var end = LeasedPush(push, to: device, owner: lease.owner).over(
                .failed, error: "Unregistered", at: 1)
            end.removal = PushQueue.End.Removal(device: device, ifNotUpdatedAfter: .max, at: 1)
            async let run: Void = queue.run()
            queue.end(end)
            #expect(await eventually { Array(queue.figures.removed.values) == [1] })
            queue.finish()
            await run
            #expect(relay.storage.state.withLock(\.pendingAtRemoval) == [0])
            #expect(relay.storage.state.withLock(\.deliveries).map(\.error) == ["Unregistered"])
        }
    }

    @Test("A registration newer than the push's device stays, even if its clock is behind")
    func freshStays() async throws {
        try await with { relay in
            let device = relay.storage.add("aa00", under: RelayFixture.key, at: 1_000)
            let owner = await relay.onLoop { $0.services.makeID() }
            let queue = await relay.queue
            let push = RelayFixture.waiting(for: device)
            var end = LeasedPush(push, to: device, owner: owner).over(
                .failed, error: "Unregistered", at: 2_000)
            end.removal = PushQueue.End.Removal(device: device, ifNotUpdatedAfter: 1_999, at: 2_000)
            // The device has registered again, at a relay whose clock is behind.
            relay.storage.state.withLock { $0.devices = [] }
            relay.storage.add("aa00", under: RelayFixture.key, at: 1_500)
            queue.end(end)
            await relay.writeEnds()
            #expect(relay.storage.state.withLock(\.pendingAtRemoval).count == 1)
            #expect(relay.storage.state.withLock(\.devices).map(\.updatedAt) == [1_500])
        }
    }
}
