import APNs
import Cryptography
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("OpenChamber's servers", .timeLimit(.minutes(2)))
struct OpenChamberTests {
    private static let first = String(repeating: "ab", count: 32)
    private static let second = String(repeating: "0C", count: 32)

    private static func options() -> RelayFixture.Options {
        var options = RelayFixture.Options()
        options.openChamberApp = Topic("com.example.chamber")
        return options
    }

    /// A relay with one server, which has registered the first phone.
    private static func withPhone(
        _ options: RelayFixture.Options? = nil, _ body: (RelayFixture, OpenChamberServer) async throws -> Void
    ) async throws {
        try await RelayFixture.with(options ?? Self.options()) { relay in
            let server = try OpenChamberServer(TestKey.pem)
            let answer = await server.register(relay, first)
            #expect(answer.status == 200 && answer.json == ["ok": true])
            try await body(relay, server)
        }
    }

    @Test("Without an app of the operator's, both paths answer 404, whatever comes")
    func off() async throws {
        try await RelayFixture.with { relay in
            let server = try OpenChamberServer(TestKey.pem)
            #expect(await server.register(relay, Self.first).status == 404)
            let answer = await server.send(relay, [Self.first])
            #expect(answer.status == 404 && answer.json["error"] == "not_found")
            #expect(await relay.post("/v1/push/send", []).status == 404)
            #expect(relay.storage.state.withLock(\.devices).isEmpty)
        }
    }

    @Test("What Node's WebCrypto signed registers a phone and rings it as OpenChamber's own relay does")
    func node() async throws {
        let jwk: JSON.Value = [
            "kty": "EC", "crv": "P-256", "x": "hGoIjewQMlTW9YQu1HzJFOdhaJHxrsLyV0wlWsnjQhg",
            "y": "1HFTk0RGUKmwMCg1GLpnMe_cKDHOHp7qFYLAG0ddhHM",
        ]
        try await RelayFixture.with(Self.options()) { relay in
            let registered = await relay.post(
                "/v1/push/register-token",
                [
                    "token": .string(Self.first), "platform": "ios", "publicKeyJwk": jwk,
                    "ts": .int(OpenChamberServer.now),
                    "sig":
                        "2ibsC5HpmrDU3Q7xAwQzNBs_chPFPZgl8OLx_hMk6TjlcV6K_uEeZ5tssJMKCqtnMJSFa1AlZy9Ka_rUJbnx1g",
                ])
            #expect(registered.status == 200 && registered.json == ["ok": true])
            let answer = await relay.post(
                "/v1/push/send",
                [
                    "tokens": [.string(Self.first), .string(Self.second)],
                    "title": "Agent response is ready – ✓", "body": "My session", "badge": 2,
                    "collapseId": "ready-ses_1", "data": ["sessionId": "ses_1"], "publicKeyJwk": jwk,
                    "ts": .int(OpenChamberServer.now),
                    "sig":
                        "BrHZXoUTzcKpevE3_Fd5dZWtJm4POcAgPqRnqhz6fuE3Avua2Eo5qzxXkmbJwQlYQouVie6ATi1I3SWkBoZUbw",
                ])
            #expect(
                answer.json == [
                    "results": [
                        ["token": .string(Self.first), "ok": true, "drop": false],
                        ["token": .string(Self.second), "ok": false, "drop": true],
                    ]
                ])
            let push = try #require(await relay.onLoop { $0.production.pushes.first })
            #expect(await relay.onLoop { $0.sandbox.pushes.isEmpty })
            #expect(push.deviceToken.text == Self.first)
            #expect(push.notification.topic.text == "com.example.chamber")
            #expect(push.notification.collapseID?.text == "ready-ses_1")
            let payload = try JSON.parse(push.notification.payload, maxBytes: 10_000)
            #expect(payload["sessionId"] == "ses_1")
            let aps = payload["aps"]
            #expect(aps?["alert"] == ["title": "Agent response is ready – ✓", "body": "My session"])
            #expect(aps?["badge"] == 2 && aps?["sound"] == "default" && aps?["mutable-content"] == 1)
            #expect(aps?["thread-id"] == "ready-ses_1")
        }
    }

    @Test("APNs says where a phone is, once for all pushes, and env doesn't matter")
    func environments() async throws {
        try await Self.withPhone { relay, server in
            await relay.onLoop { $0.sandbox.script = { _ in .rejected(400, "BadDeviceToken") } }
            #expect(await server.send(relay, [Self.first], ["env": "sandbox"], title: "1").status == 200)
            #expect(await relay.onLoop { $0.production.pushes.count == 1 && $0.sandbox.pushes.isEmpty })
            await relay.onLoop {
                $0.sandbox.script = { push in .accepted(apnsID: push.id, uniqueID: nil) }
                $0.production.script = { _ in .rejected(400, "BadDeviceToken") }
            }
            for title in ["2", "3"] {
                let answer = await server.send(relay, [Self.first], ["env": "production"], title: title)
                #expect(answer.json["results"] == [Self.kept(Self.first)])
            }
            #expect(await relay.onLoop { $0.production.pushes.count == 2 && $0.sandbox.pushes.count == 2 })
            let dev = await server.send(relay, [Self.first], ["env": "dev"])
            #expect(dev.status == 400 && dev.json["message"] == "env must be sandbox or production.")
        }
    }

    @Test("A title with half a surrogate pair rings with the U+FFFD that Node signs for it")
    func halfPair() async throws {
        try await Self.withPhone { relay, server in
            let body = server.message([Self.first], title: "Cut \u{FFFD}", at: OpenChamberServer.now)
            let text = String(decoding: body.encoded(), as: UTF8.self)
            let sent = text.replacing("\u{FFFD}", with: "\\ud83d")
            #expect(sent != text)
            let answer = await relay.answer(
                Request(
                    method: .post, target: "/v1/push/send", headers: [], body: Array(sent.utf8)))
            #expect(answer.json["results"] == [Self.kept(Self.first)])
            #expect(await relay.lastPayload["aps"]?["alert"]?["title"] == "Cut \u{FFFD}")
        }
    }

    @Test("Each server rings only the phones that it registered itself, also the same one")
    func servers() async throws {
        try await Self.withPhone { relay, server in
            let other = try OpenChamberServer(TestKey.secondPEM)
            let stranger = await other.send(relay, [Self.first])
            #expect(stranger.json["results"] == [Self.dropped(Self.first)])
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
            // Nobody can take a phone over: after this it belongs to both servers.
            #expect(await other.register(relay, Self.first).status == 200)
            #expect(await other.send(relay, [Self.first]).json["results"] == [Self.kept(Self.first)])
            let own = await server.send(relay, [Self.first])
            #expect(own.json["results"] == [Self.kept(Self.first)])
            #expect(relay.storage.state.withLock(\.devices).count == 2)
        }
    }

    @Test("A signed text rings once, whatever is sent with it again")
    func replay() async throws {
        try await Self.withPhone { relay, server in
            let body = server.message([Self.first], title: "Done", at: OpenChamberServer.now)
            let first = await relay.post("/v1/push/send", body)
            relay.pass(.seconds(299))
            let again = await relay.post("/v1/push/send", body)
            #expect(first.status == 200 && again.body == first.body)
            // Other valid signatures of the same text: a new one, and the one that anyone can make with order - s.
            let resigned = server.message([Self.first], title: "Done", at: OpenChamberServer.now)
            var turned = try #require(body.object)
            turned["sig"] = .string(try OpenChamberServer.turned(try #require(body["sig"]?.string)))
            for other in [resigned, .object(turned)] {
                #expect(other["sig"] != body["sig"])
                #expect(await relay.post("/v1/push/send", other).body == first.body)
            }
            for (name, value): (String, JSON.Value) in [
                ("body", "Other"), ("badge", 9), ("data", ["sessionId": "ses_2"]), ("collapseId", "c"),
            ] {
                var object = try #require(body.object)
                object[name] = value
                let answer = await relay.post("/v1/push/send", .object(object))
                #expect(answer.status == 409 && answer.json["error"] == "event_conflict", "\(name)")
            }
            #expect(await relay.onLoop { $0.production.pushes.count == 1 })
            #expect(await server.send(relay, [Self.first], title: "Next").status == 200)
            #expect(await relay.onLoop { $0.production.pushes.count == 2 })
        }
    }

    @Test("What the signature covers can't be changed, and it is valid for five minutes")
    func tampering() async throws {
        try await Self.withPhone { relay, server in
            #expect(await server.register(relay, Self.second).status == 200)
            let body = try #require(
                server.message([Self.first], title: "Done", at: OpenChamberServer.now).object)
            let sig = try #require(body["sig"]?.string)
            let (other, der) = (try OpenChamberServer(TestKey.secondPEM), String(repeating: "A", count: 96))
            let x = try #require(server.jwk["x"])
            let short: JSON.Value = ["kty": "EC", "crv": "P-256", "x": x, "y": "AA"]
            let off: JSON.Value = ["kty": "EC", "crv": "P-256", "x": x, "y": x]
            let texts: [(String, JSON.Value)] = [
                ("title", "Done."), ("tokens", [.string(Self.second)]),
                ("tokens", [.string(Self.first), .string(Self.second)]),
                ("tokens", [.string(Self.first.uppercased())]), ("ts", .int(OpenChamberServer.now + 1)),
                ("ts", .int(Int.max)), ("ts", .int(Int.min)), ("publicKeyJwk", other.jwk),
                ("publicKeyJwk", off), ("sig", .string(String(sig.reversed()))),
            ]
            let forms: [(String, JSON.Value)] = [
                ("sig", .string(der)), ("sig", .string(String(sig.dropLast(2)))), ("sig", 1), ("ts", "now"),
                ("publicKeyJwk", ["kty": "EC", "crv": "P-384"]), ("publicKeyJwk", ""),
                ("publicKeyJwk", short),
            ]
            for (status, changes) in [(401, texts), (400, forms)] {
                for (name, value) in changes {
                    var changed = body
                    changed[name] = value
                    let answer = await relay.post("/v1/push/send", .object(changed))
                    #expect(answer.status.rawValue == status, "\(name) \(value)")
                    #expect(answer.json["error"]?.string != nil)
                }
            }
            for (shift, status) in [(-300_001, 401), (300_001, 401), (-300_000, 200), (300_000, 200)] {
                let aged = server.message([Self.first], title: "\(shift)", at: OpenChamberServer.now + shift)
                #expect(await relay.post("/v1/push/send", aged).status.rawValue == status, "\(shift)")
            }
            #expect(await relay.onLoop { $0.production.pushes.count == 2 })
            // Operators see the reason; the log contains neither signature nor text.
            let lines = try await relay.lines.closed()
            let details = Set(lines.compactMap { $0["detail"]?.string })
            #expect(
                details == [
                    "the signature is wrong", "the signature's time is off by more than five minutes",
                ])
            #expect(!relay.lines.text.contains(sig) && !relay.lines.text.contains("Done"))
        }
    }

    @Test("A signature that registers a phone doesn't ring it, and Android's tokens aren't taken")
    func purposes() async throws {
        try await Self.withPhone { relay, server in
            #expect(await server.send(relay, [Self.first], title: "ios").status == 400)
            let text = "\(Self.second).android"
            let answer = await relay.post(
                "/v1/push/register-token",
                server.signed(
                    text, ["token": .string(Self.second), "platform": "android"], at: OpenChamberServer.now))
            #expect(answer.status == 400)
            // Signed as in versions before Android.
            let old = server.signed(Self.second, ["token": .string(Self.second)], at: OpenChamberServer.now)
            #expect(await relay.post("/v1/push/register-token", old).status == 200)
        }
    }

    @Test("A message has 1 to 100 tokens, a title, and what a notification may have")
    func bounds() async throws {
        try await Self.withPhone { relay, server in
            let tokens = (0..<101).map { "abcd" + String(10_000 + $0) + "0" }
            #expect(await server.send(relay, tokens).status == 400)
            let most = await server.send(relay, [Self.first] + tokens.prefix(99))
            #expect(most.status == 200 && most.json["results"]?.array?.count == 100)
            // Tokens of the maximum length for APNs.
            let long = (100..<200).map { String(repeating: "ab", count: 78) + "0" + String($0) }
            let longest = await server.send(relay, long)
            #expect(longest.status == 200 && longest.json["results"]?.array?.count == 100)
            #expect(await server.send(relay, []).status == 400)
            #expect(await server.send(relay, ["no token"]).status == 400)
            #expect(await server.send(relay, [Self.first], title: "").status == 400)
            for (name, value): (String, JSON.Value) in [
                ("badge", -1), ("badge", "unread"), ("data", ["aps": 1]), ("data", "text"), ("body", 1),
                ("collapseId", .string(String(repeating: "c", count: 65))),
            ] {
                #expect(await server.send(relay, [Self.first], [name: value]).status == 400, "\(name)")
            }
        }
    }

    @Test("A phone that APNs no longer knows is to be dropped; one that APNs can't take now rings later")
    func outcomes() async throws {
        try await Self.withPhone { relay, server in
            await relay.onLoop { $0.production.script = { _ in .rejected(503, "ServiceUnavailable") } }
            let later = await server.send(relay, [Self.first], title: "Later")
            #expect(later.json["results"] == [Self.kept(Self.first)])
            #expect(relay.pending.count == 1)
            await relay.onLoop { $0.production.script = { _ in .rejected(400, "BadTopic") } }
            let failed = await server.send(relay, [Self.first], title: "Failed")
            #expect(
                failed.json["results"] == [["token": .string(Self.first), "ok": false, "drop": false]])
            await relay.onLoop { $0.production.script = { _ in .rejected(410, "Unregistered") } }
            relay.pass(.seconds(1))
            let dead = await server.send(relay, [Self.first], title: "Dead")
            #expect(dead.json["results"] == [Self.dropped(Self.first)])
            let pushes = await relay.onLoop { $0.production.pushes.count }
            let gone = await server.send(relay, [Self.first], title: "Gone")
            #expect(gone.json["results"] == [Self.dropped(Self.first)])
            #expect(await relay.onLoop { $0.production.pushes.count } == pushes)
        }
    }

    @Test("Nobody can name a server's phones by anything but its signature")
    func secrets() async throws {
        try await Self.withPhone { relay, server in
            let secret = SignedRequest.secret(of: server.publicKey)
            #expect(
                relay.storage.state.withLock(\.devices).map(\.secretHash)
                    == [SecretHasher().key(of: secret).primary])
            // Headers contain no NUL, and JSON's texts are UTF-8 (docs/operate/threats.md).
            #expect(secret.bytes.contains(0) && String(validating: secret.bytes, as: UTF8.self) == nil)
            for guess in [
                String(decoding: secret.bytes, as: UTF8.self),
                String(String.UnicodeScalarView(secret.bytes.map { Unicode.Scalar($0) })),
                Digest256(of: secret.bytes).hex, Base64.urlText(server.publicKey),
            ] {
                let answer = await relay.event(["secret": .string(guess)])
                #expect(answer.json["sent"] == 0 || answer.status == 400)
            }
            #expect(await relay.onLoop { $0.production.pushes.isEmpty && $0.sandbox.pushes.isEmpty })
        }
    }

    private static func kept(_ token: String) -> JSON.Value {
        ["token": .string(token), "ok": true, "drop": false]
    }

    private static func dropped(_ token: String) -> JSON.Value {
        ["token": .string(token), "ok": false, "drop": true]
    }
}
