import APNs
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Queued pushes", .timeLimit(.minutes(2)))
struct DuePushesTests {
    @Test("A due push is sent unchanged, and its end is recorded")
    func sent() async throws {
        try await RelayFixture.with { relay in
            let device = relay.storage.add("aa00", under: RelayFixture.key, bundle: "org.example.a")
            relay.fill(["aa00"])
            try await relay.withWorker { _ in
                #expect(await relay.until { $0.production.pushes.count == 1 })
            }
            let push = try #require(await relay.onLoop { $0.production.pushes.first })
            #expect(push.id == "push-aa00" && push.deviceToken.text == "aa00")
            #expect(
                push.notification.pushType == .background
                    && push.notification.priority == .conserveDevicePower)
            #expect(
                push.notification.collapseID?.text == "c" && push.notification.topic.text == "org.example.a")
            #expect(push.notification.expiration == 1_800_000_060)
            #expect(await relay.onLoop { $0.services.counts.retries } == 1)
            await relay.writeEnds()
            #expect(relay.pending.isEmpty)
            let row = try #require(relay.storage.state.withLock(\.deliveries).first)
            #expect(row.id == "push-aa00" && row.status == .sent && row.deviceID == device.id)
            #expect(row.eventType == "error" && row.sessionID == "ses_9")
        }
    }

    @Test("A push that APNs still can't accept waits longer, at least as long as APNs asks")
    func again() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(429, "TooManyRequests", retryAfter: 7) }
            }
            relay.fill(["aa00"], attempts: 4)
            try await relay.withWorker { _ in
                #expect(await relay.until { $0.production.pushes.count == 1 })
            }
            await relay.writeEnds()
            let row = try #require(relay.pending.first)
            #expect(row.lease == nil && row.push.attempts == 5)
            #expect(row.dueAt >= RelayFixture.start + 7_000)
            #expect(relay.storage.state.withLock(\.deliveries).isEmpty)
        }
    }

    @Test("A token that APNs no longer knows ends its push, then is removed with its other pushes")
    func removed() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.add("bb00", under: RelayFixture.key, at: RelayFixture.start)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(410, "Unregistered", timestamp: 5_000) }
            }
            relay.fill(["aa00", "bb00"])
            try await relay.withWorker { _ in
                #expect(await relay.until { $0.production.pushes.count == 2 })
            }
            await relay.writeEnds()
            // The second device registered after the time since which APNs hasn't known it.
            #expect(relay.storage.state.withLock(\.devices).map(\.token) == ["bb00"])
            let rows = relay.storage.state.withLock(\.deliveries)
            #expect(rows.map(\.error) == ["Unregistered", "Unregistered"])
        }
    }

    @Test("A token of the other environment is sent there, and the environment is stored")
    func flip() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(400, "BadDeviceToken") }
            }
            relay.fill(["aa00"])
            try await relay.withWorker { _ in
                #expect(await relay.until { $0.sandbox.pushes.count == 1 })
                #expect(
                    await eventually {
                        relay.storage.state.withLock { $0.devices.first?.environment } == .sandbox
                    })
            }
            await relay.writeEnds()
            #expect(relay.storage.state.withLock(\.deliveries).map(\.status) == [.sent])
        }
    }

    @Test("An expired push, one without a device and an invalid one are ended without being sent")
    func ended() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.add("bb00", under: RelayFixture.key)
            relay.storage.add("not a token", under: RelayFixture.key)
            relay.fill(["aa00"], expiresIn: -1_000)
            relay.fill(["bb00", "not a token"])
            relay.storage.state.withLock { $0.devices.removeAll { $0.token == "bb00" } }
            try await relay.withWorker { _ in
                #expect(await eventually { relay.pending.allSatisfy { $0.lease != nil } })
            }
            await relay.writeEnds()
            let rows = relay.storage.state.withLock(\.deliveries)
            #expect(Set(rows.map(\.id)) == ["push-aa00", "push-bb00", "push-not a token"])
            #expect(
                Set(rows.map { "\($0.id) \($0.error ?? "")" }) == [
                    "push-aa00 Expired", "push-bb00 DeviceRemoved", "push-not a token InvalidRegistration",
                ])
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
        }
    }

    @Test("A push stored while the worker sleeps wakes it")
    func woken() async throws {
        var options = RelayFixture.Options()
        options.queue.schedule = RetrySchedule(delayMax: .zero)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in
                    relay.production.value.pushes.count == 1
                        ? .unreachable(Unreachable(processed: .notSent, cause: .connectFailed))
                        : nil
                }
            }
            var response: JSON.Value = nil
            try await relay.withWorker { _ in
                response = await relay.event().json
                #expect(await relay.until { $0.production.pushes.count == 2 })
                await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            }
            #expect(response["queued"] == 1)
            let ids = await relay.onLoop { $0.production.pushes.map(\.id) }
            #expect(ids.count == 2 && Set(ids).count == 1)
            #expect(response["deliveries"]?.array?.first?["apnsID"]?.string == ids.first)
        }
    }

    @Test("Stopping returns unsent pushes and waits for those in flight")
    func stopping() async throws {
        var options = RelayFixture.Options()
        options.queue.pause = { _ in await Task.yield() }
        try await RelayFixture.with(options) { relay in
            let tokens = (0..<10).map { "aa\($0 + 10)" }
            for token in tokens { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            relay.fill(tokens, attempts: 3)
            let queue = await relay.queue
            async let run: Void = queue.run()
            try await relay.withWorker(inFlight: 8) { worker in
                #expect(await relay.until { $0.production.held.count == 4 })
                async let stopped: Void = relay.stop(worker)
                #expect(await eventually { relay.pending.count { $0.lease == nil } == 6 })
                await relay.loop.run { _ in
                    relay.production.value.answerHeld(4) { .accepted($0) }
                }
                await stopped
            }
            queue.finish()
            await run
            #expect(relay.storage.state.withLock(\.deliveries).count == 4)
            #expect(relay.pending.count == 6)
            #expect(
                relay.pending.allSatisfy {
                    $0.lease == nil && $0.dueAt == RelayFixture.start && $0.push.attempts == 3
                })
        }
    }

    @Test("After a slow claim past backlogs, claims don't look past them for a while")
    func claimScopes() async throws {
        try await RelayFixture.with { relay in
            try await relay.withWorker { worker in
                #expect(await eventually { !relay.storage.state.withLock(\.claimScopes).isEmpty })
                #expect(
                    await eventually {
                        await relay.loop.run { _ in (worker.value.work as? DuePushes)?.pace != ClaimPace() }
                    })
            }
            #expect(relay.storage.state.withLock(\.claimScopes).first == .everySecret)
        }
        var resting = ClaimPace()
        let now = MonotonicTime.current
        resting.claimed(.everySecret, from: now, to: now + .seconds(600))
        try await RelayFixture.with { relay in
            try await relay.withWorker(pace: resting) { worker in
                #expect(await eventually { !relay.storage.state.withLock(\.claimScopes).isEmpty })
                #expect(await relay.loop.run { _ in (worker.value.work as? DuePushes)?.pace } == resting)
            }
            #expect(Set(relay.storage.state.withLock(\.claimScopes)) == [.oldest])
        }
    }

    @Test("An outcome that arrives as the worker begins to stop isn't missed")
    func stopsAtOnce() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            relay.fill(["aa00"])
            try await relay.withWorker { worker in
                #expect(await relay.until { $0.production.held.count == 1 })
                let took = await relay.loop.run { loop in
                    // In the same turn in which the stop begins to wait.
                    loop.atTurnEnd { relay.production.value.answerHeld { .accepted($0) } }
                    let began = loop.now
                    await worker.value.stop(within: .seconds(30))
                    return loop.now.since(began)
                }
                #expect(took < .seconds(20))
            }
        }
    }

    @Test("Claimed pushes are sent even if the database fails right after the claim")
    func failsAfterClaim() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.fill(["aa00"])
            relay.storage.state.withLock { $0.dueFailures = [.unavailable(logDetail: "gone")] }
            try await relay.withWorker { _ in
                #expect(await relay.until { $0.production.pushes.count == 1 })
            }
            await relay.writeEnds()
            #expect(relay.pending.isEmpty)
            #expect(relay.storage.state.withLock(\.dueFailures).isEmpty)
        }
    }
}
