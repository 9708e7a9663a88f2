import APNs
import JSON
import Storage
import Testing

@testable import Relay

private let secret = "0123456789abcdef"

private func code<Value>(_ make: () throws(APIError) -> Value) -> APIError? {
    do throws(APIError) {
        _ = try make()
        return nil
    } catch {
        return error
    }
}

@Suite("Requests", .timeLimit(.minutes(2)))
struct RequestTests {
    private let rules = RequestRules(defaultBundleID: Topic("org.example.default"))

    private func register(_ members: JSON.Value, rules: RequestRules? = nil) -> APIError? {
        code { () throws(APIError) in
            try RegisterRequest(body: Self.base(members).encoded(), rules: rules ?? self.rules)
        }
    }

    private func event(_ members: JSON.Value) -> APIError? {
        code { () throws(APIError) in
            try EventRequest(body: Self.base(members).encoded())
        }
    }

    /// A valid request of either kind with some members replaced.
    private static func base(_ members: JSON.Value) -> JSON.Value {
        var object = JSON.Object()
        object["secret"] = .string(secret)
        object["deviceToken"] = "00aaBB"
        object["eventType"] = "complete"
        object["sessionID"] = "ses_1"
        for member in members.object?.members ?? [] { object[member.name] = member.value }
        return .object(object)
    }

    @Test(
        "A body that is no JSON object is invalid",
        arguments: ["", "[]", "\"x\"", "null", "{", "{}{}", "{\"a\":1,\"a\":2}", "{\u{FEFF}}"])
    func noObject(text: String) {
        let error = code { () throws(APIError) in try RequestFields(body: Array(text.utf8)) }
        #expect(error?.code == .invalidBody)
    }

    @Test(
        "Unknown members are ignored, known ones must be strings",
        arguments: [
            RequestField.secret, .deviceToken, .bundleID, .apnsEnvironment, .deviceName, .deviceModel,
            .osVersion, .appVersion, .eventType, .sessionID, .serverID, .title, .body, .eventID,
        ])
    func kinds(field: RequestField) throws {
        for value: JSON.Value in [.null, 1, true, [], [:]] {
            let isRegister = [
                RequestField.deviceToken, .bundleID, .apnsEnvironment, .deviceName, .deviceModel, .osVersion,
                .appVersion,
            ].contains(field)
            var object = JSON.Object()
            object[field.rawValue] = value
            object["unknown"] = value
            let error = isRegister ? register(.object(object)) : event(.object(object))
            #expect(error == APIError(.invalidField, field: field))
        }
        #expect(register(["unknown": nil]) == nil)
    }

    @Test(
        "Members that must be there are missed by name",
        arguments: [RequestField.secret, .deviceToken, .eventType, .sessionID])
    func missing(field: RequestField) throws {
        var object = try #require(Self.base([:]).object)
        object[field.rawValue] = nil
        let body = JSON.Value.object(object).encoded()
        let error =
            field == .deviceToken
            ? code { () throws(APIError) in try RegisterRequest(body: body, rules: rules) }
            : code { () throws(APIError) in try EventRequest(body: body) }
        #expect(error == APIError(.missingField, field: field))
    }

    @Test("A secret is measured in bytes and taken byte for byte")
    func secrets() throws {
        #expect(register(["secret": ""]) == APIError(.invalidField, field: .secret))
        #expect(register(["secret": .string(String(repeating: "a", count: 512))]) == nil)
        #expect(
            register(["secret": .string(String(repeating: "a", count: 513))])
                == APIError(.invalidField, field: .secret))
        #expect(register(["secret": .string(String(repeating: "é", count: 257))])?.code == .invalidField)
        let body = Self.base(["secret": " e\u{301} 0123456789 \0"]).encoded()
        #expect(
            try RequestFields(body: body).secret(orOf: nil)
                == Secret(Array(" e\u{301} 0123456789 \0".utf8)))
    }

    @Test(
        "A secret is weak when it has fewer bytes than its first registration needs",
        arguments: [
            ("0123456789abcde", true), ("0123456789abcdef", false), ("éééééééé", false), ("x", true),
        ])
    func weakSecrets(secret: String, isWeak: Bool) throws {
        #expect(rules.isWeak(Secret(secret)) == isWeak)
        #expect(!RequestRules(secretBytesMin: 1).isWeak(Secret(secret)))
    }

    @Test("A token is folded to lower case", arguments: ["", "0", "abc", "zz", "0x", " 00", "００"])
    func tokens(bad: String) throws {
        #expect(register(["deviceToken": .string(bad)]) == APIError(.invalidField, field: .deviceToken))
        let good = try RegisterRequest(body: Self.base([:]).encoded(), rules: rules)
        #expect(good.deviceToken.text == "00aabb")
        #expect(register(["deviceToken": .string(String(repeating: "a", count: 400))]) == nil)
        #expect(register(["deviceToken": .string(String(repeating: "a", count: 402))])?.code == .invalidField)
    }

    @Test("A bundle is the request's, else the default, else missing")
    func bundles() throws {
        let given = try RegisterRequest(
            body: Self.base(["bundleId": "org.example.a"]).encoded(), rules: rules)
        #expect(given.bundleID.text == "org.example.a")
        let absent = try RegisterRequest(body: Self.base([:]).encoded(), rules: rules)
        #expect(absent.bundleID.text == "org.example.default")
        #expect(register([:], rules: RequestRules()) == APIError(.missingField, field: .bundleID))
        for bad in ["", "a_b", "a b", String(repeating: "a", count: 156)] {
            #expect(register(["bundleId": .string(bad)]) == APIError(.invalidField, field: .bundleID))
        }
    }

    @Test("Only listed bundles are taken where there is a list")
    func listedBundles() throws {
        let topic = try #require(Topic("org.example.a"))
        let rules = RequestRules(defaultBundleID: topic, bundleIDs: [topic])
        #expect(register([:], rules: rules) == nil)
        #expect(
            register(["bundleId": "org.example.b"], rules: rules)
                == APIError(.unknownBundle, field: .bundleID))
    }

    @Test("The environment is production unless it says sandbox")
    func environments() throws {
        #expect(try RegisterRequest(body: Self.base([:]).encoded(), rules: rules).environment == .production)
        #expect(
            try RegisterRequest(body: Self.base(["apnsEnv": "sandbox"]).encoded(), rules: rules).environment
                == .sandbox)
        for bad in ["", "Sandbox", "development"] {
            #expect(register(["apnsEnv": .string(bad)]) == APIError(.invalidField, field: .apnsEnvironment))
        }
    }

    @Test(
        "Identifiers have at least one byte, a most of bytes, and no NUL",
        arguments: [
            (RequestField.sessionID, 255), (.serverID, 255), (.eventID, 128),
        ])
    func identifiers(field: RequestField, most: Int) {
        for good in ["x", " ", String(repeating: "a", count: most), "é\u{301}🎉"] {
            #expect(event(.object(.init(name: field.rawValue, good))) == nil)
        }
        for bad in [
            "", "a\0", String(repeating: "a", count: most + 1), String(repeating: "é", count: most / 2 + 1),
        ] {
            #expect(event(.object(.init(name: field.rawValue, bad))) == APIError(.invalidField, field: field))
        }
    }

    @Test("Title and body may be of any length; empty ones count as absent")
    func texts() throws {
        func content(_ members: JSON.Value) throws -> EventContent {
            try EventRequest(body: Self.base(members).encoded()).content
        }
        let empty = try content(["title": "", "body": ""])
        #expect(empty.title == nil && empty.body == nil)
        #expect(
            try empty.digest(to: nil, repetition: nil) == content([:]).digest(to: nil, repetition: nil))
        #expect(event(["title": "", "body": "", "sealed": "AQAA"]) == nil)
        #expect(event(["title": .string(String(repeating: "a", count: 9000))]) == nil)
        #expect(event(["eventType": "done"]) == APIError(.invalidField, field: .eventType))
    }

    @Test("Two events agree in their content only when everything but secret and eventID is the same")
    func contents() throws {
        func content(_ members: JSON.Value) throws -> Digest256 {
            try EventRequest(body: Self.base(members).encoded()).content.digest(to: nil, repetition: nil)
        }
        let base = try content([:])
        #expect(try content(["secret": "another-secret-of-mine", "eventID": "e"]) == base)
        var seen: Set<Digest256> = [base]
        for members: JSON.Value in [
            ["eventType": "error"], ["sessionID": "ses_2"], ["serverID": "s"], ["title": "s"], ["body": "s"],
            ["title": "se", "body": "s"], ["title": "s", "body": "es"], ["category": "s"],
            ["category": "AQAA"], ["sealed": "AQAA"], ["mutableContent": true],
            ["category": "s", "mutableContent": true],
        ] {
            #expect(seen.insert(try content(members)).inserted)
        }
    }

    @Test(
        "Defaults of title and body come from the event's type", arguments: EventType.allCases.filter(\.rings)
    )
    func payloads(type: EventType) throws {
        let request = try EventRequest(
            body: Self.base(["eventType": .string(type.rawValue)]).encoded())
        let payload = try JSON.parse(request.content.payload(PushStyle()), maxBytes: 4096)
        #expect(payload["aps"]?["alert"]?["title"] == .string(type.defaultTitle))
        #expect(payload["aps"]?["alert"]?["body"] == .string(type.defaultBody))
        #expect(payload["aps"]?["sound"] == nil)
    }
}

extension JSON.Object {
    fileprivate init(name: String, _ value: String) {
        self.init()
        self[name] = .string(value)
    }
}

@Suite("Request identifiers", .timeLimit(.minutes(2)))
struct RequestIDTests {
    @Test("A sane one is taken over, any other replaced")
    func taken() {
        for good in [
            "a", "0af7651916cd43dd8448eb211c80319c", "a.b_c:d-E", String(repeating: "x", count: 128),
        ] {
            #expect(RequestID.isSane(Array(good.utf8)[...]))
        }
        for bad in ["", "a b", "a\"b", "é", "a\n", "<x>", String(repeating: "x", count: 129)] {
            #expect(!RequestID.isSane(Array(bad.utf8)[...]))
        }
        var generator = IDGenerator(seed: 1)
        let made = RequestID.make(using: &generator)
        #expect(made.count == 16 && RequestID.isSane(Array(made.utf8)[...]))
        #expect(RequestID.make(using: &generator) != made)
    }
}
