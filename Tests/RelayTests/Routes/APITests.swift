import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Routes", .timeLimit(.minutes(2)))
struct APITests {
    @Test("Health answers without asking the storage")
    func health() async throws {
        try await RelayFixture.with { relay in
            relay.storage.state.withLock { $0.failure = .closed }
            let response = await relay.answer(Request(target: "/health"))
            #expect(response.status == 200)
            #expect(response.json == ["ok": true])
        }
    }

    @Test("Every answer is JSON with a request identifier: the caller's when it is sane")
    func identifiers() async throws {
        try await RelayFixture.with { relay in
            for (given, expected) in [("my-id.1", "my-id.1"), ("no good", nil), ("", nil)] {
                for path in ["/health", "/ready", "/nothing", "/v1/event"] {
                    let response = await relay.answer(
                        Request(target: path, headers: [("X-Request-ID", given)]))
                    let id = try #require(response.headers["X-Request-ID"])
                    if let expected {
                        #expect(id == expected)
                    } else {
                        #expect(id != given && id.count == 16)
                    }
                    #expect(response.headers["Content-Type"] == "application/json")
                    #expect(response.json.object != nil)
                }
            }
        }
    }

    @Test(
        "Every refusal of the server has a code with the same status",
        arguments: [
            Refusal.malformedRequestLine, .malformedTarget, .malformedHeader, .invalidHost, .invalidFraming,
            .malformedChunk, .notFound, .methodNotAllowed(allowed: [.get]), .headTimeout, .bodyTimeout,
            .bodyTooLarge,
            .requestLineTooLong, .unsupportedExpectation, .headersTooLarge, .unsupportedTransferCoding,
            .tunnelNotSupported, .tooManyConnections, .unsupportedVersion,
        ])
    func refusals(refusal: Refusal) async throws {
        try await RelayFixture.with { relay in
            let response = await relay.loop.run { _ in relay.api.service.refuse(refusal, nil) }
            #expect(response.status == refusal.status)
            #expect(response.json["ok"] == false)
            let code = try #require(response.json["code"]?.string)
            #expect(ErrorCode(rawValue: code)?.status == refusal.status.rawValue)
            #expect(response.json["error"]?.string?.isEmpty == false)
        }
    }

    @Test("Codes are snake case, sentences end with a full stop, and each 503 says when to come back")
    func table() {
        for code in ErrorCode.allCases {
            #expect(code.rawValue.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F })
            #expect(code.sentence.hasSuffix("."))
            #expect((code.retryAfterSeconds != nil) == (code.status == 503))
        }
    }

    @Test("A refusal names the field and what it must be")
    func sentences() async throws {
        try await RelayFixture.with { relay in
            let response = await relay.post("/v1/device/register", ["secret": .string(RelayFixture.secret)])
            #expect(response.status == 400)
            #expect(
                response.json == [
                    "ok": false,
                    "error":
                        "A field is missing. deviceToken must be hexadecimal, of even length, 2 to 400 characters.",
                    "code": "missing_field", "field": "deviceToken",
                ])
        }
    }

    @Test("A failing storage is 503 with Retry-After, and the caller hears nothing of it")
    func storageErrors() async throws {
        let lines = try await RelayFixture.with { relay in
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "disk I/O error at /var/x") }
            let body: JSON.Value = ["secret": .string(RelayFixture.secret), "deviceToken": "aabb"]
            for path in ["/v1/device/register", "/v1/device/unregister"] {
                let response = await relay.post(path, body)
                #expect(response.status == 503)
                #expect(response.headers["Retry-After"] == "5")
                #expect(response.json["code"] == "storage_unavailable")
                #expect(!String(decoding: response.body, as: UTF8.self).contains("disk"))
            }
            let response = await relay.event()
            #expect(response.status == 503)
            relay.storage.state.withLock { $0.failure = .internalFault(logDetail: "syntax error") }
            #expect(await relay.event().status == 500)
            return try await relay.lines.closed()
        }
        #expect(lines.count { $0["detail"]?.string?.contains("disk I/O error") == true } == 3)
        #expect(lines.map { $0["level"] } == ["warning", "warning", "warning", "error"])
    }

    @Test("Register inserts, then updates; the limit refuses new devices only")
    func register() async throws {
        var options = RelayFixture.Options()
        options.limits.devicesPerSecretMax = 1
        try await RelayFixture.with(options) { relay in
            let secret = JSON.Value.string(RelayFixture.secret)
            let first = await relay.post(
                "/v1/device/register", ["secret": secret, "deviceToken": "AABB", "apnsEnv": "sandbox"])
            #expect(first.status == 200)
            #expect(first.json == ["ok": true])
            relay.time.withLock { $0 += 5 }
            let second = await relay.post(
                "/v1/device/register", ["secret": secret, "deviceToken": "aabb", "bundleId": "org.example.b"])
            #expect(second.status == 200)
            let third = await relay.post("/v1/device/register", ["secret": secret, "deviceToken": "ccdd"])
            #expect(third.status == 409)
            #expect(third.json["code"] == "device_limit")
            let devices = relay.storage.state.withLock(\.devices)
            #expect(devices.count == 1)
            #expect(devices.first?.bundleID == "org.example.b")
            #expect(devices.first?.environment == .production)
            #expect(devices.first?.updatedAt == 1_800_000_000_005)
        }
    }

    @Test("Unregister answers the same whether or not the device was there")
    func unregister() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aabb", under: RelayFixture.key)
            let body: JSON.Value = ["secret": .string(RelayFixture.secret), "deviceToken": "AAbb"]
            for _ in 0..<2 {
                let response = await relay.post("/v1/device/unregister", body)
                #expect(response.status == 200)
                #expect(response.json == ["ok": true])
            }
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
        }
    }

    @Test("A device that OpenCode's relay kept with capitals is one device from its next registration on")
    func unfoldedToken() async throws {
        var options = RelayFixture.Options()
        options.limits.devicesPerSecretMax = 1
        try await RelayFixture.with(options) { relay in
            let body: JSON.Value = ["secret": .string(RelayFixture.secret), "deviceToken": "AAbb"]
            relay.storage.add("AAbb", under: RelayFixture.key)
            // Even if the old row leaves no room for another.
            #expect(await relay.post("/v1/device/register", body).status == 200)
            #expect(relay.storage.state.withLock { $0.devices.map(\.token) } == ["aabb"])
            relay.storage.add("AAbb", under: RelayFixture.key)
            #expect(await relay.post("/v1/device/register", body).status == 200)
            #expect(relay.storage.state.withLock { $0.devices.map(\.token) } == ["aabb"])
            relay.storage.add("AAbb", under: RelayFixture.key)
            #expect(await relay.post("/v1/device/unregister", body).status == 200)
            #expect(relay.storage.state.withLock { $0.devices.isEmpty })
        }
    }

    @Test("Each answer is one line with route, status, duration and the secret's prefix, and nothing secret")
    func logLines() async throws {
        let lines = try await RelayFixture.with { relay in
            let secret = JSON.Value.string(RelayFixture.secret)
            _ = await relay.post(
                "/v1/device/register", ["secret": secret, "deviceToken": "00112233445566778899aabbccddeeff"])
            _ = await relay.event(["title": "Private title", "body": "Private text", "eventID": "event-1"])
            _ = await relay.event(["sessionID": ""])
            _ = await relay.answer(Request(target: "/?secret=\(RelayFixture.secret)"))
            let lines = try await relay.lines.closed()
            for private_ in [
                RelayFixture.secret, "Private", "00112233445566778899aabbccddeeff", "org.example",
            ] {
                #expect(!relay.lines.text.contains(private_))
            }
            return lines.filter { $0["event"] == "request" }
        }
        #expect(
            lines.map { $0["route"] } == [
                "POST /v1/device/register", "POST /v1/event", "POST /v1/event", "-",
            ])
        #expect(lines.map { $0["status"]?.int } == [200, 200, 400, 404])
        #expect(lines[0]["secret"]?.string == RelayFixture.key.primary.prefix)
        #expect(lines[0]["device"] == "…ccddeeff")
        #expect(lines[1]["devices"] == 1 && lines[1]["sent"] == 1 && lines[1]["failed"] == 0)
        #expect(lines[1]["duration_ms"]?.number != nil)
        #expect(lines[2]["code"] == "invalid_field" && lines[2]["field"] == "sessionID")
    }
}

@Suite("Readiness", .timeLimit(.minutes(2)))
struct ReadyRouteTests {
    @Test("Ready when storage and credentials are")
    func ready() async throws {
        try await RelayFixture.with { relay in
            let response = await relay.answer(Request(target: "/ready"))
            #expect(response.status == 200)
            #expect(
                response.json == [
                    "ok": true,
                    "checks": [
                        "storage": "ok", "write": "ok", "apns": "ok", "queue": "ok", "clock": "ok",
                    ],
                ])
        }
    }

    @Test("Not ready without storage, or with a key that can't sign")
    func notReady() async throws {
        var options = RelayFixture.Options()
        options.credentialsFault = "SigningFailed"
        try await RelayFixture.with(options) { relay in
            relay.storage.state.withLock { $0.failure = .timeout(logDetail: "secret place") }
            let response = await relay.answer(Request(target: "/ready"))
            #expect(response.status == 503)
            #expect(response.headers["Retry-After"] == "5")
            #expect(
                response.json == [
                    "ok": false, "error": "The relay is not ready.", "code": "not_ready",
                    "checks": [
                        "storage": "unavailable", "write": "unknown", "apns": "SigningFailed",
                        "queue": "unknown", "clock": "unknown",
                    ],
                ])
        }
    }

    @Test("The storage is asked once a second, however often the route is")
    func cached() async throws {
        try await RelayFixture.with { relay in
            #expect(await relay.answer(Request(target: "/ready")).status == 200)
            relay.storage.state.withLock { $0.failure = .closed }
            #expect(await relay.answer(Request(target: "/ready")).status == 200)
            relay.pass(.seconds(1))
            #expect(await relay.answer(Request(target: "/ready")).status == 503)
        }
    }

    @Test(
        "A push that has been due for too long shows until it is gone, and never when the bound is 0",
        arguments: [Duration.seconds(300), .zero])
    func overdue(bound: Duration) async throws {
        var options = RelayFixture.Options()
        options.queueAgeMax = bound
        try await RelayFixture.with(options) { relay in
            let device = relay.storage.add("aabb", under: RelayFixture.key)
            let now = relay.time.withLock { $0 }
            let push = PendingPush(
                id: "push-1", secretHash: device.secretHash, deviceID: device.id, eventType: "complete",
                sessionID: "ses_1", payload: [], pushType: "alert", priority: 10, collapseID: nil,
                attempts: 1,
                dueAt: now, createdAt: now, expiresAt: now + 86_400_000)
            _ = try await relay.storage.enqueue([push], lease: nil, limitPerSecret: 10)
            func ready(after seconds: Int64) async -> Response {
                relay.time.withLock { $0 = now + seconds * 1000 }
                await relay.onLoop { $0.services.shared.readiness.forget() }
                return await relay.answer(Request(target: "/ready"))
            }
            #expect(await ready(after: 300).status == 200)
            let late = await ready(after: 301)
            #expect(late.status == (bound == .zero ? 200 : 503))
            let word: JSON.Value = bound == .zero ? "ok" : "overdue"
            #expect(
                late.json["checks"] == [
                    "storage": "ok", "write": "ok", "apns": "ok", "queue": word, "clock": "ok",
                ])
            relay.storage.state.withLock { $0.pending = [] }
            #expect(await ready(after: 302).status == 200)
        }
    }

    @Test("An operator's fault shows until APNs takes a push again")
    func faults() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aabb", under: RelayFixture.key, bundle: "org.example.default")
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(403, "InvalidProviderToken") }
            }
            #expect(await relay.event().json["queued"] == 1)
            let faulty = await relay.answer(Request(target: "/ready"))
            #expect(faulty.status == 503)
            #expect(faulty.json["checks"]?["apns"] == "InvalidProviderToken")
            await relay.loop.run { _ in
                relay.production.value.script = { .accepted($0) }
                relay.services.value.shared.readiness.forget()
            }
            #expect(await relay.event().json["sent"] == 1)
            #expect(await relay.answer(Request(target: "/ready")).status == 200)
        }
    }

    @Test("A defect of the relay's own pushes is logged and takes it out of no load balancer")
    func defect() async throws {
        let lines = try await RelayFixture.with { relay in
            relay.storage.add("aabb", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(400, "BadPriority") }
            }
            #expect(await relay.event().json["failed"] == 1)
            #expect(await relay.answer(Request(target: "/ready")).status == 200)
            return try await relay.lines.closed()
        }
        #expect(lines.contains { $0["event"] == "apns.defect" && $0["reason"] == "BadPriority" })
    }
}
