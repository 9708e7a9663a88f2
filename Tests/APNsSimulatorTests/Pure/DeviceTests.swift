import APNsSimulator
import Testing

@Suite("Device tokens", .timeLimit(.minutes(2)))
struct DeviceTests {
    private static let token = String(repeating: "ab", count: 32)

    private func refusal(
        _ registrations: [DeviceRegistry.Registration], topic: String = "com.example.app",
        in environment: PushEnvironment = .production, acceptsUnknown: Bool = false
    ) throws -> PushRefusal? {
        var registry = DeviceRegistry()
        for registration in registrations {
            let isKept = registry.put(registration, for: Self.token)
            #expect(isKept)
        }
        var fixture = PushFixture()
        fixture.set("apns-topic", topic)
        fixture.set("apns-push-type", nil)
        let push = try fixture.check().get()
        do throws(PushRefusal) {
            try registry.check(push, in: environment, acceptsUnknown: acceptsUnknown)
            return nil
        } catch {
            return error
        }
    }

    @Test("An unregistered token is valid or bad, as configured")
    func unknown() throws {
        #expect(try refusal([], acceptsUnknown: true) == nil)
        #expect(try refusal([])?.reason == .badDeviceToken)
    }

    @Test("A valid token is accepted only in its environment and for its topic")
    func valid() throws {
        let here = DeviceRegistry.Registration(environment: .production, topic: "com.example.app")
        #expect(try refusal([here]) == nil)
        #expect(try refusal([here], in: .sandbox)?.reason == .badDeviceToken)
        #expect(try refusal([here], topic: "com.example.other")?.reason == .deviceTokenNotForTopic)
        #expect(try refusal([here], topic: "com.example.app.voip") == nil)
        #expect(try refusal([.init()], topic: "com.example.other", in: .sandbox) == nil)
    }

    @Test("An inactive token is refused with 410 and its timestamp")
    func gone() throws {
        let unregistered = try #require(try refusal([.init(state: .unregistered(since: 1_700_000_000_123))]))
        #expect(unregistered.reason == .unregistered)
        #expect(unregistered.reason.status == 410)
        #expect(unregistered.timestamp == 1_700_000_000_123)
        let expired = try #require(try refusal([.init(state: .expired(since: 5))]))
        #expect(expired.reason == .expiredToken)
        #expect(expired.timestamp == 5)
    }

    @Test("A registration for one topic overrides one for all topics")
    func precision() throws {
        let all = DeviceRegistry.Registration(state: .unregistered(since: 1))
        let one = DeviceRegistry.Registration(topic: "com.example.app")
        #expect(try refusal([all, one]) == nil)
        #expect(try refusal([one, all]) == nil)
        #expect(try refusal([all, one], topic: "com.example.other")?.reason == .unregistered)
    }

    @Test("A newer registration for the same environment and topic replaces the older one")
    func replaced() throws {
        let gone = DeviceRegistry.Registration(environment: .production, state: .unregistered(since: 1))
        #expect(try refusal([gone, .init(environment: .production)]) == nil)
    }

    @Test("Tokens can be removed")
    func forgotten() {
        var registry = DeviceRegistry()
        let kept = [
            registry.put(.init(), for: "ab"), registry.put(.init(topic: "t"), for: "ab"),
            registry.put(.init(), for: "aa"),
        ]
        #expect(kept == [true, true, true])
        #expect(registry.all.map(\.token) == ["aa", "ab"])
        #expect(registry.registrations(of: "ab").count == 2)
        let removed = [registry.remove("ab"), registry.remove("ab")]
        #expect(removed == [true, false])
        registry.removeAll()
        #expect(registry.count == 0)
    }
}
