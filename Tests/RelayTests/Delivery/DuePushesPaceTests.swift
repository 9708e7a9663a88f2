import APNs
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("The pace of queued pushes", .timeLimit(.minutes(2)))
struct DuePushesPaceTests {
    @Test("No more pushes are in flight than the budget allows, and all are sent in the end")
    func budget() async throws {
        try await RelayFixture.with { relay in
            let tokens = (0..<40).map { "aa\($0 + 10)" }
            for token in tokens { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in
                relay.production.value.script = { _ in nil }
                // New events have seven pushes in flight.
                _ = relay.services.value.slots.take(7)
            }
            relay.fill(tokens)
            try await relay.withWorker(inFlight: 10) { _ in
                // The worker uses half of the remaining slots.
                #expect(await relay.until { $0.production.held.count == 2 })
                await relay.loop.run { _ in relay.services.value.slots.giveBack(7) }
                var most = 0
                while await relay.onLoop({ $0.production.pushes.count }) < 40 {
                    most = max(most, await relay.onLoop { $0.production.held.count })
                    await relay.loop.run { _ in
                        if !relay.production.value.held.isEmpty {
                            relay.production.value.answerHeld { .accepted($0) }
                        }
                    }
                }
                #expect(most == 5)
                await relay.loop.run { _ in
                    relay.production.value.answerHeld(5) { .accepted($0) }
                }
            }
            await relay.writeEnds()
            #expect(relay.pending.isEmpty)
            #expect(relay.storage.state.withLock(\.deliveries).count == 40)
        }
    }

    @Test("A long batch is sent in parts, so that new events don't wait for all of it")
    func turns() async throws {
        try await RelayFixture.with { relay in
            let tokens = (0..<(2 * Bounds.retriesAtOnceMax + 1)).map { "aa\($0 + 1000)" }
            for token in tokens { relay.storage.add(token, under: RelayFixture.key) }
            let perTurn = Lock([0])
            await relay.loop.run { loop in
                relay.production.value.script = { push in
                    perTurn.withLock { turns in
                        if turns[turns.count - 1] == 0 {
                            loop.atTurnEnd { perTurn.withLock { $0.append(0) } }
                        }
                        turns[turns.count - 1] += 1
                    }
                    return .accepted(push)
                }
            }
            relay.fill(tokens)
            try await relay.withWorker(inFlight: 1_000) { _ in
                #expect(await relay.until { $0.production.pushes.count == tokens.count })
            }
            let full = Bounds.retriesAtOnceMax
            #expect(perTurn.withLock { $0.filter { $0 > 0 } } == [full, full, 1])
        }
    }

    @Test("Nothing is claimed while too many ends are unwritten, and claims resume once they are written")
    func unwritten() async throws {
        var options = RelayFixture.Options()
        options.queue.pause = { _ in await Task.yield() }
        try await RelayFixture.with(options) { relay in
            let tokens = (0..<100).map { "aa\($0 + 1000)" }
            for token in tokens { relay.storage.add(token, under: RelayFixture.key) }
            relay.fill(tokens)
            try await relay.withWorker(inFlight: 10, unwritten: 30) { worker in
                #expect(await relay.until { $0.production.pushes.count == 30 })
                // Looking again changes nothing.
                for _ in 0..<200 { await relay.loop.run { _ in } }
                #expect(await relay.onLoop { $0.production.pushes.count } == 30)
                #expect(relay.pending.count { $0.lease == nil } == 70)
                let queue = await relay.queue
                async let run: Void = queue.run()
                #expect(await relay.until { $0.production.pushes.count == 100 })
                await relay.stop(worker)
                queue.finish()
                await run
            }
            #expect(relay.pending.isEmpty)
            #expect(relay.storage.state.withLock(\.deliveries).count == 100)
        }
    }

    @Test("A push of an app that this relay doesn't know waits for one that does, and ends with the reason")
    func unknownApp() async throws {
        var options = RelayFixture.Options()
        let topic = try #require(Topic("org.example.known"))
        options.apps = Apps([topic: PushApp(key: TestKey.first, environments: [.production])])
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key, bundle: "org.example.new")
            relay.storage.add(
                "bb00", under: RelayFixture.key, bundle: "org.example.known", environment: .sandbox)
            relay.storage.add("cc00", under: RelayFixture.key, bundle: "org.example.new")
            relay.fill(["aa00", "bb00"])
            relay.fill(["cc00"], expiresIn: -1_000)
            try await relay.withWorker { _ in
                #expect(await eventually { relay.pending.allSatisfy { $0.lease != nil } })
            }
            await relay.writeEnds()
            #expect(relay.pending.map(\.push.id) == ["push-aa00", "push-bb00"])
            #expect(
                relay.pending.allSatisfy {
                    $0.lease == nil && $0.push.attempts == 2 && $0.dueAt >= RelayFixture.start
                })
            #expect(relay.storage.state.withLock(\.deliveries).map(\.error) == ["UnknownBundle"])
        }
    }

    @Test("A silent destination doesn't delay other destinations' pushes, only its own")
    func stalled() async throws {
        var options = RelayFixture.Options()
        options.queue.pause = { _ in await Task.yield() }
        try await RelayFixture.with(options) { relay in
            let silent = (0..<60).map { "aa\($0 + 10)" }
            let others = (0..<30).map { "bb\($0 + 10)" }
            for token in silent {
                relay.storage.add(token, under: RelayFixture.key, environment: .sandbox)
            }
            for token in others { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in relay.sandbox.value.script = { _ in nil } }
            // All pushes that never get a response come first.
            relay.fill(silent)
            relay.fill(others)
            let queue = await relay.queue
            async let run: Void = queue.run()
            try await relay.withWorker(inFlight: 10) { worker in
                #expect(await relay.until { $0.sandbox.held.count == 5 })
                relay.pass(Bounds.retryStallTime)
                #expect(await relay.until { $0.production.pushes.count == 30 })
                // The remaining silent pushes are not in flight and wait without a lease for a later attempt.
                #expect(await relay.onLoop { $0.sandbox.pushes.count } == 5)
                let isPostponed = await eventually { relay.pending.count { $0.push.attempts == 2 } == 55 }
                #expect(isPostponed, "attempts: \(relay.pending.map(\.push.attempts))")
                await relay.loop.run { _ in
                    relay.sandbox.value.answerHeld(5) { .accepted($0) }
                }
                await relay.stop(worker)
            }
            queue.finish()
            await run
            #expect(relay.storage.state.withLock(\.deliveries).count == 35)
        }
    }

    @Test(
        "A queue full of pushes with a refused token sends only a few, and another app's pushes go out")
    func refusedToken() async throws {
        var options = RelayFixture.Options()
        options.queue.pause = { _ in await Task.yield() }
        options.rules = RequestRules(
            defaultBundleID: nil,
            bundleIDs: Set(["org.example.app", "org.example.good"].compactMap { Topic($0) }))
        try await RelayFixture.with(options) { relay in
            let refused = (0..<60).map { "aa\($0 + 10)" }
            let others = (0..<30).map { "bb\($0 + 10)" }
            for token in refused { relay.storage.add(token, under: RelayFixture.key) }
            for token in others {
                relay.storage.add(token, under: RelayFixture.key, bundle: "org.example.good")
            }
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    guard push.notification.topic.text == "org.example.app" else { return .accepted(push) }
                    return .rejected(403, "InvalidProviderToken")
                }
            }
            relay.fill(refused)
            relay.fill(others)
            let queue = await relay.queue
            async let run: Void = queue.run()
            try await relay.withWorker(inFlight: 10) { worker in
                #expect(await eventually { relay.pending.allSatisfy { $0.push.attempts == 2 } })
                await relay.stop(worker)
            }
            queue.finish()
            await run
            let pushes = await relay.onLoop { $0.production.pushes.map(\.notification.topic.text) }
            #expect(pushes.count { $0 == "org.example.good" } == 30)
            // The first push is sent once more, with a provider token that may be new.
            #expect(pushes.count { $0 == "org.example.app" } == 2)
            #expect(relay.pending.count == 60)
        }
    }

    @Test("The worker counts queued pushes and checks again when the first is due")
    func nextDue() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            relay.fill(["aa00"], dueIn: 1_234)
            relay.fill(["bb00"], dueIn: 9_999)
            try await relay.withWorker { _ in
                #expect(
                    await relay.until {
                        $0.services.shared.queue.alarm.nextLook == RelayFixture.start + 1_234
                    })
                let figures = await relay.queue.figures
                #expect(figures.waiting == 2 && figures.waitingBytes == 2 * #"{"aps":{}}"#.utf8.count)
                #expect(figures.oldestDue == RelayFixture.start + 1_234)
            }
        }
    }

    @Test("A database that can't be read is queried again after growing delays")
    func storageFails() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.fill(["aa00"])
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "gone") }
            try await relay.withWorker { _ in
                #expect(await eventually { relay.lines.text.contains("queue.unreadable") })
                // A busy machine may miss a delay, but each is twice the previous one.
                let delays = (0..<7).map { EpochMilliseconds(250) << $0 }
                for delay in delays.prefix(2) {
                    #expect(
                        await relay.until {
                            let time = $0.services.shared.queue.alarm.nextLook
                            let next = time - RelayFixture.start
                            return next >= delay && delays.contains(next)
                        })
                }
                relay.storage.state.withLock { $0.failure = nil }
                #expect(await relay.until { $0.production.pushes.count == 1 })
            }
        }
    }
}
