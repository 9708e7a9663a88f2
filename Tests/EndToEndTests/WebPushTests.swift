import Foundation
import JSON
import Testing

@Suite("Web Push to the simulated services", .timeLimit(.minutes(3)))
struct WebPushTests {
    private static let secret = "a secret of the test"
    private static let vendors = ["apple", "google", "mozilla", "unifiedpush"]

    /// Runs a relay and push services; `overrides` are relay settings.
    private static func run(_ overrides: [String: String] = [:], _ body: (Stack) async throws -> Void)
        async throws
    {
        try await Stack.run(overrides, simulator: ["--webpush-port", "0"], body)
    }

    /// Subscribes a browser at the simulator and registers it; returns the simulator's ID of the subscription.
    private static func register(
        _ stack: Stack, _ vendor: String = "mozilla", page: String? = nil, more: JSON.Value = [:]
    ) async throws -> String {
        let made = try await stack.control.post(
            "/webpush/subscriptions", .object(.init(["vendor": .string(vendor)], more)))
        var webPush: JSON.Object = .init(
            ["endpoint": made["endpoint"] ?? nil, "keys": made["keys"] ?? nil], [:])
        webPush["page"] = page.map { .string($0) }
        let answer = try await stack.http.post(
            "/v1/device/register", .init(["secret": .string(secret), "webPush": .object(webPush)], [:]))
        guard answer.status == 200 else { throw Program.Failure(description: "register: \(answer.text)") }
        await Stack.nextMillisecond()
        return try #require(made["id"]?.string)
    }

    private static func pushes(_ stack: Stack, to subscription: String) async throws -> [JSON.Value] {
        let answer = try await stack.control.http.get("/pushes?subscription=\(subscription)&limit=1000")
        return try answer.json()["pushes"]?.array ?? []
    }

    /// Waits until a push service has taken a push to a subscription, and returns all that it has taken.
    private static func taken(_ stack: Stack, to subscription: String) async throws -> [JSON.Value] {
        var next = 0
        return try await eventually {
            // The simulator answers when there is another push, so the test seldom asks.
            let answer = try await stack.control.http.get(
                "/pushes?subscription=\(subscription)&since=\(next)&wait=10")
            next = try answer.json()["next"]?.int ?? next
            return try await pushes(stack, to: subscription).filter { $0["status"]?.int == 201 }
        } until: {
            !$0.isEmpty
        }
    }

    @Test(
        "Every vendor's strict service takes what the relay sends, and the browser reads it",
        arguments: vendors)
    func vendor(_ vendor: String) async throws {
        try await Self.run { stack in
            let page = "https://relay.example.org/app/"
            let browser = try await Self.register(stack, vendor, page: page)
            try await stack.register(Self.secret, token(1))
            let result = try await stack.event(
                Self.secret,
                ["eventType": "permission", "title": "Run?", "body": "make 🦊", "serverID": "srv_1"])
            #expect(result.sent == 2 && result.failed == 0)
            let push = try #require(try await Self.pushes(stack, to: browser).first)
            let notification = try #require(push["payload"]?["notification"])
            #expect(notification["title"] == "Run?" && notification["body"] == "make 🦊")
            #expect(notification["navigate"]?.string == page && push["payload"]?["web_push"] == 8_030)
            #expect(notification["data"]?["eventType"] == "permission")
            #expect(notification["data"]?["serverID"] == "srv_1")
            #expect(try await stack.control.pushes(token: token(1)).count == 1)
        }
    }

    @Test("A relay without any setting of APNs serves Web Push, is ready, and passes its check")
    func alone() async throws {
        let without = ["APNS_TEAM_ID", "APNS_KEY_ID", "APNS_PRIVATE_KEY_FILE", "APNS_DEFAULT_BUNDLE_ID"]
        try await Self.run(Dictionary(uniqueKeysWithValues: without.map { ($0, "") })) { stack in
            let browser = try await Self.register(stack)
            #expect(try await stack.event(Self.secret).sent == 1)
            #expect(try await Self.pushes(stack, to: browser).count == 1)
            #expect(try await stack.http.get("/ready").status == 200)
            let app = try await stack.http.post(
                "/v1/device/register",
                .init(
                    ["secret": .string(Self.secret), "deviceToken": .string(token(1)), "bundleId": "a.b"], [:]
                ))
            #expect(app.status == 400 && app.text.contains("unknown_bundle") && app.text.contains("webPush"))
            var environment = stack.environment
            environment["RELAY_SECRET"] = Self.secret
            let check = try Program("relay", ["check", "--json", "--send"], environment: environment)
            let status = try await check.ended()
            #expect(status == 0, "\(check.output)")
            #expect(try await Self.pushes(stack, to: browser).count == 2)
        }
    }

    @Test("What a stalled service didn't take is sent after a crash, once, and the key stays")
    func crash() async throws {
        try await Self.run(["RELAY_EVENT_DEADLINE": "1s", "RELAY_RETRY_DELAY_MAX": "1s"]) { stack in
            let browser = try await Self.register(stack)
            let key = try await stack.http.get("/v1/webpush/key").json()["keyID"]
            try await stack.control.put(
                "/rules", ["rules": [["match": ["transport": "webpush"], "status": 503]]])
            #expect(try await stack.event(Self.secret, ["title": "Survives"]).queued == 1)
            stack.relay.signal(SIGKILL)
            #expect(try await stack.relay.ended() == -SIGKILL)
            try await stack.control.put("/rules", ["rules": []])
            try await stack.restartRelay()
            #expect(try await stack.http.get("/v1/webpush/key").json()["keyID"] == key)
            let pushes = try await Self.taken(stack, to: browser)
            #expect(pushes.map { $0["payload"]?["notification"]?["title"]?.string } == ["Survives"])
        }
    }

    @Test("A push that a service stalls on is sent later, once, and keeps no other waiting")
    func stall() async throws {
        // On a busy machine, the push to the other service takes tenths of a second. It mustn't miss the deadline.
        try await Self.run(["RELAY_EVENT_DEADLINE": "4s", "RELAY_RETRY_DELAY_MAX": "1s"]) { stack in
            let (stalled, other) = (try await Self.register(stack), try await Self.register(stack, "google"))
            try await stack.control.put(
                "/rules", ["rules": [["match": ["vendor": "mozilla"], "action": "stall", "count": 1]]])
            let result = try await stack.event(Self.secret, ["title": "Late"])
            #expect(result.sent == 1 && result.queued == 1, "\(result)")
            #expect(try await Self.pushes(stack, to: other).count == 1)
            let pushes = try await Self.taken(stack, to: stalled)
            #expect(pushes.map { $0["payload"]?["notification"]?["title"]?.string } == ["Late"])
        }
    }

    @Test("A subscription that the browser gave up is removed")
    func gone() async throws {
        try await Self.run { stack in
            let browser = try await Self.register(stack)
            try await stack.control.delete("/webpush/subscriptions?id=\(browser)")
            let result = try await stack.event(Self.secret)
            #expect(result.failed == 1 && result.deliveries.values.first?["removed"]?.bool == true)
            let list = try await stack.http.post(
                "/v1/device/list", .init(["secret": .string(Self.secret)], [:]))
            #expect(try list.json()["devices"]?.array?.isEmpty == true)
        }
    }

    @Test("Endpoints appear in no log and no response")
    func secrecy() async throws {
        try await Self.run(["RELAY_LOG_LEVEL": "debug"]) { stack in
            let browser = try await Self.register(stack)
            _ = try await stack.event(Self.secret)
            try await stack.control.put(
                "/rules", ["rules": [["match": ["transport": "webpush"], "status": 400]]])
            _ = try await stack.event(Self.secret)
            _ = try await stack.relay.line("the refusal is logged") { $0.contains("webpush.refused") }
            let endpoint = try #require(
                try await stack.control.http.get("/webpush/subscriptions").json()["subscriptions"]?
                    .array?.first?["endpoint"]?.string)
            let path = try #require(endpoint.split(separator: "/").last)
            let list = try await stack.http.post(
                "/v1/device/list", .init(["secret": .string(Self.secret)], [:]))
            #expect(!list.text.contains(path) && !stack.relay.output.contains(path))
            #expect(try await Self.pushes(stack, to: browser).count == 2)
        }
    }
}

extension JSON.Object {
    /// An object with these members and those of another object.
    fileprivate init(_ members: [String: JSON.Value], _ more: JSON.Value) {
        self.init()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) { self[name] = value }
        for member in more.object?.members ?? [] { self[member.name] = member.value }
    }
}
