import APNs
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("The end of an event", .timeLimit(.minutes(2)))
struct FanOutEndTests {
    private static func options() -> RelayFixture.Options {
        var options = RelayFixture.Options()
        options.limits.eventDeadline = .milliseconds(20)
        return options
    }

    /// Has an event's push stored after its deadline, and gives it a response while it is being stored.
    private func answeredWhileStoring(
        _ relay: RelayFixture, by sender: LoopBound<ScriptedSender>, _ outcome: @Sendable (Push) -> Outcome
    ) async -> JSON.Value {
        let gate = Gate()
        relay.storage.state.withLock { $0.enqueueGate = gate }
        let answer = Task { await relay.event().json }
        #expect(await relay.until { _ in gate.waiting == 1 })
        await relay.loop.run { _ in sender.value.answerHeld(1, outcome) }
        gate.open()
        return await answer.value
    }

    @Test("At the deadline the event is answered; late outcomes still change the registration")
    func deadline() async throws {
        var options = Self.options()
        options.limits.pushesPerEventMax = 2
        try await RelayFixture.with(options) { relay in
            for token in ["aa00", "bb00", "cc00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in
                relay.production.value.script = { $0.deviceToken.text == "aa00" ? .accepted($0) : nil }
            }
            let json = await relay.event().json
            #expect(json["sent"] == 1 && json["queued"] == 2)
            #expect(
                json["deliveries"]?.array?.map { $0["reason"] } == [
                    nil, "DeadlineExceeded", "DeadlineExceeded",
                ])
            #expect(relay.pending.allSatisfy { $0.lease != nil })
            #expect(await relay.onLoop { ($0.services.slots.taken, $0.production.held.count) } == (2, 2))
            await relay.loop.run { _ in
                relay.production.value.answerHeld { _ in .rejected(410, "Unregistered") }
                relay.production.value.answerHeld { _ in .rejected(400, "BadDeviceToken") }
            }
            #expect(await relay.until { $0.services.slots.taken == 0 })
            await relay.writeEnds()
            #expect(relay.storage.state.withLock(\.devices).map(\.token) == ["aa00", "cc00"])
            #expect(relay.storage.state.withLock(\.deliveries).map(\.error) == ["Unregistered"])
            // The other push goes to the other environment when the queue's worker sends it.
            #expect(relay.pending.map(\.dueAt) == [1_800_000_000_000])
            // The event is no longer waiting, so the other environment isn't tried yet.
            #expect(await relay.onLoop { $0.sandbox.pushes.count } == 0)
        }
    }

    @Test("An event whose look-up of devices took all of its time is refused and sends nothing")
    func lateLookUp() async throws {
        try await RelayFixture.with(Self.options()) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let gate = Gate()
            relay.storage.state.withLock { $0.devicesGate = gate }
            let answer = Task { await relay.event(["eventID": "e-1"]) }
            #expect(await relay.until { _ in gate.waiting == 1 })
            let end = MonotonicTime.current + .milliseconds(20)
            #expect(await relay.until { _ in MonotonicTime.current >= end })
            gate.open()
            #expect(await answer.value.json["code"] == "storage_unavailable")
            #expect(await relay.onLoop { $0.production.pushes.count } == 0)
            // The event's ID can be used again.
            #expect(await relay.event(["eventID": "e-1"]).json["sent"] == 1)
        }
    }

    @Test("A response waits until it is known whether a registration was removed")
    func removal() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(410, "Unregistered") }
            }
            let gate = Gate()
            relay.storage.state.withLock { $0.removeGate = gate }
            let answer = Task { await relay.event().json }
            #expect(await relay.until { _ in gate.waiting == 1 })
            // A response that didn't wait would have arrived by then.
            for _ in 0..<100 { await relay.loop.run { _ in } }
            gate.open()
            #expect(await answer.value["deliveries"]?.array?.first?["removed"] == true)
        }
    }

    @Test("An outcome that arrives while the push is being stored ends the stored push")
    func outcomeWhileStoring() async throws {
        try await RelayFixture.with(Self.options()) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            let json = await answeredWhileStoring(relay, by: relay.production) { .accepted($0) }
            #expect(json["queued"] == 1)
            await relay.writeEnds()
            #expect(relay.pending.isEmpty)
            #expect(relay.storage.state.withLock(\.deliveries).map(\.status) == [.sent])
        }
    }

    @Test("A push in flight that doesn't fit the queue isn't reported as never sent")
    func refusedInFlight() async throws {
        for isAnswered in [false, true] {
            var options = Self.options()
            options.queue.perSecretMax = 0
            try await RelayFixture.with(options) { relay in
                relay.storage.add("aa00", under: RelayFixture.key)
                await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
                let json =
                    isAnswered
                    ? await answeredWhileStoring(relay, by: relay.production) { .accepted($0) }
                    : await relay.event().json
                #expect(json["sent"]?.int == (isAnswered ? 1 : 0))
                #expect(
                    json["deliveries"]?.array?.map { $0["reason"] }
                        == [isAnswered ? nil : "DeadlineExceeded"])
                #expect(relay.pending.isEmpty)
                await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            }
        }
    }

    @Test("An unregistered token is removed even if its push could not be stored")
    func removalWithoutRow() async throws {
        try await RelayFixture.with(Self.options()) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.state.withLock { $0.queueFailures = [.unavailable(logDetail: "gone")] }
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            let json = await answeredWhileStoring(relay, by: relay.production) { _ in
                .rejected(410, "Unregistered")
            }
            #expect(json["failed"] == 1)
            #expect(await relay.until { _ in relay.storage.state.withLock(\.devices).isEmpty })
        }
    }

    @Test(
        "The environment that accepted a push late is stored, whether or not the push was",
        arguments: [true, false])
    func environment(isStored: Bool) async throws {
        try await RelayFixture.with(Self.options()) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            if !isStored {
                relay.storage.state.withLock { $0.queueFailures = [.unavailable(logDetail: "gone")] }
            }
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(400, "BadDeviceToken") }
                relay.sandbox.value.script = { _ in nil }
            }
            let json = await answeredWhileStoring(relay, by: relay.sandbox) { .accepted($0) }
            #expect(json["queued"]?.int == (isStored ? 1 : 0))
            #expect(
                await relay.until { confined in
                    confined.services.counts.environmentsHealed == 1
                        && relay.storage.state.withLock(\.devices).map(\.environment) == [.sandbox]
                })
        }
    }

    @Test("A push that the database confirms on a later attempt is queued")
    func confirmedLater() async throws {
        var options = Self.options()
        options.queue.pause = { _ in await Task.yield() }
        options.queue.confirmTime = .seconds(60)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(503, "ServiceUnavailable") }
            }
            relay.storage.state.withLock {
                $0.queueFailures = [.unconfirmed(logDetail: "x"), .unavailable(logDetail: "x")]
            }
            #expect(await relay.event().json["queued"] == 1)
            #expect(relay.pending.count == 1)
            #expect(relay.storage.state.withLock(\.areEnqueuesRepeated) == [false, true, true])
        }
    }

    @Test("A push that stays unconfirmed fails with QueueUnconfirmed, and its outcome still ends its row")
    func unconfirmed() async throws {
        var options = Self.options()
        options.queue.confirmTime = .zero
        try await RelayFixture.with(options) { relay in
            for token in ["aa00", "bb00"] { relay.storage.add(token, under: RelayFixture.key) }
            await relay.loop.run { _ in
                relay.production.value.script = {
                    $0.deviceToken.text == "aa00" ? .rejected(503, "ServiceUnavailable") : nil
                }
            }
            // The database's response to COMMIT is lost, but the rows are stored.
            relay.storage.state.withLock { $0.losesConfirmation = true }
            let json = await relay.event().json
            #expect(json["failed"] == 2 && json["queued"] == 0)
            let reasons = json["deliveries"]?.array?.map { $0["reason"] }
            #expect(reasons == ["QueueUnconfirmed", "QueueUnconfirmed"])
            #expect(relay.pending.count == 2)
            // The outcome ends the row that may exist, so that nobody sends the push again.
            await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            await relay.writeEnds()
            #expect(relay.pending.map(\.push.deviceID) == ["device-0"])
            #expect(relay.storage.state.withLock(\.deliveries).map(\.status) == [.sent])
        }
    }

    @Test("Pushes follow devices that another relay moves to another hash")
    func movedMeanwhile() async throws {
        var options = Self.options()
        let pepper = Secret(String(repeating: "p", count: 32))
        options.hasher = try #require(SecretHasher(pepper: pepper))
        let key = options.hasher.key(of: Secret(RelayFixture.secret))
        try await RelayFixture.with(options) { relay in
            for token in ["aa00", "bb00", "cc00"] {
                relay.storage.add(token, under: SecretKey(primary: key.primary))
            }
            let gate = Gate()
            relay.storage.state.withLock { $0.enqueueGate = gate }
            await relay.loop.run { _ in
                relay.production.value.script = {
                    $0.deviceToken.text == "bb00" ? nil : .rejected(503, "ServiceUnavailable")
                }
            }
            let answer = Task { await relay.event().json }
            #expect(await relay.until { _ in gate.waiting == 2 })
            // A relay that still writes under the other hash moves the rows there; one of the phones unregisters.
            relay.storage.state.withLock { state in
                state.movePending(to: key.legacy[0])
                state.devices.removeAll { $0.token == "cc00" }
                state.enqueueGate = nil
            }
            gate.open()
            let json = await answer.value
            #expect(json["queued"] == 2 && json["failed"] == 1)
            #expect(
                json["deliveries"]?.array?.map { $0["reason"] } == [
                    "ServiceUnavailable", "DeadlineExceeded", "DeviceRemoved",
                ])
            #expect(relay.pending.map(\.push.secretHash) == [key.legacy[0], key.legacy[0]])
            await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            await relay.writeEnds()
            #expect(relay.pending.map(\.push.deviceID) == ["device-0"])
        }
    }
}
