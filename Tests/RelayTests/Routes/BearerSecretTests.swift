import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("The secret in a header", .timeLimit(.minutes(2)))
struct BearerSecretTests {
    private static let secret = RelayFixture.secret

    /// A request to each route, complete except for the secret.
    private static let requests: [(path: String, body: JSON.Value)] = [
        ("/v1/device/register", ["deviceToken": "aa00"]),
        ("/v1/device/list", [:]),
        ("/v1/event", ["eventType": "complete", "sessionID": "ses_1"]),
        ("/v1/notify", ["notification": ["title": "t"]]),
        ("/v1/history/list", [:]),
        ("/v1/history/read", ["all": true]),
        ("/v1/device/unregister", ["deviceToken": "aa00"]),
    ]

    /// Options with which all routes work.
    private static var options: RelayFixture.Options {
        var options = RelayFixture.Options()
        options.history = History.Options(lifetime: .seconds(86_400))
        return options
    }

    private func post(
        _ relay: RelayFixture, _ request: (path: String, body: JSON.Value), secret: String? = nil,
        authorization: String?
    ) async -> Response {
        var body = request.body.object ?? JSON.Object()
        body["secret"] = secret.map { .string($0) }
        return await relay.answer(
            Request(
                method: .post, target: request.path,
                headers: authorization.map { [("Authorization", $0)] } ?? [],
                body: JSON.Value.object(body).encoded()))
    }

    @Test("Every route takes it instead of the body's, whatever the case of Bearer")
    func instead() async throws {
        try await RelayFixture.with(Self.options) { relay in
            for request in Self.requests {
                for header in ["Bearer \(Self.secret)", "bearer \(Self.secret)", "BEARER  \(Self.secret)"] {
                    let answer = await post(relay, request, authorization: header)
                    #expect(answer.status == 200, "\(request.path): \(answer.json)")
                }
            }
            #expect(await relay.onLoop { $0.production.pushes.count } == 6)
        }
    }

    @Test("Both are taken when they are equal, and refused when they differ", arguments: requests.indices)
    func both(index: Int) async throws {
        try await RelayFixture.with(Self.options) { relay in
            let request = Self.requests[index]
            let header = "Bearer \(Self.secret)"
            let equal = await post(relay, request, secret: Self.secret, authorization: header)
            #expect(equal.status == 200)
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "must not be asked") }
            let other = await post(relay, request, secret: Self.secret + "x", authorization: header)
            #expect(other.status == 400)
            #expect(
                other.json == [
                    "ok": false,
                    "error":
                        "A field is not valid. The secret in the body differs from the one in the Authorization header.",
                    "code": "invalid_field", "field": "secret",
                ])
        }
    }

    @Test("A bad one is refused, also beside a good one in the body")
    func bad() async throws {
        try await RelayFixture.with(Self.options) { relay in
            for request in Self.requests {
                for token in ["", String(repeating: "a", count: 513)] {
                    for secret in [nil, Self.secret] {
                        let answer = await post(
                            relay, request, secret: secret, authorization: "Bearer \(token)")
                        #expect(answer.status == 400 && answer.json["field"] == "secret", "\(answer.json)")
                    }
                }
            }
        }
    }

    @Test("Other schemes are none of the relay's business", arguments: ["Basic YTpi", "Bearer1 x", "x", ""])
    func otherSchemes(header: String) async throws {
        try await RelayFixture.with(Self.options) { relay in
            for request in Self.requests {
                let given = await post(relay, request, secret: Self.secret, authorization: header)
                #expect(given.status == 200)
                let missing = await post(relay, request, authorization: header)
                #expect(missing.json["code"] == "missing_field" && missing.json["field"] == "secret")
            }
        }
    }

    @Test("The registration key is never a secret, and a registration has its secret in the body")
    func registrationKey() async throws {
        let key = String(repeating: "k", count: 32)
        var options = Self.options
        options.registration = .key(Secret(key))
        try await RelayFixture.with(options) { relay in
            for request in Self.requests {
                let given = await post(relay, request, secret: Self.secret, authorization: "Bearer \(key)")
                #expect(given.status == 200, "\(request.path)")
                let missing = await post(relay, request, authorization: "Bearer \(key)")
                #expect(missing.json["code"] == "missing_field", "\(request.path)")
                let isRegister = request.path == "/v1/device/register"
                let secret = await post(relay, request, authorization: "Bearer \(Self.secret)")
                #expect(secret.status.rawValue == (isRegister ? 401 : 200), "\(request.path)")
            }
        }
    }

    @Test("The limits count one secret, wherever it comes from")
    func limits() async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(eventsPerMinute: 2)
        try await RelayFixture.with(options) { relay in
            let event = Self.requests[2]
            let header = "Bearer \(Self.secret)"
            #expect(await post(relay, event, secret: Self.secret, authorization: nil).status == 200)
            #expect(await post(relay, event, authorization: header).status == 200)
            #expect(await post(relay, event, secret: Self.secret, authorization: nil).status == 429)
            #expect(await post(relay, event, authorization: header).status == 429)
        }
    }

    @Test("An event by the header can have everything that another can")
    func extras() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let event: JSON.Value = ["eventType": "complete", "sessionID": "s", "category": "c"]
            let answer = await post(
                relay, ("/v1/event", event), authorization: "Bearer \(Self.secret)")
            #expect(answer.json["sent"] == 1)
            let payload = try #require(
                await relay.onLoop { $0.production.pushes.first?.notification.payload })
            #expect(try JSON.parse(payload, maxBytes: 4096)["aps"]?["category"] == "c")
        }
    }
}
