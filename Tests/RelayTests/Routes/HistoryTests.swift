import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("History", .timeLimit(.minutes(2)))
struct HistoryTests {
    private static func options(keepsText: Bool = true) -> RelayFixture.Options {
        var options = RelayFixture.Options()
        options.history = History.Options(lifetime: .seconds(86_400), keepsText: keepsText)
        // The machine may be slow: a push whose item isn't stored in time goes without its badge.
        options.history?.waitMax = .seconds(60)
        return options
    }

    /// Runs `body` with a history and a device.
    private static func with(
        _ options: RelayFixture.Options = options(), _ body: (RelayFixture) async throws -> Void
    ) async throws {
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            try await body(relay)
        }
    }

    private static func list(_ relay: RelayFixture, _ members: JSON.Value = [:]) async -> JSON.Value {
        await post(relay, "list", members)
    }

    private static func post(
        _ relay: RelayFixture, _ route: String, _ members: JSON.Value
    ) async -> JSON.Value {
        var body = members.object ?? JSON.Object()
        body["secret"] = .string(RelayFixture.secret)
        return await relay.post("/v1/history/\(route)", .object(body)).json
    }

    private static func notify(_ relay: RelayFixture, _ notification: JSON.Value) async -> Response {
        await relay.post(
            "/v1/notify", ["secret": .string(RelayFixture.secret), "notification": notification])
    }

    private static func item(at time: EpochMilliseconds, body: String? = nil) -> HistoryItem {
        var generator = IDGenerator()
        return HistoryItem(
            id: UUIDv7(at: time, using: &generator), secretHash: RelayFixture.key.primary, eventID: nil,
            eventType: "complete", sessionID: "s", serverID: nil, body: body)
    }

    private static func badges(_ relay: RelayFixture) async throws -> [JSON.Value?] {
        try await relay.onLoop { $0.production.pushes.map(\.notification.payload) }.map {
            try JSON.parse($0, maxBytes: 4_096)["aps"]?["badge"]
        }
    }

    @Test("Without a history events store nothing, and the routes say so")
    func off() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await relay.event(["title": "Done"]).status == 200)
            #expect(relay.storage.state.withLock { $0.history.isEmpty && $0.historyBatches.isEmpty })
            for route in ["list", "read"] {
                #expect(await Self.post(relay, route, ["all": true])["code"] == "history_off")
            }
            let badge = await Self.notify(relay, ["badge": "unread"])
            #expect(badge.status == 403 && badge.json["field"] == "notification.badge")
        }
    }

    @Test("What was sent is listed newest first, with its texts, and page after page")
    func list() async throws {
        try await Self.with { relay in
            _ = await relay.event(["title": "Done", "body": "All", "serverID": "srv", "eventID": "e-1"])
            relay.pass(.seconds(1))
            _ = await Self.notify(relay, ["title": "Build", "threadID": "thread"])
            let all = await Self.list(relay)
            #expect(all["ok"] == true && all["unread"] == 2 && all["next"] == nil)
            let items = all["items"]?.array ?? []
            #expect(items.map { $0["eventType"] } == ["notify", "complete"])
            #expect(items.map { $0["sessionID"] } == ["thread", "ses_1"])
            #expect(items.map { $0["title"] } == ["Build", "Done"])
            #expect(items.last?["body"] == "All" && items.last?["serverID"] == "srv")
            #expect(items.last?["eventID"] == "e-1" && items.last?["readAt"] == nil)
            #expect(items.last?["createdAt"] == .string(Timestamp(1_800_000_000_000).text))
            let first = await Self.list(relay, ["limit": 1])
            #expect(first["items"]?.array == [items[0]] && first["next"] == items[0]["id"])
            #expect(await Self.list(relay, ["limit": 2])["next"] == nil)
            let second = await Self.list(relay, ["limit": 1, "before": first["next"] ?? nil])
            #expect(second["items"]?.array == [items[1]] && second["next"] == nil)
        }
    }

    @Test("A page ends early where its texts are long, and the next goes on from there")
    func longTexts() async throws {
        try await Self.with { relay in
            let body = String(repeating: "b", count: StorageLimits.historyTextBytes)
            let items = (0..<100).map { index in
                Self.item(at: 1_000 + EpochMilliseconds(index), body: body)
            }
            relay.storage.state.withLock { $0.history = items }
            var listed: [JSON.Value] = []
            var members: JSON.Value = ["limit": 100]
            while true {
                let page = await Self.list(relay, members)
                let shown = page["items"]?.array ?? []
                #expect(shown.count <= Bounds.historyPageBytesMax / StorageLimits.historyTextBytes)
                listed += shown.compactMap { $0["id"] }
                guard let next = page["next"] else { break }
                members = ["limit": 100, "before": next]
            }
            #expect(listed == items.reversed().map { .string($0.id.text) })
        }
    }

    @Test("A sealed text stays sealed, whether or not readable ones are kept", arguments: [true, false])
    func sealed(_ keepsText: Bool) async throws {
        try await Self.with(Self.options(keepsText: keepsText)) { relay in
            #expect(await relay.event(["sealed": "AQAA"]).json["sent"] == 1)
            let notify: JSON.Value = [
                "secret": .string(RelayFixture.secret), "sealed": "AQBB",
                "notification": ["title": "New message", "kind": "chat"],
            ]
            #expect(await relay.post("/v1/notify", notify).json["sent"] == 1)
            let items = await Self.list(relay)["items"]?.array ?? []
            #expect(items.map { $0["sealed"] } == ["AQBB", "AQAA"])
            #expect(items.map { $0["eventType"] } == ["chat", "complete"])
            #expect(items.map { $0["title"] } == [keepsText ? "New message" : nil, nil])
        }
    }

    @Test("A sealed event without room for a badge that only the device wants is sent without it")
    func sealedWithoutRoom() async throws {
        try await Self.with { relay in
            var body = JSON.Object()
            body["secret"] = .string(RelayFixture.secret)
            body["deviceToken"] = "aa00"
            // Quiet pushes are the longest, so they determine the limit on an event's size.
            body["preferences"] = [
                "badge": "unread", "quietHours": ["from": "00:00", "to": "23:59", "timeZone": "UTC"],
            ]
            #expect(await relay.post("/v1/device/register", .object(body)).status == 200)
            // Shortens the session ID by one character at a time, until the event is accepted.
            var sent: Response?
            for count in stride(from: 255, to: 0, by: -1) {
                let event: JSON.Value = [
                    "sealed": .string(String(repeating: "AQAA", count: 875)),
                    "sessionID": .string(String(repeating: "s", count: count)),
                ]
                let response = await relay.event(event)
                guard response.status == 413 else {
                    sent = response
                    break
                }
            }
            #expect(sent?.json["sent"] == 1)
            let badges = try await Self.badges(relay)
            #expect(badges == [nil])
            _ = await relay.event(["sealed": "AQAA"])
            let all = try await Self.badges(relay)
            #expect(all == [nil, 2])
        }
    }

    @Test("Without RELAY_HISTORY_TEXT titles and texts are left out")
    func withoutText() async throws {
        try await Self.with(Self.options(keepsText: false)) { relay in
            _ = await relay.event(["title": "Done", "body": "All"])
            _ = await Self.notify(relay, ["title": "Build"])
            let items = await Self.list(relay)["items"]?.array ?? []
            #expect(items.count == 2)
            #expect(items.allSatisfy { $0["title"] == nil && $0["body"] == nil })
        }
    }

    @Test("Repeating an eventID adds no item, and neither does what shows no text or reaches no device")
    func notKept() async throws {
        try await Self.with { relay in
            for _ in 0..<2 { _ = await relay.event(["eventID": "e-1"]) }
            _ = await Self.notify(relay, ["pushType": "background"])
            _ = await Self.notify(relay, ["badge": 3])
            _ = await Self.notify(relay, ["sound": "default"])
            _ = await relay.post(
                "/v1/event",
                ["secret": "another secret 1234", "eventType": "error", "sessionID": "s"])
            #expect(relay.storage.state.withLock { $0.history.map(\.eventID) } == ["e-1"])
        }
    }

    @Test("Items are read by their ids or all at once")
    func read() async throws {
        try await Self.with { relay in
            for _ in 0..<3 { _ = await relay.event() }
            let items = await Self.list(relay)["items"]?.array ?? []
            let ids = JSON.Value.array(items.prefix(2).compactMap { $0["id"] })
            #expect(await Self.post(relay, "read", ["ids": ids]) == ["ok": true, "read": 2, "unread": 1])
            #expect(await Self.post(relay, "read", ["ids": ids]) == ["ok": true, "read": 0, "unread": 1])
            #expect(await Self.post(relay, "read", ["all": true]) == ["ok": true, "read": 1, "unread": 0])
            let read = await Self.list(relay)
            #expect(read["unread"] == 0)
            #expect(read["items"]?.array?.allSatisfy { $0["readAt"] != nil } == true)
            for members: JSON.Value in [[:], ["ids": ids, "all": true], ["ids": []], ["ids": ["x"]]] {
                #expect(await Self.post(relay, "read", members)["ok"] == false)
            }
        }
    }

    @Test("An unread badge counts the item that it comes with")
    func badge() async throws {
        try await Self.with { relay in
            _ = await relay.event()
            _ = await Self.notify(relay, ["title": "t", "badge": "unread"])
            _ = await Self.notify(relay, ["badge": "unread"])
            _ = await Self.post(relay, "read", ["all": true])
            _ = await Self.notify(relay, ["badge": "unread"])
            let badges = try await Self.badges(relay)
            #expect(badges == [nil, 2, 2, 0])
        }
    }

    @Test("A device that prefers unread badges gets them with alerts that have none of their own")
    func preference() async throws {
        try await Self.with { relay in
            let register: JSON.Value = [
                "secret": .string(RelayFixture.secret), "deviceToken": "aa00",
                "preferences": ["badge": "unread"],
            ]
            #expect(await relay.post("/v1/device/register", register).status == 200)
            _ = await relay.event()
            _ = await Self.notify(relay, ["title": "t"])
            _ = await Self.notify(relay, ["title": "t", "badge": 7])
            _ = await Self.notify(relay, ["pushType": "background"])
            _ = await Self.notify(relay, ["sound": "default"])
            let badges = try await Self.badges(relay)
            #expect(badges == [1, 2, 7, nil, 3])
            let list = await relay.post("/v1/device/list", ["secret": .string(RelayFixture.secret)])
            #expect(list.json["devices"]?.array?.first?["preferences"] == ["badge": "unread"])
        }
    }

    @Test("A notification without room for a badge that only the device wants is sent without it")
    func noRoom() async throws {
        try await Self.with { relay in
            let device = relay.storage.state.withLock { $0.devices[0] }
            relay.storage.state.withLock {
                $0.devices[0] = Device(
                    id: device.id, secretHash: device.secretHash, token: device.token,
                    bundleID: device.bundleID, environment: .production, createdAt: 0, updatedAt: 0,
                    details: DeviceDetails(preferences: #"{"badge":"unread"}"#))
            }
            let frame = #"{"aps":{"alert":{"title":""}}}"#.utf8.count
            let title = String(repeating: "t", count: 4_096 - frame)
            #expect(await Self.notify(relay, ["title": .string(title)]).json["sent"] == 1)
            let badges = try await Self.badges(relay)
            #expect(badges == [nil])
            // A requested badge has room, because the title is shortened.
            #expect(await Self.notify(relay, ["title": .string(title), "badge": "unread"]).json["sent"] == 1)
            #expect(try await Self.badges(relay) == [nil, 2])
        }
    }

    @Test("An item that the database refuses costs neither the push nor the response")
    func refused() async throws {
        try await Self.with { relay in
            relay.storage.state.withLock { $0.historyFailures = [.full(logDetail: "x")] }
            let answer = await Self.notify(relay, ["title": "t", "badge": "unread"])
            #expect(answer.json["sent"] == 1)
            let badges = try await Self.badges(relay)
            #expect(badges == [nil])
            #expect(relay.history?.figures == History.Figures(dropped: 1))
            #expect(relay.lines.count(of: "history.dropped") <= 1)
        }
    }

    @Test("A push waits for its item for a limited time only")
    func late() async throws {
        var options = Self.options()
        options.history?.waitMax = .milliseconds(10)
        try await Self.with(options) { relay in
            let gate = Gate()
            relay.storage.state.withLock { $0.historyGate = gate }
            #expect(await relay.event().json["sent"] == 1)
            #expect(relay.storage.state.withLock(\.history) == [])
            gate.open()
            #expect(await eventually { relay.history?.figures.stored == 1 })
        }
    }

    @Test("Items that wait together share a transaction, and too many are dropped")
    func batches() async throws {
        var options = Self.options()
        options.history?.waitingMax = 8
        options.history?.batchMax = 6
        try await Self.with(options) { relay in
            let gate = Gate()
            relay.storage.state.withLock { $0.historyGate = gate }
            try await withThrowingTaskGroup(of: Int?.self) { group in
                group.addTask { await relay.event().json["sent"]?.int }
                #expect(await eventually { gate.waiting == 1 })
                for _ in 0..<10 { group.addTask { await relay.event().json["sent"]?.int } }
                #expect(await eventually { relay.history?.figures.dropped == 2 })
                gate.open()
                for try await sent in group { #expect(sent == 1) }
            }
            #expect(relay.storage.state.withLock(\.historyBatches) == [1, 6, 2])
            #expect(relay.history?.figures == History.Figures(stored: 9, dropped: 2))
        }
    }

    @Test("History requests count against the secret's limit, and empty ones against the address's")
    func limits() async throws {
        var options = Self.options()
        options.rates.registrationsPerMinute = 3
        try await Self.with(options) { relay in
            _ = await relay.event()
            for _ in 0..<3 { #expect(await Self.list(relay)["ok"] == true) }
            #expect(await Self.post(relay, "read", ["all": true])["code"] == "rate_limited")
        }
        options = Self.options()
        options.rates.unknownSecretsPerMinute = 2
        try await Self.with(options) { relay in
            for _ in 0..<2 { #expect(await Self.list(relay)["ok"] == true) }
            #expect(await Self.list(relay)["code"] == "rate_limited")
            #expect(await Self.post(relay, "read", ["all": true])["code"] == "rate_limited")
        }
    }

    @Test("Maintenance removes items after their lifetime, and all without a history")
    func maintenance() async throws {
        let storage = FakeStorage()
        let day: EpochMilliseconds = 86_400_000
        let items = (0..<3).map { index in
            Self.item(at: day * EpochMilliseconds(index + 1))
        }
        storage.state.withLock { $0.history = items }
        let log = LogLines().log
        let history = History(
            storage: storage, log: log, options: History.Options(lifetime: .seconds(86_400)))
        var maintenance = Maintenance(
            storage: storage, log: log, clock: WallClock { day * 3 + 1 }, retention: .seconds(60),
            history: history, pause: { _ in })
        #expect(try await maintenance.round())
        #expect(storage.state.withLock(\.history) == [items[2]])
        #expect(history.figures.expired == 2)
        maintenance.history = nil
        #expect(try await maintenance.round())
        #expect(storage.state.withLock(\.history) == [])
    }
}
