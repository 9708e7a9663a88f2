import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Events with an eventID", .timeLimit(.minutes(2)))
struct EventOnceTests {
    @Test("The same eventID again gets the first answer again, byte for byte, and sends nothing")
    func repeated() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let first = await relay.event(["eventID": "e-1"])
            #expect(first.json["sent"] == 1)
            relay.storage.add("bb00", under: RelayFixture.key)
            let second = await relay.event(["eventID": "e-1"])
            #expect(second.body == first.body)
            #expect(second.status == 200)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("Without an eventID each event is its own")
    func without() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            _ = await relay.event()
            _ = await relay.event()
            #expect(await relay.onLoop { $0.production.pushes.count } == 2)
            #expect(relay.storage.state.withLock { $0.receipts.count } == 0)
        }
    }

    @Test("Another content under the same eventID is a conflict")
    func conflict() async throws {
        try await RelayFixture.with { relay in
            _ = await relay.event(["eventID": "e-1", "title": "a"])
            let response = await relay.event(["eventID": "e-1", "title": "b"])
            #expect(response.status == 409)
            #expect(response.json["code"] == "event_conflict")
            #expect(response.json["field"] == "eventID")
        }
    }

    @Test("Of two at once one sends, and both get its answer")
    func concurrent() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            async let first = relay.event(["eventID": "e-1"])
            async let second = relay.event(["eventID": "e-1"])
            #expect(await relay.until { $0.production.held.count == 1 })
            await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            let answers = await (first, second)
            #expect(answers.0.body == answers.1.body)
            #expect(answers.0.json["sent"] == 1)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("Of two at once at two relays one sends, and both get its answer")
    func twoRelays() async throws {
        try await RelayFixture.with { first in
            first.storage.add("aa00", under: RelayFixture.key)
            var options = RelayFixture.Options()
            options.storage = first.storage
            try await RelayFixture.with(options) { second in
                for relay in [first, second] {
                    await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
                }
                async let here = first.event(["eventID": "e-1"])
                async let there = second.event(["eventID": "e-1"])
                var sending: RelayFixture?
                while sending == nil {
                    for relay in [first, second] where await relay.onLoop({ $0.production.held.count }) == 1 {
                        sending = relay
                    }
                }
                let sender = try #require(sending)
                await sender.loop.run { _ in sender.production.value.answerHeld { .accepted($0) } }
                let answers = await (here, there)
                #expect(answers.0.body == answers.1.body)
                #expect(answers.0.json["sent"] == 1)
                var pushes = 0
                for relay in [first, second] {
                    pushes += await relay.onLoop { $0.production.pushes.count }
                }
                #expect(pushes == 1)
            }
        }
    }

    @Test("One that takes all of its time is still waited for")
    func slow() async throws {
        var options = RelayFixture.Options()
        options.limits.eventDeadline = .seconds(2)
        // The first request takes longer on a busy machine.
        options.limits.claimWaitMargin = .seconds(60)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            async let first = relay.event(["eventID": "e-1"])
            async let second = relay.event(["eventID": "e-1"])
            let answers = await (first, second)
            #expect(answers.0.status == 200 && answers.0.json["queued"] == 1)
            #expect(answers.0.body == answers.1.body)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    /// Makes another process claim the event `e-1`, to which it never responds.
    private func claimElsewhere(_ relay: RelayFixture) async throws {
        let body: JSON.Value = [
            "secret": .string(RelayFixture.secret), "eventType": "complete", "sessionID": "ses_1",
        ]
        let content = try EventRequest(body: body.encoded()).content.digest(to: nil, repetition: nil)
        var generator = IDGenerator(seed: 1)
        let claim = EventClaim(
            id: UUIDv7(at: 0, using: &generator), key: RelayFixture.key, eventID: "e-1", content: content,
            at: RelayFixture.start, leaseUntil: RelayFixture.start + 600_000)
        #expect(try await relay.storage.claim(claim) == .claimed)
    }

    @Test("Whoever takes an event over sends it to the devices that there are then")
    func takenOver() async throws {
        try await RelayFixture.with { relay in
            try await claimElsewhere(relay)
            let storage = relay.storage
            let answer = Task { await relay.event(["eventID": "e-1"]).json }
            #expect(await relay.until { _ in storage.state.withLock(\.claims) >= 2 })
            // In one job, so that the request doesn't read the devices before one change and claim after the other.
            await relay.loop.run { _ in
                storage.add("aa00", under: RelayFixture.key)
                storage.state.withLock { $0.receipts = [] }
            }
            #expect(await answer.value["sent"] == 1)
        }
    }

    @Test("A claim lasts longer than the event may, by what its storage calls and the clocks may need")
    func lease() async throws {
        try await RelayFixture.with { relay in
            let limits = await relay.onLoop { $0.services.shared.limits }
            #expect(limits.claimLeaseMargin > Bounds.clockSkewMax)
            _ = await relay.event(["eventID": "e-1"])
            let lease = limits.eventDeadline + limits.claimLeaseMargin
            let receipt = try #require(relay.storage.state.withLock(\.receipts).first)
            #expect(receipt.leaseUntil == RelayFixture.start + lease.inMilliseconds)
        }
    }

    @Test("Waiting for the other one ends soon after the event's deadline")
    func waiting() async throws {
        var options = RelayFixture.Options()
        options.limits.eventDeadline = .milliseconds(30)
        options.limits.claimWaitMargin = .milliseconds(10)
        try await RelayFixture.with(options) { relay in
            try await claimElsewhere(relay)
            let response = await relay.event(["eventID": "e-1"])
            #expect(response.status == 503)
            #expect(response.json["code"] == "overloaded")
            #expect(response.headers["Retry-After"] == String(Bounds.claimRetryAfterSeconds))
        }
    }

    @Test("A client that leaves doesn't stop the pushes of its event")
    func cancelled() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            let task = Task { await relay.event(["eventID": "e-1"]) }
            #expect(await relay.until { $0.production.held.count == 1 })
            task.cancel()
            await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            #expect(await task.value.json["sent"] == 1)
            #expect(await relay.event(["eventID": "e-1"]).json["sent"] == 1)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test(
        "An answer that the database doesn't take is given at once, and kept when it does",
        arguments: [
            StorageError.unavailable(logDetail: "down"), .full(logDetail: "disk"),
            .readOnly(logDetail: "standby"), .refused(logDetail: "right"),
        ])
    func keptLater(_ failure: StorageError) async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.state.withLock { $0.completeFailures = [failure, failure] }
            let first = await relay.event(["eventID": "e-1"])
            #expect(first.json["sent"] == 1)
            let storage = relay.storage
            #expect(
                await relay.until { _ in
                    storage.state.withLock { $0.receipts.first?.answer != nil }
                })
            #expect(await relay.event(["eventID": "e-1"]).body == first.body)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
            #expect(await relay.until { $0.services.receiptsRetried == 0 })
        }
    }

    @Test(
        "A bounded number of answers is retried at once, and an answer that can't be kept isn't retried"
    )
    func notKept() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.state.withLock { $0.completeFailures = [.unavailable(logDetail: "down")] }
            await relay.loop.run { _ in relay.services.value.receiptsRetried = Bounds.receiptsRetriedMax }
            #expect(await relay.event(["eventID": "e-1"]).json["sent"] == 1)
            await relay.loop.run { _ in relay.services.value.receiptsRetried = 0 }
            relay.storage.state.withLock { $0.completeFailures = [.invalidValue(field: "answer")] }
            #expect(await relay.event(["eventID": "e-2"]).json["sent"] == 1)
            #expect(await relay.onLoop { $0.services.receiptsRetried } == 0)
            let lines = try await relay.lines.closed()
            #expect(lines.filter { $0["event"] == "receipt.not_kept" }.count == 2)
        }
    }

    @Test("A failure that can't be cured ends the attempts to keep an answer")
    func refusedForGood() async throws {
        try await RelayFixture.with { relay in
            relay.storage.state.withLock {
                $0.completeFailures = [.unavailable(logDetail: "down"), .closed]
            }
            #expect(await relay.event(["eventID": "e-1"]).status == 200)
            #expect(await relay.until { $0.services.receiptsRetried == 0 })
            #expect(relay.storage.state.withLock { $0.receipts.map(\.answer) } == [nil])
            let lines = try await relay.lines.closed()
            #expect(lines.count { $0["event"] == "receipt.not_kept" } == 1)
        }
    }

    @Test("When nothing could be sent the eventID is free again")
    func released() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let claims = relay.storage.state
            await relay.loop.run { _ in
                _ = relay.services.value.slots.take(relay.services.value.slots.capacity)
            }
            #expect(await relay.event(["eventID": "e-1"]).status == 503)
            #expect(claims.withLock { $0.receipts.count } == 0)
            await relay.loop.run { _ in
                relay.services.value.slots.giveBack(relay.services.value.slots.capacity)
            }
            #expect(await relay.event(["eventID": "e-1"]).json["sent"] == 1)
        }
    }
}
