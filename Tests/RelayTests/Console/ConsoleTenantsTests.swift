import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Tenants, pushes and the queue in the console", .timeLimit(.minutes(2)))
struct ConsoleTenantsTests {
    private static let now: EpochMilliseconds = 1_800_000_000_000
    private static let key = SecretHasher().key(of: Secret("a-secret-of-the-test"))
    private static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    private static let bearer = ("Authorization", "Bearer 0123456789abcdef")
    private static let text = "text that nobody may read"
    private static let digest = Digest256(of: [7])

    private static func id(_ milliseconds: EpochMilliseconds) -> UUIDv7 {
        var generator = SystemRandomNumberGenerator()
        return UUIDv7(at: now + milliseconds, using: &generator)
    }

    /// A tenant with a device, a failed push, a waiting push, an acknowledged event and a schedule.
    private struct Rows {
        let storage = FakeStorage()
        let failed = ConsoleTenantsTests.id(1)
        let queued = ConsoleTenantsTests.id(2)
        let hostile = ConsoleFixture.hostile.replacing("\u{0}", with: "")

        init() async throws {
            let (key, now) = (ConsoleTenantsTests.key, ConsoleTenantsTests.now)
            let device = ConsoleTenantsTests.id(0)
            _ = try await storage.register(
                Registration(
                    newID: device, token: ConsoleTenantsTests.token, bundleID: "com.example.app",
                    environment: .production, at: now), under: key, deviceLimit: 5)
            try await storage.append(
                [
                    Delivery(
                        id: failed.text, secretHash: key.primary, eventType: hostile, sessionID: text,
                        status: .failed, error: hostile, createdAt: now + 9, deviceID: device.text,
                        eventID: "event 0")
                ], isRepeated: false)
            let push = PendingPush(
                id: queued.text, secretHash: key.primary, deviceID: device.text, eventType: "complete",
                sessionID: text, payload: Array(text.utf8), pushType: "alert", priority: 10,
                collapseID: nil, attempts: 2, dueAt: now + 60_000, createdAt: now,
                expiresAt: now + 900_000, eventID: "event 1")
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 5)
            let claim = EventClaim(
                id: ConsoleTenantsTests.id(3), key: key, eventID: "event 1",
                content: Digest256(of: [1]), at: now, leaseUntil: now + 1_000)
            _ = try await storage.claim(claim)
            let answer = """
                {"ok":true,"sent":0,"failed":1,"queued":1,"muted":1,"deliveries":[
                {"device":"…991de8f0","status":"queued","apnsID":"\(queued.text)","reason":"ServiceUnavailable"},
                {"device":"…00000001","status":"muted"}]}
                """
            _ = try await storage.complete(claim, answer: Array(answer.utf8))
            _ = try await storage.acknowledge(
                EventName("event 1", of: key), reply: EventReply(action: "once", text: text), at: now + 5)
            let schedule = Schedule(
                id: ConsoleTenantsTests.id(4), secretHash: key.primary, kind: .schedule, name: text,
                content: "{\"title\":\"\(text)\"}", nextAt: now + 5_000, lateBy: 1_000, createdAt: now)
            _ = try await storage.create(schedule, under: key, limit: 5)
            let token = AccessToken(
                id: ConsoleTenantsTests.id(5), digest: ConsoleTenantsTests.digest, secretHash: key.primary,
                scope: .send, name: hostile, createdAt: now)
            _ = try await storage.create(token, under: key, limit: 5)
        }

        private var text: String { ConsoleTenantsTests.text }
    }

    private func snapshot() -> MetricsSnapshot {
        var snapshot = MetricsSnapshot()
        snapshot.time = Self.now + 10
        snapshot.loops.tenants.note(
            Self.key.primary, isEvent: true, isLimited: true, at: Self.now)
        return snapshot
    }

    /// The JSON response, which must never contain secrets.
    private func ask(
        _ target: String, of storage: any Storage, hasToken: Bool = true, status: Status = 200
    ) async throws -> JSON.Value {
        let router = ConsoleFixture.router(
            snapshot(), token: hasToken ? "0123456789abcdef" : nil, storage: storage)
        let response = try await ConsoleFixture.answer(target, [Self.bearer], of: router)
        #expect(response.status == status, "\(target)")
        let body = String(decoding: response.body, as: UTF8.self)
        for hidden in [Self.text, Self.token, Self.digest.hex, "a-secret-of-the-test"] {
            #expect(!body.contains(hidden), "\(target)")
        }
        if !hasToken { #expect(!body.contains(Self.key.primary.hex), "\(target)") }
        return try ConsoleFixture.json(response)
    }

    @Test("Recent, blocked and found tenants are listed by their hashes")
    func list() async throws {
        let rows = try await Rows()
        let hash = Self.key.primary
        _ = try await rows.storage.block(
            BlockedSecret(secretHash: hash, createdAt: Self.now, note: rows.hostile), limit: 5)
        let list = try await ask("/v1/admin/tenants?secret=" + hash.prefix, of: rows.storage)
        let recent = try #require(list["recent"]?.array?.first)
        #expect(recent["secretHash"]?.string == hash.hex && recent["isBlocked"]?.bool == true)
        #expect(recent["events"]?.int == 1 && recent["limited"]?.int == 1)
        #expect(list["blocked"]?.array?.first?["note"]?.string == rows.hostile)
        #expect(list["found"]?.array?.first?["secret"]?.string == hash.prefix)
        #expect(list["canChange"]?.bool == true)
        let none = try await ask("/v1/admin/tenants?secret=0123456789", of: rows.storage)
        #expect(none["found"]?.array?.isEmpty == true)
        _ = try await ask("/v1/admin/tenants?secret=%3Cb%3E", of: rows.storage, status: 400)
    }

    @Test("Without a token there are no whole hashes, so nothing can be changed by what is shown")
    func withoutToken() async throws {
        let rows = try await Rows()
        let prefix = Self.key.primary.prefix
        for target in ["tenants?secret=" + prefix, "tenant?secret=" + prefix, "push?id=event%201", "queue"] {
            let shown = try await ask("/v1/admin/" + target, of: rows.storage, hasToken: false)
            #expect(shown["canChange"]?.bool != true && shown["next"] == nil)
        }
    }

    @Test("A tenant's devices, results, queue and schedules are shown without tokens and texts")
    func one() async throws {
        let rows = try await Rows()
        let shown = try await ask("/v1/admin/tenant?secret=" + Self.key.primary.prefix, of: rows.storage)
        #expect(shown["devices"]?.array?.first?["device"]?.string == "…991de8f0")
        let result = try #require(shown["deliveries"]?.array?.first)
        #expect(result["status"]?.string == "failed" && result["reason"]?.string == rows.hostile)
        #expect(result["eventType"]?.string == rows.hostile)
        #expect(shown["waiting"]?.array?.first?["attempts"]?.int == 2)
        #expect(shown["schedules"]?.array?.count == 1 && shown["block"] == nil)
        let token = try #require(shown["tokens"]?.array?.first)
        #expect(token["name"]?.string == rows.hostile && token["scope"] == "send")
        #expect(token["createdAt"]?.int == Int(Self.now) && token["usedAt"] == nil)
        let unknown = String(repeating: "a", count: 12)
        let error = try await ask("/v1/admin/tenant?secret=" + unknown, of: rows.storage, status: 404)
        #expect(error["error"]?.string?.contains("no secret") == true)
        _ = try await ask("/v1/admin/tenant", of: rows.storage, status: 400)
    }

    @Test("An event is followed from its response to the queue and its acknowledgement")
    func event() async throws {
        let rows = try await Rows()
        let shown = try await ask("/v1/admin/push?id=event%201", of: rows.storage)
        let found = try #require(shown["found"]?.array?.first)
        #expect(found["event"]?["acknowledgedAt"]?.int == Int(Self.now + 5))
        #expect(found["event"]?["repliedAt"]?.int == Int(Self.now + 5))
        let push = try #require(found["pushes"]?.array?.first)
        #expect(push["id"]?.string == rows.queued.text && push["receivedAt"]?.int == Int(Self.now + 2))
        #expect(push["response"]?.string == "queued")
        #expect(push["responseReason"]?.string == "ServiceUnavailable")
        #expect(push["waiting"]?["attempts"]?.int == 2 && push["ended"] == nil)
        #expect(found["unmade"]?.array?.first?["response"]?.string == "muted")
    }

    @Test(
        "A push is found by its apns-id, by its event if the receipt is gone, and by the end of its device's token",
        arguments: ["apns-id", "event%200", "991de8f0", "…991de8f0", "991DE8F0"])
    func push(_ name: String) async throws {
        let rows = try await Rows()
        let id = name == "apns-id" ? rows.failed.text.uppercased() : name.replacing("…", with: "%E2%80%A6")
        let target = "/v1/admin/push?id=\(id)&secret=" + Self.key.primary.hex
        let found = try await ask(target, of: rows.storage)["found"]?.array?.first
        let pushes = try #require(found?["pushes"]?.array)
        #expect(pushes.count == (name == "apns-id" || name == "event%200" ? 1 : 2))
        let failed = pushes.first { $0["id"]?.string == rows.failed.text }
        #expect(failed?["ended"]?["status"]?.string == "failed")
        #expect(failed?["device"]?.string == "…991de8f0")
    }

    @Test("What isn't there isn't found, and what can't be an identifier is refused")
    func nothing() async throws {
        let rows = try await Rows()
        let shown = try await ask("/v1/admin/push?id=8f0", of: rows.storage)
        #expect(shown["found"]?.array?.isEmpty == true && shown["searched"]?.int == 1)
        _ = try await ask("/v1/admin/push", of: rows.storage, status: 400)
        _ = try await ask("/v1/admin/push?id=a%00b", of: rows.storage, status: 400)
        _ = try await ask(
            "/v1/admin/push?id=" + String(repeating: "a", count: 5_000), of: rows.storage, status: 400)
    }

    @Test("The queue and the schedules are shown, page by page")
    func queue() async throws {
        let rows = try await Rows()
        let shown = try await ask("/v1/admin/queue", of: rows.storage)
        let push = try #require(shown["pushes"]?.array?.first)
        #expect(push["secretHash"]?.string == Self.key.primary.hex && push["attempts"]?.int == 2)
        #expect(shown["nextScheduleDue"]?.int == Int(Self.now + 5_000))
        #expect(shown["schedules"]?.array?.first?["kind"]?.string == "schedule")
        let after = WaitingCursor(
            dueAt: Self.now + 60_000, secretHash: Self.key.primary, id: rows.queued.text
        ).text
        let rest = try await ask("/v1/admin/queue?after=" + after, of: rows.storage)
        #expect(rest["pushes"]?.array?.isEmpty == true)
    }

    @Test("A database that is away gives an error in words, and the overview still answers")
    func away() async throws {
        let rows = try await Rows()
        rows.storage.state.withLock { $0.failure = .unavailable(logDetail: "gone") }
        let targets = [
            "tenants", "tenants?secret=0123456789", "tenant?secret=" + Self.key.primary.hex,
            "push?id=event%201", "queue",
        ]
        for target in targets {
            let shown = try await ask("/v1/admin/" + target, of: rows.storage, status: 503)
            #expect(shown["error"]?.string == "The database is unavailable.", "\(target)")
        }
        _ = try await ask("/v1/admin/overview", of: rows.storage)
    }

    @Test("The tenants of the latest requests are kept, with a bound")
    func recent() {
        var recent = RecentTenants()
        for place in 0..<10 * Bounds.recentTenantsMax {
            let hash = SecretHasher().key(of: Secret("secret \(place)")).primary
            recent.note(hash, isEvent: true, isLimited: false, at: EpochMilliseconds(place))
            #expect(recent.activities.count < 2 * Bounds.recentTenantsMax)
        }
        let newest = recent.newestFirst
        #expect(newest.count == Bounds.recentTenantsMax)
        #expect(newest.first?.activity.at == EpochMilliseconds(10 * Bounds.recentTenantsMax - 1))
        var other = RecentTenants()
        if let hash = newest.first?.hash { other.note(hash, isEvent: false, isLimited: true, at: 1) }
        recent.add(other)
        let merged = recent.newestFirst.first?.activity
        #expect(merged?.events == 1 && merged?.others == 1 && merged?.limited == 1)
    }
}
