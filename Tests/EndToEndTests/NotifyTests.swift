import Foundation
import JSON
import Network
import Testing

@Suite(.timeLimit(.minutes(2)))
struct NotifyTests {
    private static let secret = "a secret of the test"

    private func notify(
        _ stack: Stack, _ notification: JSON.Value, _ members: JSON.Value = [:]
    ) async throws -> HTTPClient.Answer {
        var body = JSON.Object()
        body["secret"] = .string(Self.secret)
        body["notification"] = notification
        for member in members.object?.members ?? [] { body[member.name] = member.value }
        return try await stack.http.post("/v1/notify", body)
    }

    @Test("APNs accepts what the relay accepts: alerts and background pushes with all their fields")
    func kinds() async throws {
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            try await stack.register(Self.secret, token(2))
            let notifications: [JSON.Value] = [
                ["title": "t"], ["badge": 0], ["sound": "default"],
                ["sound": ["name": "x.caf", "critical": true, "volume": 1]],
                [
                    "title": "T", "subtitle": "S", "body": "B", "badge": 3, "sound": "ping.caf",
                    "category": "C",
                    "threadID": "th", "collapseID": "col-1", "interruptionLevel": "time-sensitive",
                    "relevanceScore": 1, "priority": 5, "ttl": 0, "mutableContent": true,
                    "contentAvailable": true, "data": ["k": ["nested": [1, nil]]],
                ],
                ["pushType": "background"], ["pushType": "background", "data": ["k": "v"], "ttl": 60],
                ["body": .string(String(repeating: "a", count: 4096 - 29))],
            ]
            for notification in notifications {
                let answer = try await notify(stack, notification)
                #expect(try EventResult(answer.json()).sent == 2, "\(answer.text)")
            }
            let pushes = try await stack.control.pushes(token: token(1))
            #expect(pushes.count == notifications.count)
            #expect(pushes[4]["headers"]?["apns-collapse-id"]?.string == "col-1")
            #expect(pushes[4]["headers"]?["apns-priority"]?.string == "5")
            #expect(pushes[4]["headers"]?["apns-expiration"]?.string == "0")
            #expect(pushes[4]["payload"]?["k"] == ["nested": [1, nil]])
            #expect(pushes[5]["pushType"] == "background")
            #expect(pushes[5]["payload"] == ["aps": ["content-available": 1]])
            // Only one device, and only once for this eventID.
            let one: JSON.Value = ["deviceToken": .string(token(2)), "eventID": "e"]
            for _ in 0..<2 {
                #expect(try EventResult(try await notify(stack, ["title": "only"], one).json()).sent == 1)
            }
            #expect(try await stack.control.pushes(token: token(2)).count == notifications.count + 1)
            let tooLarge = try await notify(
                stack, ["body": .string(String(repeating: "a", count: 4068))], ["shorten": false])
            #expect(tooLarge.status == 413 && tooLarge.text.contains("4097 bytes"))
        }
    }

    @Test("A notification that APNs can't accept now is queued and arrives unchanged")
    func queued() async throws {
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            try await stack.control.put("/rules", ["id": "busy", "reason": "TooManyRequests", "count": 1])
            let notification: JSON.Value = ["pushType": "background", "collapseID": "c", "data": ["k": "v"]]
            let result = try EventResult(try await notify(stack, notification).json())
            #expect(result.queued == 1)
            let pushes = try await eventually {
                try await stack.control.pushes()
            } until: {
                $0.count == 2
            }
            let push = try #require(pushes.last)
            #expect(push["status"] == 200 && push["pushType"] == "background")
            #expect(push["headers"]?["apns-collapse-id"]?.string == "c")
            #expect(push["headers"]?["apns-priority"]?.string == "5")
            #expect(push["payload"] == ["aps": ["content-available": 1], "k": "v"])
        }
    }

    @Test("Preferences and details survive a restart, mute, and are listed with the last push")
    func preferences() async throws {
        try await Stack.run { stack in
            var body = JSON.Object()
            body["secret"] = .string(Self.secret)
            body["deviceToken"] = .string(token(1))
            body["deviceName"] = "Ada's phone"
            body["preferences"] = ["eventTypes": ["error"]]
            #expect(try await stack.http.post("/v1/device/register", body).status == 200)
            try await stack.register(Self.secret, token(2))
            #expect(try await stack.relay.stop() == 0)
            try await stack.restartRelay()
            let result = try await stack.event(Self.secret)
            #expect(result.sent == 1 && result.status(token(1)) == "muted")
            #expect(try await stack.control.pushes(token: token(1)).isEmpty)
            // Looked up by token: registrations of the same millisecond are listed in any order.
            let devices = try await eventually {
                let list = try await stack.http.post(
                    "/v1/device/list", #"{"secret":"a secret of the test"}"#)
                let devices = try list.json()["devices"]?.array ?? []
                return [token(1), token(2)].map { token in
                    devices.first { $0["device"]?.string == "…" + token.suffix(8) }
                }
            } until: {
                $0[1]?["lastPush"] != nil
            }
            #expect(devices[0]?["deviceName"] == "Ada's phone" && devices[1]?["deviceName"] == nil)
            #expect(devices[0]?["preferences"] == ["eventTypes": ["error"]])
            #expect(devices[0]?["lastPush"] == nil)
            #expect(devices[1]?["lastPush"]?["status"] == "sent")
        }
    }
}
