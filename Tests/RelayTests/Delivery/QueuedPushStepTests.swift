import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Queued pushes are checked again before they are sent", .timeLimit(.minutes(2)))
struct QueuedPushStepTests {
    private static let start = RelayFixture.start
    /// Quiet hours that include the fixture's time, 2027-01-15T08:00Z, and end two hours later.
    private static let quiet =
        #"{"quietHours":{"from":"07:00","to":"10:00","timeZone":"UTC","allowPermission":false}}"#
    private static let later =
        #"{"quietHours":{"from":"07:00","to":"10:00","timeZone":"UTC","mode":"later"}}"#

    private static func step(
        _ payload: String = #"{"aps":{"alert":{"title":"t"},"sound":"default"},"body":{}}"#,
        kind: String? = "complete", type: String = "alert", preferences: String? = nil,
        acknowledged: Bool = false, expiresIn: EpochMilliseconds = 86_400_000
    ) -> QueuedPushStep {
        let device = Device(
            id: "d", secretHash: RelayFixture.key.primary, token: "aa00", bundleID: "org.example.a",
            environment: .production, createdAt: 0, updatedAt: 0,
            details: DeviceDetails(preferences: preferences))
        let push = PendingPush(
            id: "p", secretHash: device.secretHash, deviceID: "d", eventType: "complete", sessionID: "",
            payload: Array(payload.utf8), pushType: type, priority: 10, collapseID: nil, attempts: 1,
            dueAt: start, createdAt: start, expiresAt: start + expiresIn, eventID: "e", kind: kind)
        let claimed = ClaimedPush(push: push, device: device, isAcknowledged: acknowledged)
        let zones = TimeZones(directory: "/usr/share/zoneinfo")
        return QueuedPushStep(
            claimed, to: device, at: start, expiresAt: start + expiresIn, zone: zones.zone)
    }

    private static func payload(_ step: QueuedPushStep) -> String? {
        guard case .send(let push) = step else { return nil }
        return String(decoding: push.payload, as: UTF8.self)
    }

    @Test("Nothing changes for a device without preferences, or with others")
    func unchanged() {
        let usual = Self.payload(Self.step())
        #expect(usual?.contains("sound") == true)
        #expect(Self.payload(Self.step(preferences: #"{"eventTypes":["complete"]}"#)) == usual)
        #expect(Self.payload(Self.step(kind: nil, preferences: #"{"eventTypes":["error"]}"#)) == usual)
        #expect(Self.payload(Self.step(preferences: "not JSON")) == usual)
    }

    @Test("An acknowledged event and a kind that the device switched off end the push")
    func over() {
        #expect(Self.step(acknowledged: true) == .over(reason: "Acknowledged"))
        #expect(Self.step(preferences: #"{"eventTypes":["error"]}"#) == .over(reason: "Muted"))
    }

    @Test("In quiet hours the push loses its sound; one that is only a sound ends")
    func quiet() {
        let quiet = Self.payload(Self.step(preferences: Self.quiet))
        #expect(quiet == #"{"aps":{"alert":{"title":"t"},"interruption-level":"passive"},"body":{}}"#)
        let sound = #"{"aps":{"sound":"default"}}"#
        #expect(Self.step(sound, preferences: Self.quiet) == .over(reason: "Muted"))
        // A background push makes no sound.
        let background = #"{"aps":{"content-available":1}}"#
        #expect(
            Self.payload(Self.step(background, type: "background", preferences: Self.quiet)) == background)
    }

    @Test("A quiet payload that is too large for the level has its own")
    func large() throws {
        let title = String(repeating: "x", count: 4_096 - 49)
        let payload = #"{"aps":{"alert":{"title":"\#(title)"},"sound":"s"}}"#
        let quiet = try #require(Self.payload(Self.step(payload, preferences: Self.quiet)))
        #expect(!quiet.contains("passive") && !quiet.contains("sound") && quiet.utf8.count <= 4_096)
    }

    @Test("Quiet hours for later postpone the push, unless it would expire: then it goes quietly")
    func later() {
        let due = Self.start + Bounds.queuedQuietLook.inMilliseconds
        #expect(Self.step(preferences: Self.later) == .later(dueAt: due))
        #expect(
            Self.payload(Self.step(preferences: Self.later, expiresIn: 60_000))?.contains("passive") == true)
        #expect(
            Self.payload(Self.step(kind: "permission", preferences: Self.later))?.contains("sound") == true)
    }

    // MARK: Through the routes

    /// Sends an event that APNs can't accept now, changes something, and lets the worker send what is due.
    private static func whileWaiting(
        _ members: JSON.Value, _ change: (RelayFixture) async throws -> Void,
        _ check: (RelayFixture) async throws -> Void
    ) async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(503, "ServiceUnavailable") }
            }
            let response = await relay.event(members).json
            #expect(response["queued"] == 1)
            await relay.loop.run { _ in relay.production.value.script = { .accepted($0) } }
            try await change(relay)
            relay.pass(.seconds(60))
            try await relay.withWorker { _ in
                #expect(await eventually { relay.pending.allSatisfy { $0.lease != nil } })
            }
            await relay.writeEnds()
            try await check(relay)
        }
    }

    private static func expectEnd(_ reason: String, _ relay: RelayFixture) async {
        #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        #expect(relay.pending.isEmpty)
        let rows = relay.storage.state.withLock(\.deliveries)
        #expect(rows.map(\.error) == [reason] && rows.map(\.status) == [.failed])
    }

    @Test(
        "A queued push doesn't ring after its event was acknowledged or replied to",
        arguments: ["ack", "reply"])
    func acknowledged(_ route: String) async throws {
        try await Self.whileWaiting(["eventID": "e"]) { relay in
            let body: JSON.Value = [
                "secret": .string(RelayFixture.secret), "eventID": "e", "action": "once",
            ]
            #expect(await relay.post("/v1/" + route, body).status.rawValue == 200)
        } _: { relay in
            await Self.expectEnd("Acknowledged", relay)
        }
    }

    @Test("A queued push of another event rings")
    func other() async throws {
        try await Self.whileWaiting(["eventID": "e"]) { relay in
            #expect(await relay.event(["eventID": "f"]).json["sent"] == 1)
            let other: JSON.Value = ["secret": .string(RelayFixture.secret), "eventID": "f"]
            #expect(await relay.post("/v1/ack", other).status.rawValue == 200)
        } _: { relay in
            #expect(await relay.onLoop { $0.production.pushes.count } == 3)
            #expect(relay.pending.isEmpty)
        }
    }

    @Test("Event types that the device switched off while the push waited count")
    func muted() async throws {
        try await Self.whileWaiting(["eventType": "error"]) { relay in
            let body: JSON.Value = [
                "secret": .string(RelayFixture.secret), "deviceToken": "aa00",
                "bundleId": "org.example.default",
                "preferences": ["eventTypes": ["permission"]],
            ]
            #expect(await relay.post("/v1/device/register", body).status.rawValue == 200)
        } _: { relay in
            await Self.expectEnd("Muted", relay)
        }
    }
}
