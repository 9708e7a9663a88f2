import APNsSimulator
import Testing

@Suite("Headers", .timeLimit(.minutes(2)))
struct HeaderTests {
    @Test("A valid push is accepted")
    func rightPush() throws {
        let push = try PushFixture().check().get()
        #expect(push.deviceToken.elementsEqual(String(repeating: "ab", count: 32).utf8))
        #expect(push.topic.elementsEqual("com.example.app".utf8))
        #expect(push.type == .alert)
        #expect(push.id?.description == "123e4567-e89b-12d3-a456-426614174000")
    }

    @Test("A push with only the headers that Apple requires is accepted")
    func bareHeaders() {
        var push = PushFixture()
        for name in ["apns-id", "apns-expiration", "apns-priority", "apns-collapse-id", "apns-push-type"] {
            push.set(name, nil)
        }
        #expect(push.check().reason == nil)
    }

    @Test(
        "Each invalid header is refused with its reason",
        arguments: [
            (":path", "/3/devices/abcd", Reason.badPath), (":path", "/", .badPath),
            (":path", "/4/device/ab", .badPath),
            (":path", "/3/device/ab/cd", .badPath), (":path", "/3/device", .missingDeviceToken),
            (":path", "/3/device/", .missingDeviceToken), (":path", "/3/device/abc", .badDeviceToken),
            (":path", "/3/device/xx", .badDeviceToken), (":path", "/3/device/ab?x=1", .badDeviceToken),
            (":path", "/3/device/" + String(repeating: "a", count: 402), .badDeviceToken),
            (":method", "GET", .methodNotAllowed), (":method", "post", .methodNotAllowed),
            ("apns-topic", nil, .missingTopic), ("apns-topic", "", .missingTopic),
            ("apns-topic", "com example", .badTopic), ("apns-topic", ".com", .badTopic),
            ("apns-topic", "com..example", .badTopic), ("apns-topic", "com.", .badTopic),
            ("apns-topic", String(repeating: "a", count: 201), .badTopic),
            ("apns-topic", "com.example.app.voip", .badTopic),
            ("apns-push-type", "alarm", .invalidPushType), ("apns-push-type", "Alert", .invalidPushType),
            ("apns-push-type", "", .invalidPushType), ("apns-push-type", "voip", .badTopic),
            ("apns-id", "", .badMessageID), ("apns-id", "123e4567e89b12d3a456426614174000", .badMessageID),
            ("apns-id", "123E4567-E89B-12D3-A456-426614174000", .badMessageID),
            ("apns-id", "123e4567-e89b-12d3-a456-42661417400g", .badMessageID),
            ("apns-id", "123e4567-e89b-12d3-a456-4266141740000", .badMessageID),
            ("apns-expiration", "", .badExpirationDate), ("apns-expiration", "-1", .badExpirationDate),
            ("apns-expiration", "1.5", .badExpirationDate), ("apns-expiration", "soon", .badExpirationDate),
            ("apns-expiration", "1800000000000", .badExpirationDate),
            ("apns-expiration", "4294967296", .badExpirationDate),
            ("apns-priority", "", .badPriority), ("apns-priority", "2", .badPriority),
            ("apns-priority", "010", .badPriority), ("apns-priority", "high", .badPriority),
            ("apns-collapse-id", String(repeating: "é", count: 33), .badCollapseID),
        ] as [(String, String?, Reason)])
    func refusals(name: String, value: String?, reason: Reason) {
        var push = PushFixture()
        push.set(name, value)
        #expect(push.check().reason == reason)
    }

    @Test(
        "Boundary values are accepted",
        arguments: [
            ("apns-expiration", "0"), ("apns-expiration", "1"), ("apns-expiration", "4294967295"),
            ("apns-priority", "1"), ("apns-priority", "5"),
            ("apns-collapse-id", String(repeating: "é", count: 32)),
            ("apns-collapse-id", ""), (":path", "/3/device/ab"),
            (":path", "/3/device/" + String(repeating: "a", count: 400)),
            ("apns-topic", "com.example-2.App_x"),
            ("apns-channel-id", "ignored"), ("x-other", "ignored"),
        ])
    func edges(name: String, value: String) {
        var push = PushFixture()
        push.set(name, value)
        #expect(push.check().reason == nil)
    }

    @Test("An unknown path is BadPath regardless of the method")
    func unknownPathWithGet() {
        var push = PushFixture()
        push.set(":path", "/health")
        push.set(":method", "GET")
        #expect(push.check().reason == .badPath)
    }

    @Test(
        "A repeated header is refused",
        arguments: [
            "authorization", "apns-topic", "apns-id", "apns-priority", "apns-push-type", "apns-collapse-id",
        ])
    func repeated(name: String) throws {
        var push = PushFixture()
        let value = try #require(push.headers.first { $0.name == name }?.value)
        push.headers.append((name, value))
        #expect(push.check().reason == .duplicateHeaders)
    }

    @Test("A device token is converted to lower case")
    func foldedToken() throws {
        var push = PushFixture()
        push.set(":path", "/3/device/0aF9")
        #expect(try push.check().get().deviceToken.elementsEqual("0af9".utf8))
    }

    @Test("With configured topics, any other topic is TopicDisallowed")
    func topicDisallowed() {
        var push = PushFixture()
        push.validator.topics = [Array("com.example.other".utf8)[...]]
        #expect(push.check().reason == .topicDisallowed)
        push.set("apns-topic", "com.example.other")
        #expect(push.check().reason == nil)
    }

    @Test("A configured bundle identifier allows the topics made from it")
    func suffixedTopicAllowed() {
        var push = PushFixture()
        push.validator.topics = [Array("com.example.app".utf8)[...]]
        push.set("apns-push-type", "voip")
        push.set("apns-topic", "com.example.app.voip")
        #expect(push.check().reason == nil)
    }

    @Test("Each push type has its topic", arguments: PushType.allCases)
    func topicOfType(type: PushType) {
        let topic = "com.example.app\(type.topicSuffix)"
        #expect(Topic.isWellFormed(Array(topic.utf8)[...]))
        #expect(Topic.bundle(of: Array(topic.utf8)[...]).elementsEqual("com.example.app".utf8))
        #expect(PushType(Array(type.rawValue.utf8)[...]) == type)
    }
}
