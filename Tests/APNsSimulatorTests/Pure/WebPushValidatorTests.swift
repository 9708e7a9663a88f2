import APNsSimulator
import HTTPServer
import JSON
import PushSealing
import Testing

@Suite("Checks of Web Push", .timeLimit(.minutes(2)))
struct WebPushValidatorTests {
    typealias Change = @Sendable (inout WebPushFixture) -> Void

    private static func header(_ name: String, _ value: String?) -> Change { { $0.set(name, value) } }
    private static func claim(_ name: String, _ value: JSON.Value?) -> Change {
        { $0.claims.updateValue(value, forKey: name) }
    }

    private func fault(_ vendor: WebPushVendor, _ change: Change) throws -> WebPushFault? {
        var push = try WebPushFixture(vendor)
        change(&push)
        return push.fault
    }

    private func fault(_ change: Change) throws -> WebPushFault? { try fault(.mozilla, change) }

    /// Lets an argument list contain a sendable closure.
    private static func edit(_ change: @escaping Change) -> Change { change }

    @Test("A valid push is accepted by every vendor", arguments: WebPushVendor.allCases)
    func valid(vendor: WebPushVendor) throws {
        let push = try WebPushFixture(vendor)
        let checked = try push.check().get()
        #expect(checked.timeToLive == 60 && checked.senderKey == push.sender.publicKey)
        #expect(try fault(vendor) { $0.set("Urgency", nil) } == nil)
        #expect(try fault(vendor) { $0.set("Topic", nil) } == nil)
        #expect(
            try fault(vendor) {
                $0.body = []
                $0.set("Content-Encoding", nil)
            } == nil)
    }

    @Test(
        "Each fault of the request is recognised",
        arguments: [
            (WebPushFault.method, edit { $0.method = .put }), (.missingTimeToLive, header("TTL", nil)),
            (.timeToLive, header("TTL", "-1")), (.timeToLive, header("TTL", "1.5")),
            (.timeToLive, header("TTL", "")), (.timeToLive, header("TTL", "2147483648")),
            (.request, edit { $0.headers.append(("ttl", "60")) }), (.urgency, header("Urgency", "High")),
            (.topic, header("Topic", "")), (.topic, header("Topic", "a.b")),
            (.topic, header("Topic", String(repeating: "a", count: 33))),
            (.contentEncoding, header("Content-Encoding", nil)),
            (.contentEncoding, header("Content-Encoding", "aesgcm")),
            (.contentEncoding, header("Crypto-Key", "dh=abc")),
            (.contentEncoding, header("Encryption", "salt=abc")),
            (.tooLarge, edit { $0.body = [UInt8](repeating: 0, count: 4_097) }),
        ] as [(WebPushFault, Change)])
    func faults(fault wanted: WebPushFault, change: Change) throws {
        for vendor in WebPushVendor.allCases { #expect(try fault(vendor, change) == wanted) }
    }

    @Test("A request that isn't for a subscription is recognised")
    func unknownEndpoint() throws {
        let push = try WebPushFixture()
        let refusal = #expect(throws: WebPushRefusal.self) {
            try WebPushValidator(origin: WebPushFixture.origin).check(
                push.request, to: nil, now: WebPushFixture.now)
        }
        #expect(refusal?.fault == .unknownEndpoint)
    }

    @Test("Sizes: 4,096 bytes, and 3,015 for Firefox on Android")
    func sizes() throws {
        #expect(try fault { $0.body = [UInt8](repeating: 0, count: 4_096) } == nil)
        var push = try WebPushFixture(.mozilla, android: true)
        push.body = [UInt8](repeating: 0, count: 3_015)
        #expect(push.fault == nil)
        push.body.append(0)
        #expect(push.fault == .tooLarge)
    }

    @Test("Apple refuses topics with a length that base64 can't have")
    func appleTopics() throws {
        for count in 1...32 {
            let change = Self.header("Topic", String(repeating: "a", count: count))
            #expect(try fault(.apple, change) == (count % 4 == 1 ? .topic : nil))
            #expect(try fault(.google, change) == nil)
        }
    }

    @Test("Microsoft needs the cache policy of the TTL")
    func cachePolicy() throws {
        let name = "X-WNS-Cache-Policy"
        #expect(try fault(.microsoft, Self.header(name, nil)) == .cachePolicy)
        #expect(try fault(.microsoft, Self.header(name, "no-cache")) == .cachePolicy)
        #expect(try fault(.microsoft, Self.header("TTL", "0")) == .cachePolicy)
        #expect(
            try fault(.microsoft) {
                $0.set("TTL", "0")
                $0.set(name, "no-cache")
            } == nil)
    }

    @Test("`Authorization` must be vapid with one token and one key")
    func authorization() throws {
        let push = try WebPushFixture()
        let (token, key) = (push.token, Base64URL.encode(push.sender.publicKey))
        let cases: [(String, WebPushFault?)] = [
            ("VAPID k=\(key),t=\(token)", nil), ("vapid t=\(token),   k=\(key)", nil),
            ("", .authorization), ("bearer \(token)", .authorization), ("WebPush \(token)", .authorization),
            ("vapid t=\(token)", .publicKey), ("vapid k=\(key)", .token), ("vapid \(token)", .authorization),
            ("vapid t=\(token), t=\(token), k=\(key)", .authorization),
            ("vapid t=\(token), k=\(key), x=1", .authorization), ("vapid t=\(token), k=\(key)=", .publicKey),
            ("vapid t=\(token), k=\(key.dropLast(2))", .publicKey),
            ("vapid t=\(token), k=\(key.dropLast(4))AAAA", .publicKey),
        ]
        for (value, wanted) in cases {
            #expect(try fault { $0.authorization = value } == wanted, "\(value)")
        }
        var without = push.request
        without = Request(
            method: .post, target: without.target,
            headers: without.headers.pairs.filter { $0.name != "Authorization" }, body: without.body)
        let refusal = #expect(throws: WebPushRefusal.self) {
            try WebPushValidator(origin: WebPushFixture.origin).check(
                without, to: push.subscription, now: WebPushFixture.now)
        }
        #expect(refusal?.fault == .authorization)
    }

    @Test("The example of RFC 8292, section 2.4, verifies for its origin and time")
    func vector() throws {
        var push = try WebPushFixture()
        push.authorization =
            "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1Mj"
            + "M3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrE"
            + "rtmysazNjjvW2L9OkSSHzvoD1oA, "
            + "k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        let validator = WebPushValidator(origin: "https://push.example.net")
        _ = try validator.check(push.request, to: push.subscription, now: 1_453_523_767)
        for now: Int64 in [1_453_523_768, 1_453_523_768 - 86_401] {
            #expect(throws: WebPushRefusal.self) {
                try validator.check(push.request, to: push.subscription, now: now)
            }
        }
        #expect(push.fault == .token)
    }

    @Test(
        "Tokens with other claims, headers or signatures are refused",
        arguments: [
            claim("aud", nil), claim("aud", "https://localhost"), claim("aud", "https://localhost:8445/"),
            claim("aud", ["https://localhost:8445"]), claim("exp", nil), claim("exp", "1800000060"),
            claim("exp", .int(WebPushFixture.now)), claim("exp", .int(WebPushFixture.now + 86_401)),
            claim("sub", 1), claim("sub", "push@example.com"), edit { $0.tokenHeader = ["alg": "HS256"] },
            edit { $0.tokenHeader = ["alg": "ES256", "typ": "JWS"] },
            edit { push in
                let other = Base64URL.encode(WebPushFixture.Sender(scalar: 8).publicKey)
                push.authorization = "vapid t=\(push.token), k=\(other)"
            },
            edit { push in
                let key = Base64URL.encode(push.sender.publicKey)
                push.authorization = "vapid t=\(push.token)=, k=\(key)"
            },
        ] as [Change])
    func tokens(change: Change) throws { #expect(try fault(change) == .token) }

    @Test("A token may last 24 hours, and only Apple needs a contact that it can reach")
    func subjects() throws {
        #expect(try fault(Self.claim("exp", .int(WebPushFixture.now + 86_400))) == nil)
        let refused: [JSON.Value?] = [
            nil, "mailto:push@localhost", "mailto:push@example.invalid", "mailto: push@example.com",
            "mailto:<push@example.com>", "https://localhost", "https://example", "mailto:push", "https://",
        ]
        for subject in refused {
            #expect(try fault(.apple, Self.claim("sub", subject)) == .token, "\(String(describing: subject))")
            #expect(try fault(.google, Self.claim("sub", subject)) == nil)
        }
        for subject in ["https://example.com/contact", "mailto:push@mail.example.com"] {
            #expect(try fault(.apple, Self.claim("sub", .string(subject))) == nil)
        }
    }
}
