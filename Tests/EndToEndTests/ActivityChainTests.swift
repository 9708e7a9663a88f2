import JSON
import PushSealing
import Testing

/// A run's Live Activity, from the agent to two phones.
@Suite("From the agent to the lock screen", .timeLimit(.minutes(5)))
struct ActivityChainTests {
    private static let settings = ["BRIDGE_LIVE_ACTIVITIES": "1"]
    private static let relaySettings = ["RELAY_ACTIVITY_INTERVAL": "1s"]

    @Test(
        "an activity starts, is updated and ends on two phones; an aborted run's end doesn't ring",
        arguments: [1, 2])
    func course(generation: Int) async throws {
        try await Chain.run(generation: generation, Self.settings, relaySettings: Self.relaySettings) {
            chain in
            try await chain.stack.register(Chain.secret, token(2))
            // The first phone's app shows the session; the second phone's app isn't running.
            try await chain.shows("ses_1", phone: 1)
            try await chain.canStart(phone: 2)
            try await chain.does("session", ["id": "ses_1", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_1"])
            let began = try await chain.pushes(to: token(101)) { !$0.isEmpty }
            #expect(began.first?["event"] == "update" && began.first?["alert"] == nil)
            #expect(began.first?["content-state"]?["sessionTitle"] == "Fix auth bug")
            #expect(began.first?["content-state"]?["status"] == "working")
            let started = try await chain.pushes(to: token(202)) { !$0.isEmpty }
            #expect(started.first?["event"] == "start")
            #expect(started.first?["attributes"]?["sessionID"] == "ses_1")
            try await chain.shows("ses_1", phone: 2)

            // The agent changes state faster than states may be sent.
            for done in 0...3 {
                try await chain.does(
                    "work",
                    [
                        "id": "ses_1", "text": "I run the tests.", "tool": "bash", "done": .int(done),
                        "total": 3,
                    ])
            }
            for phone in 1...2 {
                let aps = try await chain.pushes(to: token(100 + phone)) { pushes in
                    pushes.last?["content-state"]?["todos"]?["done"] == 3
                }
                let state = aps.last?["content-state"]
                #expect(state?["tool"] == "bash" && state?["lastMessage"] == "I run the tests.")
                #expect(state?["retryInfo"]?.isNull == true)
            }
            try await chain.does("ask", ["id": "ses_1", "request": "per_1"])
            _ = try await chain.pushes(to: token(102)) { $0.contains { $0["alert"] != nil } }
            try await chain.does("answer", ["request": "per_1"])
            try await chain.does("end", ["id": "ses_1", "outcome": "completed"])
            for phone in 1...2 {
                let aps = try await chain.pushes(to: token(100 + phone)) { $0.last?["event"] == "end" }
                #expect(aps.last?["content-state"]?["status"] == "complete")
                #expect(aps.count { $0["event"] == "end" } == 1)
            }
            let titles = ["Action Needed: Fix auth bug", "Fix auth bug"]
            #expect(try await chain.titles(atLeast: 2) == titles)

            try await chain.shows("ses_1", phone: 1, token: token(111))
            try await chain.does("begin", ["id": "ses_1"])
            _ = try await chain.pushes(to: token(111)) { !$0.isEmpty }
            try await chain.does("end", ["id": "ses_1", "outcome": "aborted"])
            let aborted = try await chain.pushes(to: token(111)) { $0.last?["event"] == "end" }
            #expect(aborted.last?["alert"] == nil)
            #expect(try await chain.titles(atLeast: 2) == titles)
            let rejected = try await chain.stack.control.stats()["reasons"]?.object?.members ?? []
            #expect(rejected.isEmpty)
        }
    }

    @Test("with sealed texts and private sessions, a state shows only whether the agent is working")
    func sealed() async throws {
        let key = PairingSecret()
        let settings = Self.settings.merging(["BRIDGE_PRIVATE_SESSIONS": "on"]) { $1 }
        try await Chain.run(generation: 1, settings, relaySettings: Self.relaySettings, key: key) { chain in
            try await chain.shows(key.privateSessionID(of: "ses_real"), phone: 1)
            try await chain.does("session", ["id": "ses_real", "title": "Fix auth bug"])
            try await chain.does("begin", ["id": "ses_real"])
            _ = try await chain.pushes(to: token(101)) { !$0.isEmpty }
            try await chain.does(
                "work", ["id": "ses_real", "text": "Secret plan", "tool": "vault", "done": 1, "total": 2])
            try await chain.does("end", ["id": "ses_real", "outcome": "completed", "text": "Secret plan"])
            let aps = try await chain.pushes(to: token(101)) { $0.last?["event"] == "end" }
            let known: Set = ["working", "complete"]
            for push in aps {
                let state = try #require(push["content-state"]?.object)
                #expect(state["status"]?.string.map(known.contains) == true)
                #expect(state["sessionTitle"] == "" && state["lastMessage"] == "")
                #expect(["retryInfo", "tool", "todos"].allSatisfy { state[$0]?.isNull == true })
            }
            let said = [chain.stack.relay.output, chain.bridge.output, try chain.queueFile()].joined()
            for word in ["Secret plan", "vault", "Fix auth"] { #expect(!said.contains(word), "\(word)") }
        }
    }
}

extension Chain {
    /// Registers a phone's activity token for a session, as its app does.
    fileprivate func shows(_ session: String, phone: Int, token activity: String? = nil) async throws {
        try await post(
            "/v1/activity/register",
            [
                "sessionID": .string(session), "activityToken": .string(activity ?? token(100 + phone)),
                "deviceToken": .string(token(phone)),
            ])
    }

    /// Registers a phone's token for starting activities.
    fileprivate func canStart(phone: Int) async throws {
        try await post(
            "/v1/device/register",
            [
                "deviceToken": .string(token(phone)), "pushToStartToken": .string(token(200 + phone)),
                "attributesType": "SessionAttributes",
            ])
    }

    private func post(_ path: String, _ members: JSON.Value) async throws {
        var body = members.object ?? JSON.Object()
        body["secret"] = .string(phoneSecret)
        let answer = try await stack.http.post(path, body)
        guard answer.status == 200 else { throw Program.Failure(description: answer.text) }
    }

    /// Waits for the pushes that APNs accepted for a token and returns the `aps` of each.
    fileprivate func pushes(
        to token: String, until isEnough: ([JSON.Value]) -> Bool
    ) async throws -> [JSON.Value] {
        try await eventually {
            try await stack.control.pushes(token: token).filter { $0["status"] == 200 }
                .compactMap { $0["payload"]?["aps"] }
        } until: {
            isEnough($0)
        }
    }
}
