import APNs
import Network
import Storage
import Testing

@testable import Relay

@Suite("Leases of queued pushes", .timeLimit(.minutes(2)))
struct DuePushesLeaseTests {
    @Test("A push claimed too long ago is returned, not sent")
    func heldTooLong() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00", "cc00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            relay.fill(["aa00", "bb00", "cc00"], attempts: 3)
            try await relay.withWorker(inFlight: 2) { _ in
                #expect(await relay.until { $0.production.held.count == 1 })
                await relay.loop.run { _ in
                    relay.pass(Bounds.retryWaitMax + .milliseconds(1))
                    relay.production.value.answerHeld { .accepted($0) }
                }
            }
            await relay.writeEnds()
            #expect(await relay.onLoop { $0.production.pushes.map(\.deviceToken.text) } == ["aa00"])
            #expect(relay.pending.map(\.push.id) == ["push-bb00", "push-cc00"])
            #expect(
                relay.pending.allSatisfy {
                    $0.lease == nil && $0.dueAt == RelayFixture.start && $0.push.attempts == 3
                })
        }
    }

    @Test("Pushes claimed while the worker stops are returned")
    func claimedWhileStopping() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.fill(["aa00"], attempts: 3)
            let gate = Gate()
            relay.storage.state.withLock { $0.claimGate = gate }
            try await relay.withWorker { worker in
                #expect(await eventually { gate.waiting == 1 })
                let stopping = await relay.loop.run { loop in
                    loop.spawn { _ in await worker.value.stop(within: .seconds(30)) }
                }
                // The loop has begun to stop the worker before it runs this.
                await relay.loop.run { _ in gate.open() }
                await stopping.value
            }
            await relay.writeEnds()
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
            #expect(relay.pending.map { $0.lease == nil && $0.push.attempts == 3 } == [true])
        }
    }

    @Test("A push whose app is removed between two attempts waits and releases its slot")
    func appGoes() async throws {
        var options = RelayFixture.Options()
        let topic = try #require(Topic("org.example.app"))
        let apps = Apps([topic: PushApp(key: TestKey.first, environments: [.production, .sandbox])])
        options.apps = apps
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let other = relay.storage.add("bb00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            relay.fill(["aa00"])
            try await relay.withWorker(inFlight: 2) { _ in
                #expect(await relay.until { $0.production.held.count == 1 })
                await relay.loop.run { _ in
                    relay.services.value.use(Apps([:]))
                    relay.production.value.answerHeld { _ in .rejected(400, "BadDeviceToken") }
                    relay.services.value.use(apps)
                }
                let push = RelayFixture.waiting(for: other)
                #expect(await relay.queue.store([push], lease: nil) == [.queued])
                #expect(await relay.until { $0.production.held.count == 1 })
                await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            }
            await relay.writeEnds()
            #expect(relay.storage.state.withLock(\.deliveries).map(\.id) == ["push-bb00"])
            #expect(relay.pending.map { $0.lease == nil && $0.push.attempts == 2 } == [true])
        }
    }

    @Test("A push that waits for a slot ends when it expires, even without a slot")
    func overWithoutPlace() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            let other = relay.storage.add("cc00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            relay.fill(["aa00"])
            relay.fill(["bb00"], expiresIn: 1_000)
            try await relay.withWorker(inFlight: 2) { _ in
                #expect(await relay.until { $0.production.held.count == 1 })
                relay.pass(.milliseconds(1_500))
                // This push makes the worker look at the queue.
                let queue = await relay.queue
                #expect(await queue.store([RelayFixture.waiting(for: other)], lease: nil) == [.queued])
                #expect(await eventually { queue.unwrittenEnds == 1 })
                #expect(await relay.onLoop { $0.production.held.count } == 1)
                await relay.loop.run { _ in
                    relay.production.value.script = { .accepted($0) }
                    relay.production.value.answerHeld { .accepted($0) }
                }
            }
            await relay.writeEnds()
            let rows = relay.storage.state.withLock(\.deliveries)
            #expect(rows.filter { $0.error == "Expired" }.map(\.id) == ["push-bb00"])
        }
    }
}
