import ChildProcess
import JSON
import PushSealing
import Testing

@Suite("From the phone to the agent", .timeLimit(.minutes(5)))
struct ReplyChainTests {
    private static let settings = ["BRIDGE_ALLOW_REPLIES": "on"]

    @Test(
        "a reply answers the permission once, and later replies from the phone learn that",
        arguments: [(1, false), (2, false), (2, true)])
    func readable(generation: Int, isPreview: Bool) async throws {
        try await Chain.run(generation: generation, isPreview: isPreview, Self.settings) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            let eventID = try await chain.asks("per_1", number: 1)
            let reply: JSON.Value = ["action": "reject", "text": "Use grep."]
            #expect(try await chain.replies(reply, to: eventID)["ok"] == true)
            #expect(
                try await chain.given(atLeast: 1)
                    == [["request": "per_1", "reply": "reject", "message": "Use grep."]])
            #expect(try await chain.replies(["action": "once"], to: eventID)["code"] == "already_replied")
            let taken = try await chain.result(reply, to: eventID)
            #expect(taken["outcome"] == "taken" && taken["reason"] == nil)

            // The request is answered at the desk, so the phones are told that no reply is needed any more.
            let second = try await chain.asks("per_2", number: 2)
            try await chain.does("answer", ["request": "per_2"])
            #expect(try await chain.closed(second)["reply"] == nil)
            // The phones' apps remove the notification.
            let cleared = try await eventually {
                try await chain.stack.control.pushes(token: token(1))
                    .compactMap { $0["payload"]?["clear"]?["eventID"]?.string }
            } until: {
                $0.contains(second)
            }
            #expect(Set(cleared).count == cleared.count)
            // A later reply has no effect, and its phone gets that result.
            let late = try await chain.result(["action": "always"], to: second)
            #expect(late["outcome"] == "answered_elsewhere")
            let third = try await chain.asks("per_3", number: 3)
            #expect(try await chain.replies(["action": "once"], to: third)["ok"] == true)
            #expect(
                try await chain.given(atLeast: 2).map { $0["request"] } == ["per_1", "per_3"])
        }
    }

    @Test("with a key only sealed replies to exactly that permission are accepted", arguments: [1, 2])
    func sealed(generation: Int) async throws {
        let key = PairingSecret()
        try await Chain.run(generation: generation, Self.settings, key: key) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            let forged = try await chain.asks("per_1", number: 1, key: key)
            let replyKey = SealedReply.Key(key)
            let reply = SealedReply(action: "once", sentAt: 1)
            #expect(try await chain.replies(["action": "always"], to: forged)["ok"] == true)
            _ = try await chain.bridge.line("it refuses a readable reply") { $0.contains("it isn't sealed") }
            let refused = try await chain.result(["action": "always"], to: forged)
            #expect(refused["outcome"] == "refused" && refused["reason"] == "not_sealed")

            let moved = try await chain.asks("per_2", number: 2, key: key)
            let other = try reply.sealed(for: forged, with: replyKey)
            #expect(try await chain.replies(["sealed": .string(other)], to: moved)["ok"] == true)
            _ = try await chain.bridge.line("it refuses another's reply") { $0.contains("notAuthentic") }

            let eventID = try await chain.asks("per_3", number: 3, key: key)
            let sealed = try reply.sealed(for: eventID, with: replyKey)
            // The unsealed action isn't the phone's, so it is ignored.
            let given: JSON.Value = ["sealed": .string(sealed), "action": "always"]
            #expect(try await chain.replies(given, to: eventID)["ok"] == true)
            #expect(try await chain.given(atLeast: 1) == [["request": "per_3", "reply": "once"]])
        }
    }

    @Test("a reply that arrived while the bridge was down is used after its start", arguments: [1, 2])
    func restart(generation: Int) async throws {
        try await Chain.run(generation: generation, Self.settings) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            let eventID = try await chain.asks("per_1", number: 1)
            #expect(try await chain.bridge.stop() == 0)
            #expect(try await chain.replies(["action": "always"], to: eventID)["ok"] == true)
            try await chain.restartBridge()
            #expect(try await chain.given(atLeast: 1) == [["request": "per_1", "reply": "always"]])
            #expect(try await chain.titles(atLeast: 1).count == 1)
        }
    }

    @Test("a reply answers only what was shown, and a reused ID rings again", arguments: [1, 2])
    func bound(generation: Int) async throws {
        let key = PairingSecret()
        try await Chain.run(generation: generation, Self.settings, key: key) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            let replyKey = SealedReply.Key(key)
            func always(_ eventID: String) throws -> JSON.Value {
                let reply = SealedReply(action: "always", sentAt: 1)
                return ["sealed": .string(try reply.sealed(for: eventID, with: replyKey))]
            }
            let first = try await chain.asks("per_1", number: 1, key: key)
            // The server asks something else under the same ID without sending an event.
            try await chain.does(
                "ask", ["id": "ses_1", "request": "per_1", "command": "rm -rf /", "told": false])
            #expect(try await chain.replies(try always(first), to: first)["ok"] == true)
            _ = try await chain.bridge.line("it refuses the reply") { $0.contains("a different request") }
            #expect(try await chain.given(atLeast: 0) == [])

            // With an event, the request rings as a new event, even after a restart.
            let second = try await chain.asks("per_1", number: 2, command: "rm -rf /", key: key)
            #expect(second != first)
            #expect(try await chain.replies(try always(first), to: second)["ok"] == true)
            _ = try await chain.bridge.line("it refuses another's reply") { $0.contains("notAuthentic") }
            #expect(try await chain.bridge.stop() == 0)
            try await chain.does("answer", ["request": "per_1"])
            try await chain.does("ask", ["id": "ses_1", "request": "per_1", "command": "ls", "told": false])
            try await chain.restartBridge()
            #expect(try await chain.titles(atLeast: 3).count == 3)
            #expect(try await chain.given(atLeast: 0) == [])

            // The same command is asked again after an answer: the earlier reply isn't used for it either.
            let third = try await chain.event(key: key)
            #expect(try await chain.replies(try always(third), to: third)["ok"] == true)
            #expect(try await chain.given(atLeast: 1) == [["request": "per_1", "reply": "always"]])
            let fourth = try await chain.asks("per_1", number: 4, command: "ls", key: key)
            #expect(![first, second, third].contains(fourth))
            #expect(try await chain.bridge.stop() == 0)
            try await chain.restartBridge()
            try await chain.lastTurn()
            #expect(try await chain.titles(atLeast: 5).count == 5)
            #expect(try await chain.given(atLeast: 0).count == 1)
        }
    }

    @Test("a permission rings again after a minute, until its reply")
    func repeated() async throws {
        let settings = Self.settings.merging(["BRIDGE_REPEAT": "1"]) { $1 }
        let clock = try FakeClock()
        try await Chain.run(generation: 2, settings, relaySettings: clock.environment) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            let eventID = try await chain.asks("per_1", number: 1)
            let database = chain.stack.directory.file("relay.db")
            #expect(try deliveryRows(database, table: "schedule") == 1)
            // A smaller step than those after which schedules pause in case the clock is set back again.
            let began = ContinuousClock.now
            // APNs' clock, too: if a new token is due, the relay dates it with its own clock.
            try await chain.stack.control.put("/limits", ["clockOffset": 58])
            try clock.set(ahead: 58)
            let rings = try await chain.titles(atLeast: 2).count
            // On a busy machine the request may have rung again for each minute that passed.
            let pushes = try await chain.stack.control.pushes(token: token(1))
            #expect(rings <= 2 + Int(began.duration(to: .now) / .seconds(60)), "\(pushes)")
            #expect(pushes[0]["payload"] == pushes[1]["payload"])
            let collapseID = pushes[0]["headers"]?["apns-collapse-id"]
            #expect(collapseID != nil && pushes[1]["headers"]?["apns-collapse-id"] == collapseID)
            #expect(try await chain.replies(["action": "once"], to: eventID)["ok"] == true)
            #expect(try await chain.given(atLeast: 1) == [["request": "per_1", "reply": "once"]])
            // No schedule is left that could ring; the worker may still be ending one.
            let left = try await eventually {
                try deliveryRows(database, table: "schedule")
            } until: {
                $0 == 0
            }
            #expect(left == 0)
        }
    }

    @Test("without --allow-replies nobody's reply answers anything")
    func off() async throws {
        try await Chain.run(generation: 2) { chain in
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            let eventID = try await chain.asks("per_1", number: 1)
            #expect(try await chain.replies(["action": "always"], to: eventID)["ok"] == true)
            // A request answered at the desk is over for the phones even without replies.
            let second = try await chain.asks("per_2", number: 2)
            try await chain.does("answer", ["request": "per_2"])
            try await chain.closed(second)
            try await chain.lastTurn()
            #expect(try await chain.titles(atLeast: 3).count == 3)
            #expect(try await chain.given(atLeast: 0) == [])
        }
    }
}
