import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Batches of events", .timeLimit(.minutes(2)))
struct EventsTests {
    /// An event with additional members.
    private static func event(_ members: JSON.Value = [:]) -> JSON.Value {
        var object: JSON.Object = .init()
        object["eventType"] = "complete"
        object["sessionID"] = "ses_1"
        for member in members.object?.members ?? [] { object[member.name] = member.value }
        return .object(object)
    }

    private static func post(_ relay: RelayFixture, _ events: [JSON.Value]) async -> Response {
        await relay.post(
            "/v1/events", ["secret": .string(RelayFixture.secret), "events": .array(events)])
    }

    /// The statuses of a batch's results.
    private static func statuses(_ response: Response) -> [Int] {
        response.json["results"]?.array?.compactMap { $0["status"]?.int } ?? []
    }

    @Test(
        "Each event gets, in order, the status and the members that it would get alone, with one claim for all"
    )
    func results() async throws {
        let events = [
            Self.event(["eventID": "e-1", "title": "t"]), Self.event(["sessionID": ""]),
            Self.event(["eventType": "lunch"]), Self.event(),
            Self.event(["eventID": "e-2", "async": true]),
            Self.event([
                "eventID": "e-3", "eventType": "permission", "repeat": ["every": 60, "for": 120],
            ]),
            Self.event(["eventID": "e-old", "title": "another"]), Self.event(["eventType": "progress"]),
        ]
        let alone = try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await relay.event(["eventID": "e-old"]).status == 200)
            var results: [JSON.Value] = []
            for event in events {
                let response = await relay.event(event)
                var result = JSON.Object()
                result["status"] = .int(response.status.rawValue)
                for member in response.json.object?.members ?? [] { result[member.name] = member.value }
                results.append(.object(result))
            }
            return results
        }
        #expect(alone.map { $0["status"]?.int } == [200, 400, 400, 200, 202, 200, 409, 400])
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await relay.event(["eventID": "e-old"]).status == 200)
            let claims = relay.storage.state.withLock(\.claims)
            let response = await Self.post(relay, events)
            #expect(response.status == 200 && response.json["ok"] == true)
            #expect(relay.storage.state.withLock(\.claims) == claims + 1)
            #expect(await relay.onLoop { $0.production.pushes.count } == 4)
            let results = try #require(response.json["results"]?.array)
            #expect(results.map(Self.withoutIDs) == alone.map(Self.withoutIDs))
        }
    }

    /// A result without the IDs of its pushes, which are never the same.
    private static func withoutIDs(_ result: JSON.Value) -> JSON.Value {
        guard var object = result.object else { return result }
        object["deliveries"] = object["deliveries"]?.array.map { deliveries in
            .array(
                deliveries.map { delivery in
                    var delivery = delivery.object ?? JSON.Object()
                    delivery["apnsID"] = nil
                    return .object(delivery)
                })
        }
        return .object(object)
    }

    @Test("A batch that is sent again gets its first results and sends nothing")
    func again() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let events = (1...100).map { Self.event(["eventID": .string("e-\($0)")]) }
            let first = await Self.post(relay, events)
            #expect(Self.statuses(first) == Array(repeating: 200, count: 100))
            #expect(await relay.onLoop { $0.production.pushes.count } == 100)
            let second = await Self.post(relay, events)
            #expect(second.body == first.body)
            #expect(await relay.onLoop { $0.production.pushes.count } == 100)
            let alone = await relay.event(["eventID": "e-7"])
            #expect(alone.json["deliveries"] == first.json["results"]?.array?[6]["deliveries"])
        }
    }

    @Test(
        "Of two with one eventID in a batch one sends and both get its result; another content is a conflict")
    func twice() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let once = Self.event(["eventID": "e-1"])
            let response = await Self.post(relay, [once, once])
            let results = try #require(response.json["results"]?.array)
            #expect(results.count == 2 && results[0] == results[1] && results[0]["sent"] == 1)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
            let other = Self.event(["eventID": "e-2", "title": "b"])
            let conflict = await Self.post(relay, [Self.event(["eventID": "e-2"]), other])
            #expect(Self.statuses(conflict).sorted() == [200, 409])
        }
    }

    @Test("The events are sent at the same time")
    func concurrent() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in relay.production.value.script = { _ in nil } }
            async let response = Self.post(relay, (1...3).map { Self.event(["title": .string("\($0)")]) })
            #expect(await relay.until { $0.production.held.count == 3 })
            await relay.loop.run { _ in relay.production.value.answerHeld { .accepted($0) } }
            #expect(await Self.statuses(response) == [200, 200, 200])
        }
    }

    @Test("Each valid event counts against the limit; those over it are refused, and the others are sent")
    func limits() async throws {
        var options = RelayFixture.Options()
        options.rates.eventsPerMinute = 3
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let events = [Self.event(["sessionID": ""])] + Array(repeating: Self.event(), count: 4)
            let response = await Self.post(relay, events)
            #expect(Self.statuses(response) == [400, 200, 200, 200, 429])
            let last = response.json["results"]?.array?.last
            #expect(last?["code"] == "rate_limited")
            #expect((1...20).contains(last?["retryAfter"]?.int ?? 0))
            #expect(await relay.onLoop { $0.production.pushes.count } == 3)
            #expect(await relay.onLoop { $0.services.counts.limits.reduce(0, +) } == 1)
            let next = await Self.post(relay, events)
            #expect(next.status == 429 && next.headers["Retry-After"] != nil)
        }
    }

    @Test("A secret without devices counts against its address once per event")
    func unknown() async throws {
        var options = RelayFixture.Options()
        options.rates.unknownSecretsPerMinute = 2
        try await RelayFixture.with(options) { relay in
            let events = [Self.event(["sessionID": ""])] + Array(repeating: Self.event(), count: 3)
            #expect(Self.statuses(await Self.post(relay, events)) == [400, 200, 200, 429])
            #expect(await Self.post(relay, events).status == 429)
        }
    }

    @Test("Without a database nothing is claimed or sent")
    func unavailable() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            let response = await Self.post(relay, [Self.event(["eventID": "e-1"])])
            #expect(response.status == 503 && response.json["code"] == "storage_unavailable")
            relay.storage.state.withLock { $0.failure = nil }
            #expect(Self.statuses(await Self.post(relay, [Self.event(["eventID": "e-1"])])) == [200])
        }
    }

    @Test("A list that is none, empty or too long is refused; what is no event is refused alone")
    func malformed() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let secret = JSON.Value.string(RelayFixture.secret)
            let missing = await relay.post("/v1/events", ["secret": secret])
            #expect(missing.json["code"] == "missing_field" && missing.json["field"] == "events")
            for events: JSON.Value in [[], "x", [:], .array(Array(repeating: Self.event(), count: 101))] {
                let response = await relay.post("/v1/events", ["secret": secret, "events": events])
                #expect(response.status == 400 && response.json["field"] == "events")
            }
            let response = await Self.post(relay, [1, Self.event(["secret": secret]), Self.event()])
            #expect(Self.statuses(response) == [400, 400, 200])
            let fields = response.json["results"]?.array?.map { $0["field"] }
            #expect(fields == ["events", "secret", nil])
        }
    }

    @Test("An event may be as deeply nested as alone, and a batch larger than other bodies")
    func bounds() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            func nested(_ levels: Int) -> JSON.Value {
                let state = (1..<levels).reduce([:] as JSON.Value) { value, _ in ["a": value] }
                return Self.event(["contentState": state])
            }
            let deepest = Bounds.requestJSONDepthMax - 1
            #expect(await relay.event(nested(deepest)).status == 200)
            #expect(await relay.event(nested(deepest + 1)).json["code"] == "invalid_body")
            let long = Self.event(["body": .string(String(repeating: "a", count: 580))])
            let events = [nested(deepest)] + Array(repeating: long, count: 99)
            #expect(Self.statuses(await Self.post(relay, events)) == Array(repeating: 200, count: 100))
            #expect(await Self.post(relay, [nested(deepest + 1)]).json["code"] == "invalid_body")
        }
    }

    @Test("The log line of a batch has the level of its worst result")
    func level() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.state.withLock { $0.createFailures = [.unavailable(logDetail: "x")] }
            let events = [Self.event(), Self.event(["eventID": "e", "async": true])]
            #expect(Self.statuses(await Self.post(relay, events)) == [200, 503])
            let line = try await relay.lines.closed().first { $0["route"] == "POST /v1/events" }
            #expect(line?["status"] == 200 && line?["level"] == "warning")
        }
    }

    @Test("One log line has the sums of the events and the codes of those that were refused")
    func log() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.add("bb00", under: RelayFixture.key)
            _ = await Self.post(
                relay, [Self.event(["title": "private"]), Self.event(), Self.event(["sessionID": ""])])
            let lines = try await relay.lines.closed().filter { $0["route"] == "POST /v1/events" }
            #expect(lines.count == 1)
            let line = try #require(lines.first)
            #expect(line["events"] == 3 && line["devices"] == 4 && line["sent"] == 4)
            #expect(line["refused"] == 1 && line["codes"] == "invalid_field")
            #expect(!relay.lines.text.contains("private"))
        }
    }
}
