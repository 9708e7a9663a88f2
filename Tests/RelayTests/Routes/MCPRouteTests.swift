import APNs
import Foundation
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("POST /mcp", .timeLimit(.minutes(2)))
struct MCPRouteTests {
    private static let secret = RelayFixture.secret

    /// Calls a tool as an older client does.
    private func call(
        _ relay: RelayFixture, _ tool: String, _ arguments: JSON.Value = [:]
    ) async -> Response {
        await MCPTests.post(
            relay, MCPTests.legacy("tools/call", ["name": .string(tool), "arguments": arguments]))
    }

    private func send(_ relay: RelayFixture, _ members: JSON.Value = [:]) async -> Response {
        var arguments = JSON.Object()
        arguments["title"] = "Build"
        arguments["message"] = "It is done."
        for member in members.object?.members ?? [] { arguments[member.name] = member.value }
        return await call(relay, "send_notification", .object(arguments))
    }

    private func text(_ response: Response) -> String {
        response.json["result"]?["content"]?.array?.first?["text"]?.string ?? ""
    }

    @Test("A notification goes to every device, and the result says what became of each")
    func sends() async throws {
        try await RelayFixture.with { relay in
            for token in ["aa00112233445566", "bb00112233445566"] {
                relay.storage.add(token, under: RelayFixture.key)
            }
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    push.deviceToken.text.hasPrefix("aa") ? .accepted(push) : .rejected(410, "Unregistered")
                }
            }
            relay.time.withLock { $0 += 10 }
            let response = await send(relay, ["urgency": "high", "sessionID": "ses_9"])
            #expect(response.status == 200 && response.headers["Content-Type"] == "application/json")
            let result = try #require(response.json["result"])
            #expect(result["isError"] == false)
            let structured = try #require(result["structuredContent"])
            #expect(structured["sent"] == 1 && structured["failed"] == 1 && structured["queued"] == 0)
            let devices = try #require(structured["devices"]?.array)
            #expect(devices.map { $0["status"] } == ["sent", "failed"])
            #expect(devices[1]["reason"] == "Unregistered" && devices[1]["removed"] == true)
            #expect(text(response) == String(decoding: structured.encoded(), as: UTF8.self))
            let all = String(decoding: response.body, as: UTF8.self)
            #expect(!all.contains("aa00112233445566") && !all.contains(Self.secret))
            let push = try #require(await relay.onLoop { $0.production.pushes.first })
            let payload = try JSON.parse(push.notification.payload, maxBytes: 4096)
            #expect(payload["aps"]?["alert"] == ["title": "Build", "body": "It is done."])
            #expect(payload["aps"]?["interruption-level"] == "time-sensitive")
            #expect(payload["aps"]?["thread-id"] == "ses_9" && payload["sessionID"] == "ses_9")
            #expect(payload["body"]?["sessionID"] == "ses_9" && payload["data"]?["sessionID"] == "ses_9")
        }
    }

    @Test("Nobody reached is an error that the model can report")
    func unreached() async throws {
        try await RelayFixture.with { relay in
            let none = await send(relay)
            #expect(none.status == 200 && none.json["result"]?["isError"] == true)
            #expect(text(none).contains("No devices are registered"))
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(400, "BadDeviceToken") }
                relay.sandbox.value.script = { _ in .rejected(400, "BadDeviceToken") }
            }
            let failed = await send(relay)
            #expect(failed.json["result"]?["isError"] == true)
            #expect(failed.json["result"]?["structuredContent"]?["failed"] == 1)
            #expect(text(failed).contains("reached no device"))
        }
    }

    @Test("What neither APNs takes nor the database stores is a result with reasons, too")
    func unstored() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            await relay.loop.run { _ in
                relay.production.value.script = { _ in .rejected(503, "ServiceUnavailable") }
            }
            relay.storage.state.withLock { $0.queueFailures = [.unavailable(logDetail: "gone")] }
            let failed = await send(relay)
            #expect(failed.status == 200 && failed.json["error"] == nil)
            let result = try #require(failed.json["result"])
            #expect(result["isError"] == true)
            let devices = result["structuredContent"]?["devices"]?.array
            #expect(devices?.map { $0["reason"] } == ["QueueUnavailable"])
            #expect(text(failed).contains("reached no device"))
        }
    }

    @Test("The same eventID is sent once, and refused for something else")
    func once() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let first = await send(relay, ["eventID": "e1"])
            let second = await send(relay, ["eventID": "e1"])
            #expect(first.json == second.json && first.json["result"]?["isError"] == false)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
            let other = await send(relay, ["eventID": "e1", "message": "Another text"])
            #expect(other.status == 200 && other.json["result"]?["isError"] == true)
            #expect(text(other).contains("Use a new eventID"))
            // The same notification at /v1/notify has the same digest.
            let notify = await relay.post(
                "/v1/notify",
                [
                    "secret": .string(Self.secret), "eventID": "e1",
                    "notification": ["title": "Build", "body": "It is done.", "sound": "default"],
                ])
            #expect(notify.json["sent"] == 1)
            #expect(await relay.onLoop { $0.production.pushes.count } == 1)
        }
    }

    @Test("A call with a made-up secret counts as one guess, whatever its tool", arguments: MCPTool.allCases)
    func countsOnce(tool: MCPTool) async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(unknownSecretsPerMinute: 2)
        try await RelayFixture.with(options) { relay in
            let arguments: JSON.Value =
                switch tool {
                case .sendNotification: ["title": "T", "message": "M"]
                case .askUser: ["question": "Q", "choices": ["a"]]
                case .scheduleNotification: ["title": "T", "message": "M", "in": 60]
                case .listDevices, .listScheduled: [:]
                case .cancelScheduled: ["name": "weekly"]
                }
            let call = MCPTests.legacy(
                "tools/call", ["name": .string(tool.rawValue), "arguments": arguments])
            #expect(await MCPTests.post(relay, call, secret: "made up 1").status == 200)
            #expect(await MCPTests.post(relay, MCPTests.legacy("ping"), secret: "made up 2").status == 200)
            #expect(await MCPTests.post(relay, MCPTests.legacy("ping"), secret: "made up 3").status == 429)
        }
    }

    @Test("A made-up secret counts as a guess of its address, and its use is never recorded")
    func madeUp() async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(unknownSecretsPerMinute: 5)
        try await RelayFixture.with(options) { relay in
            let hello = MCPTests.legacy(
                "initialize",
                ["protocolVersion": "2025-11-25", "clientInfo": ["name": "guesser", "version": "1"]])
            for (number, (body, status)) in [
                (hello, 401), (MCPTests.legacy("ping"), 200), (MCPTests.legacy("tools/list"), 200),
                (hello, 401), (hello, 401),
            ].enumerated() {
                let answer = await MCPTests.post(relay, body, secret: "made up \(number)")
                #expect(answer.status.rawValue == status)
            }
            let refused = await MCPTests.post(relay, hello, secret: "made up 5")
            #expect(refused.status == 429 && refused.headers["Retry-After"] != nil)
            #expect(refused.json["error"]?["data"]?["code"] == "rate_limited")
            relay.storage.add("aa00", under: RelayFixture.key)
            #expect(await MCPTests.post(relay, hello).status == 200)
            #expect(await eventually { relay.storage.state.withLock { !$0.agentUses.isEmpty } })
            #expect(Array(relay.storage.state.withLock(\.agentUses).keys) == [RelayFixture.key.primary])
            #expect(relay.storage.state.withLock(\.agentBatches) == [1])
        }
    }

    @Test("Faulty arguments, an ID that is too long and too many calls are results that say what to do")
    func advice() async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(eventsPerMinute: 1)
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let expected: [(JSON.Value, String)] = [
                (["urgency": "urgent"], "low, normal or high"), (["message": ""], "message is required"),
                (
                    ["sessionID": .string(String(repeating: "\u{1}", count: Bounds.identifierBytesMax))],
                    "Use a shorter sessionID"
                ),
            ]
            for (members, advice) in expected {
                let response = await send(relay, members)
                #expect(response.status == 200 && response.json["result"]?["isError"] == true)
                #expect(text(response).contains(advice), "\(text(response))")
                #expect(response.json["result"]?["structuredContent"] == nil)
            }
            // A long message is shortened.
            let long = await send(relay, ["message": .string(String(repeating: "é", count: 2500))])
            #expect(long.json["result"]?["isError"] == false)
            let limited = await send(relay)
            #expect(limited.status == 200 && limited.json["result"]?["isError"] == true)
            // A minute, less the time that these calls took.
            #expect(text(limited).contains(#/Try again in (60|[45]\d) s/#))
            #expect(await relay.onLoop { $0.services.counts.limits.reduce(0, +) } == 1)
        }
    }

    @Test("What no argument repairs is a JSON-RPC error, with 200 only for older clients")
    func errors() async throws {
        try await RelayFixture.with { relay in
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "disk at /var/x") }
            let old = await call(relay, "list_devices")
            #expect(old.status == 200 && old.json["error"]?["code"] == 503)
            #expect(old.json["error"]?["data"]?["code"] == "storage_unavailable")
            let (body, _) = MCPTests.modern("tools/call", ["name": "list_devices"])
            let headers = [
                (name: "MCP-Protocol-Version", value: "2026-07-28"),
                (name: "mcp-method", value: "tools/call"), (name: "Mcp-Name", value: "list_devices"),
            ]
            let new = await MCPTests.post(relay, body, headers)
            #expect(new.status == 503 && new.headers["Retry-After"] == "5")
            #expect(new.json["error"]?["code"] == 503 && new.json["id"] == 1)
            #expect(!String(decoding: new.body, as: UTF8.self).contains("disk"))
            relay.storage.state.withLock { $0.failure = .internalFault(logDetail: "syntax") }
            #expect(await MCPTests.post(relay, body, headers).json["error"]?["code"] == -32603)
            relay.storage.state.withLock { $0.failure = nil }
            #expect(await MCPTests.post(relay, body, headers + [headers[2]]).json["error"]?["code"] == -32020)
        }
    }

    @Test("list_devices shows masked devices with their last push")
    func lists() async throws {
        try await RelayFixture.with { relay in
            let none = await call(relay, "list_devices")
            #expect(none.json["result"]?["structuredContent"] == ["devices": []])
            #expect(none.json["result"]?["isError"] == false && text(none).contains("No devices"))
            relay.storage.add("aa00112233445566", under: RelayFixture.key)
            let response = await call(relay, "list_devices")
            let devices = try #require(response.json["result"]?["structuredContent"]?["devices"]?.array)
            #expect(devices.count == 1 && devices.first?["device"] == "…33445566")
            #expect(devices.first?["apnsEnv"] == "production" && devices.first?["createdAt"] == nil)
            let extra = await call(relay, "list_devices", ["x": 1])
            #expect(extra.json["result"]?["isError"] == true)
        }
    }

    @Test("A notification is scheduled, listed without its text, and cancelled")
    func schedules() async throws {
        try await RelayFixture.with { relay in
            func schedule(_ members: JSON.Value) async -> Response {
                var arguments = JSON.Object()
                arguments["title"] = "Private"
                arguments["message"] = "M"
                for member in members.object?.members ?? [] { arguments[member.name] = member.value }
                return await call(relay, "schedule_notification", .object(arguments))
            }
            let nobody = await schedule(["in": 60])
            #expect(nobody.json["result"]?["isError"] == true && text(nobody).contains("No devices"))
            relay.storage.add("aa00", under: RelayFixture.key)
            let created = await schedule(["in": 60, "name": "n"]).json["result"]?["structuredContent"]
            #expect(created?["name"] == "n" && created?["nextAt"] == "2027-01-15T08:01:00.000Z")
            let response = await call(relay, "list_scheduled")
            let listed = response.json["result"]?["structuredContent"]?["schedules"]?.array
            #expect(listed?.count == 1 && listed?.first?["id"] == created?["id"])
            #expect(!String(decoding: response.body, as: UTF8.self).contains("Private"))
            let expected: [(JSON.Value, String)] = [
                (["in": 0], "in must be whole seconds"), (["at": "tomorrow"], "at must be a time such as"),
                (["every": ["unit": "day", "at": ["08:00"]]], "every.timeZone must be"),
                ([:], "exactly one of"),
            ]
            for (members, advice) in expected {
                let refused = await schedule(members)
                #expect(refused.status == 200 && refused.json["result"]?["isError"] == true)
                #expect(text(refused).contains(advice), "\(text(refused))")
            }
            for count in [1, 0] {
                let cancelled = await call(relay, "cancel_scheduled", ["name": "n"])
                #expect(cancelled.json["result"]?["structuredContent"] == ["cancelled": .int(count)])
                #expect(cancelled.json["result"]?["isError"] == false)
            }
            let faulty = await call(relay, "cancel_scheduled", ["id": "x"])
            #expect(faulty.json["result"]?["isError"] == true)
        }
    }

    @Test("A call is a line at info with its tool and nothing secret; what changes nothing is one at debug")
    func lines() async throws {
        let lines = try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            _ = await MCPTests.post(relay, MCPTests.legacy("tools/list"))
            _ = await send(relay, ["eventID": "e"])
            _ = await MCPTests.post(relay, MCPTests.legacy("ping"), secret: nil)
            let lines = try await relay.lines.closed().filter { $0["event"] == "request" }
            for word in [Self.secret, "Build", "done"] { #expect(!relay.lines.text.contains(word)) }
            return lines
        }
        #expect(lines.map { $0["level"] } == ["debug", "info", "info"])
        #expect(lines.map { $0["route"] } == ["POST /mcp", "POST /mcp", "POST /mcp"])
        #expect(lines[1]["tool"] == "send_notification" && lines[1]["sent"] == 1)
        #expect(lines[2]["code"] == "unauthorized")
    }
}
