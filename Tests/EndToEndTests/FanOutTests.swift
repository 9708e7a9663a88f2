import JSON
import Testing

@Suite(.timeLimit(.minutes(2)))
struct FanOutTests {
    @Test("A device gets the documented push: headers, alert, three copies")
    func onePush() async throws {
        try await Stack.run { stack in
            try await stack.register("a secret of the test", token(1))
            let result = try await stack.event(
                "a secret of the test",
                [
                    "eventType": "permission", "sessionID": "ses_a", "serverID": "srv_b", "title": "Action",
                    "body": "Run?",
                ])
            #expect(result.sent == 1 && result.failed == 0 && result.queued == 0)
            let pushes = try await stack.control.pushes(token: token(1))
            let push = try #require(pushes.first)
            #expect(pushes.count == 1)
            #expect(push["topic"]?.string == Stack.bundleID)
            #expect(push["pushType"]?.string == "alert")
            #expect(push["headers"]?["apns-priority"]?.string == "10")
            #expect(push["environment"]?.string == "production")
            #expect(result.deliveries["…" + token(1).suffix(8)]?["apnsID"]?.string == push["apnsID"]?.string)
            let data: JSON.Value = ["serverID": "srv_b", "eventType": "permission", "sessionID": "ses_a"]
            #expect(
                push["payload"] == [
                    "aps": [
                        "alert": ["title": "Action", "body": "Run?"], "sound": "default",
                        "thread-id": "ses_a",
                    ],
                    "serverID": "srv_b", "eventType": "permission", "sessionID": "ses_a", "data": data,
                    "body": data,
                ])
        }
    }

    @Test("An event without texts gets those of its type; one without devices returns zeros")
    func defaults() async throws {
        try await Stack.run { stack in
            try await stack.register("a secret of the test", token(1))
            _ = try await stack.event("a secret of the test", ["eventType": "error"])
            let alert = try await stack.control.pushes()[0]["payload"]?["aps"]?["alert"]
            #expect(
                alert == ["title": "Session error", "body": "OpenCode reported an error for your session."])
            let none = try await stack.event("another secret of the test")
            #expect(none.sent == 0 && none.failed == 0 && none.deliveries.isEmpty)
        }
    }

    @Test("Every device has its own correct result", arguments: [3, 200])
    func mixed(count: Int) async throws {
        try await Stack.run(["RELAY_DEVICES_PER_SECRET_MAX": "200"]) { stack in
            // A third of the devices are gone, a third belong to the sandbox, and the others are valid.
            var known: [JSON.Value] = []
            for number in 0..<count {
                try await stack.register("a secret of the test", token(number))
                let state: JSON.Value =
                    switch number % 3 {
                    case 0: ["token": .string(token(number)), "environment": "production"]
                    case 1:
                        [
                            "token": .string(token(number)), "state": "unregistered",
                            "since": 4_000_000_000_000,
                        ]
                    default: ["token": .string(token(number)), "environment": "sandbox"]
                    }
                known.append(state)
            }
            try await stack.control.put("/tokens", ["tokens": .array(known)])
            let gone = (0..<count).filter { $0 % 3 == 1 }
            let result = try await stack.event("a secret of the test")
            #expect(result.sent == count - gone.count)
            #expect(result.failed == gone.count)
            for number in 0..<count {
                let isGone = number % 3 == 1
                #expect(result.status(token(number)) == (isGone ? "failed" : "sent"))
                #expect(result.reason(token(number)) == (isGone ? "Unregistered" : nil))
                #expect(result.isRemoved(token(number)) == isGone)
            }
            let second = try await stack.event("a secret of the test")
            #expect(second.sent == count - gone.count)
            #expect(second.failed == 0)
            // Pushes sent to the wrong environment were retried immediately in the right one.
            let sandbox = try await stack.control.stats("sandbox")
            #expect(sandbox["accepted"]?.int == 2 * (0..<count).filter { $0 % 3 == 2 }.count)
            #expect(try await stack.control.stats()["reasons"]?["BadDeviceToken"]?.int == count / 3)
        }
    }

    @Test("Tenants with the same device are separate, and an unregistered device gets nothing")
    func tenants() async throws {
        try await Stack.run { stack in
            try await stack.register("the first tenant's secret", token(1))
            try await stack.register("the second tenant's secret", token(1))
            try await stack.register("the second tenant's secret", token(2))
            #expect(try await stack.event("the first tenant's secret").sent == 1)
            #expect(try await stack.event("the second tenant's secret").sent == 2)
            let gone = try await stack.http.post(
                "/v1/device/unregister",
                "{\"secret\":\"the second tenant's secret\",\"deviceToken\":\"\(token(1).uppercased())\"}")
            #expect(gone.status == 200)
            #expect(try await stack.event("the second tenant's secret").sent == 1)
            #expect(try await stack.event("the first tenant's secret").sent == 1)
        }
    }

    @Test("An eventID counts once, also when it arrives twice at the same time")
    func idempotency() async throws {
        try await Stack.run(simulator: ["--latency", "200ms"]) { stack in
            try await stack.register("a secret of the test", token(1))
            async let first = stack.event("a secret of the test", ["eventID": "one"])
            async let second = stack.event("a secret of the test", ["eventID": "one"])
            let both = try await [first, second]
            let third = try await stack.event("a secret of the test", ["eventID": "one"])
            #expect((both + [third]).allSatisfy { $0.sent == 1 })
            #expect(Set((both + [third]).map { $0.deliveries.description }).count == 1)
            #expect(try await stack.control.pushes().count == 1)
            let body =
                #"{"secret":"a secret of the test","eventType":"error","sessionID":"ses_1","eventID":"one"}"#
            let conflict = try await stack.http.post("/v1/event", body)
            #expect(conflict.status == 409)
            #expect(try conflict.json()["code"]?.string == "event_conflict")
        }
    }
}
