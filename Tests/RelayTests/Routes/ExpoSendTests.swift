import APNs
import HTTPServer
import JSON
import Network
import Storage
import Testing

@testable import Relay

@Suite("Expo's push/send", .timeLimit(.minutes(2)))
struct ExpoSendTests {
    private static func name(_ token: String) -> JSON.Value { .string("ExponentPushToken[\(token)]") }

    /// The statuses of tickets, or the errors.
    private static func results(_ response: Response) -> [String?] {
        response.json["data"]?.array?.map { $0["details"]?["error"]?.string ?? $0["status"]?.string } ?? []
    }

    @Test("The token is between the brackets of a name in one of Expo's forms")
    func names() {
        for name in ["ExponentPushToken[abc]", "ExpoPushToken[abc]"] {
            #expect(ExpoMessage.token(in: name) == "abc")
        }
        for name in ["abc", "ExponentPushToken[abc", "[abc]", "F5741A13-BCDA-434B-A316-5DC0E6FFA94F", "]"] {
            #expect(ExpoMessage.token(in: name) == nil, "\(name)")
        }
    }

    @Test(
        "A message's members have the effect that they have with Expo, and one to one recipient gets one ticket"
    )
    func message() async throws {
        let half = try JSON.parse(Array("0.5".utf8), maxBytes: 3)
        try await RelayFixture.withSender { relay, token in
            let answer = await relay.expo([
                "to": Self.name(token), "title": "T", "subtitle": "S", "body": "B", "data": ["a": ["b": 1]],
                "sound": ["critical": true, "volume": half, "name": nil], "badge": 3, "ttl": 9_999_999,
                "expiration": 1, "priority": "normal", "interruptionLevel": "time-sensitive",
                "channelId": "c", "categoryId": "reply", "mutableContent": true, "_contentAvailable": true,
                "collapseId": "one", "richContent": ["image": "https://example.org/i.png"], "icon": nil,
                "unknown": 1,
            ])
            let push = try #require(await relay.onLoop { $0.production.pushes.last })
            #expect(answer.status == 200)
            #expect(answer.json == ["data": ["status": "ok", "id": .string(push.id)]])
            #expect(
                await relay.lastPayload == [
                    "aps": [
                        "alert": ["title": "T", "subtitle": "S", "body": "B"], "badge": 3,
                        "sound": ["critical": 1, "name": "default", "volume": half], "category": "reply",
                        "interruption-level": "time-sensitive", "mutable-content": 1, "content-available": 1,
                    ], "kind": "expo", "body": ["a": ["b": 1]],
                ])
            #expect(push.notification.priority == .conserveDevicePower)
            #expect(push.notification.collapseID?.text == "one")
            #expect(push.notification.expiration == 1_800_000_000 + Int64(Bounds.timeToLiveSecondsMax))
        }
    }

    @Test("Without text, badge and sound a message is for the app alone, with expiration as its time")
    func background() async throws {
        try await RelayFixture.withSender { relay, token in
            let answer = await relay.expo([
                [
                    "to": [Self.name(token)], "data": ["a": 1], "sound": nil, "title": "",
                    "mutableContent": true, "priority": "high", "categoryId": "c",
                    "expiration": 1_800_000_060,
                ]
            ])
            #expect(Self.results(answer) == ["ok"], "\(answer.json)")
            let push = try #require(await relay.onLoop { $0.production.pushes.last })
            #expect(
                push.notification.pushType == .background && push.notification.expiration == 1_800_000_060)
            #expect(
                await relay.lastPayload == [
                    "aps": ["content-available": 1], "kind": "expo", "body": ["a": 1],
                ])
            let sound = await relay.expo(["to": Self.name(token), "body": "b", "sound": "default"])
            #expect(sound.json["data"]?["status"] == "ok")
            #expect(await relay.lastPayload["aps"]?["sound"] == "default")
        }
    }

    @Test("Each recipient has a ticket in its place, whatever is wrong with the others")
    func tickets() async throws {
        try await RelayFixture.withSender { relay, token in
            let reading = try await relay.token(.read)
            let unknown = "ExponentPushToken[\(AccessTokenText.make())]"
            let long = String(repeating: "a", count: 5_000)
            let good: JSON.Value = ["to": Self.name(token), "body": "b"]
            let answer = await relay.expo([
                good, ["to": .array([.string(unknown), Self.name(token), "x", 7]), "body": "b"],
                ["to": Self.name(token), "body": .string(long)], ["body": "b"], 5,
                ["to": Self.name(token), "body": "b", "badge": "3"],
                ["to": Self.name(token), "body": "b", "data": [1]],
                ["to": Self.name(token), "body": "b", "priority": "low"],
                ["to": Self.name(token), "body": "b", "ttl": -1], ["to": [], "body": "b"],
                ["to": Self.name(reading), "body": "b"], good,
            ])
            let (gone, wrong) = ("DeviceNotRegistered", "DeveloperError")
            #expect(
                Self.results(answer) == [
                    "ok", gone, "ok", gone, wrong, "MessageTooBig", wrong, wrong, wrong, wrong, wrong, wrong,
                    gone, "ok",
                ])
            #expect(await relay.onLoop { $0.production.pushes.count } == 3)
            #expect(
                answer.json["data"]?.array?[1] == [
                    "status": "error",
                    "message": .string("\"\(unknown)\" is not a registered push notification recipient"),
                    "details": ["error": .string(gone), "expoPushToken": .string(unknown)],
                ])
        }
    }

    @Test("What the push service says at once is in the ticket, in Expo's words")
    func refusals() async throws {
        for (status, reason, error) in [
            (410, "Unregistered", "DeviceNotRegistered"), (403, "Forbidden", "InvalidCredentials"),
            (413, "PayloadTooLarge", "MessageTooBig"), (400, "BadCollapseId", "ProviderError"),
            (400, "TopicDisallowed", "InvalidCredentials"),
        ] {
            try await RelayFixture.withSender { relay, token in
                await relay.loop.run { _ in
                    relay.production.value.script = { _ in .rejected(status, reason) }
                }
                let answer = await relay.expo(["to": Self.name(token), "body": "b"])
                #expect(answer.json["data"]?["details"]?["error"]?.string == error, "\(reason)")
                #expect(answer.json["data"]?["message"]?.string == "The push failed: \(reason).")
            }
        }
        for reason in FailureReason.all { #expect(ExpoFault(reason: reason) != .providerError, "\(reason)") }
    }

    @Test("A name isn't given up while one of its devices is still there", arguments: ["mute", "fail"])
    func several(_ other: String) async throws {
        try await RelayFixture.withSender { relay, token in
            let types: JSON.Value = other == "mute" ? ["complete"] : ["complete", "expo"]
            let registered = await relay.post(
                "/v1/device/register",
                [
                    "secret": .string(RelayFixture.secret), "deviceToken": "bb00",
                    "preferences": ["eventTypes": types],
                ])
            #expect(registered.json["ok"] == true, "\(registered.json)")
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    push.deviceToken.text == "bb00"
                        ? .rejected(400, "BadCollapseId") : .rejected(410, "Unregistered")
                }
            }
            let data = await relay.expo(["to": Self.name(token), "body": "b"]).json["data"]
            #expect(data?["details"]?["error"] == (other == "mute" ? nil : "ProviderError"))
        }
    }

    @Test("Apple's dictionary of a sound is taken, and nothing else in it")
    func sound() async throws {
        try await RelayFixture.withSender { relay, token in
            let sound: JSON.Value = ["critical": true, "volume": 1, "name": nil, "other": 1]
            let answer = await relay.expo(["to": Self.name(token), "body": "b", "sound": sound])
            #expect(answer.json["data"]?["status"] == "ok", "\(answer.json)")
        }
    }

    @Test("A token whose devices are gone isn't registered, and a blocked secret's is not sent to")
    func gone() async throws {
        try await RelayFixture.withSender { relay, token in
            let message: JSON.Value = ["to": Self.name(token), "body": "b"]
            relay.storage.state.withLock {
                $0.blocked.append(BlockedSecret(secretHash: RelayFixture.key.primary, createdAt: 1))
            }
            let list = await relay.onLoop { $0.services.shared.blocked }
            try await list.read()
            #expect(Self.results(await relay.expo([message])) == ["ExpoError"])
            relay.storage.state.withLock { $0.blocked = [] }
            try await list.read()
            relay.storage.state.withLock { $0.devices.removeAll() }
            #expect(
                Self.results(await relay.expo([message, message]))
                    == Array(repeating: "DeviceNotRegistered", count: 2))
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
        }
    }

    @Test("Each notification counts against its secret, and those over the limit are refused alone")
    func limits() async throws {
        var options = RelayFixture.Options()
        options.rates.eventsPerMinute = 3
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let token = try await relay.token(.send)
            let message: JSON.Value = ["to": Self.name(token), "body": "b"]
            let answer = await relay.expo(
                .array([["to": Self.name(token)]] + Array(repeating: message, count: 4)))
            let over = "MessageRateExceeded"
            #expect(Self.results(answer) == ["ok", "ok", "ok", over, over])
            #expect(await relay.onLoop { $0.production.pushes.count } == 3)
            #expect(await relay.onLoop { $0.services.counts.limits.reduce(0, +) } == 2)
        }
    }

    @Test("Each unknown token counts against the address, and beyond its limit none is looked up")
    func unknown() async throws {
        var options = RelayFixture.Options()
        options.rates.unknownSecretsPerMinute = 3
        try await RelayFixture.with(options) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let token = try await relay.token(.send)
            func unknown() -> JSON.Value { ["to": Self.name(AccessTokenText.make()), "body": "b"] }
            let good: JSON.Value = ["to": Self.name(token), "body": "b"]
            let twice = unknown()
            let (gone, over) = ("DeviceNotRegistered", "MessageRateExceeded")
            let answer = await relay.expo([good, twice, twice, unknown(), unknown(), unknown(), good])
            #expect(Self.results(answer) == ["ok", gone, gone, gone, gone, over, "ok"])
            let late = await relay.expo([unknown(), good])
            #expect(late.status == 429 && late.headers["Retry-After"] != nil)
            #expect(late.json["errors"]?.array?.first?["code"] == "TOO_MANY_REQUESTS")
        }
    }

    @Test("A request that no relay could send is refused as a whole, in Expo's form")
    func errors() async throws {
        try await RelayFixture.withSender { relay, token in
            func code(_ response: Response) -> JSON.Value? { response.json["errors"]?.array?.first?["code"] }
            let message: JSON.Value = ["to": Self.name(token), "body": "b"]
            let names = JSON.Value.array(Array(repeating: Self.name(token), count: 51))
            for body in [
                .array(Array(repeating: message, count: 101)),
                ["to": .array(Array(repeating: "x", count: 101))],
                .array(Array(repeating: ["to": names, "body": "b"], count: 2)),
                .array(Array(repeating: ["to": []], count: 101)),
            ] as [JSON.Value] {
                let answer = await relay.expo(body)
                #expect(answer.status == 400 && code(answer) == "PUSH_TOO_MANY_NOTIFICATIONS")
            }
            let malformed = await relay.answer(
                Request(method: .post, target: RouteName.expoSend.path, body: Array("[".utf8)))
            #expect(malformed.status == 400 && code(malformed) == "VALIDATION_ERROR")
            let large = await relay.expo([
                ["to": "x", "body": .string(String(repeating: "a", count: 70_000))]
            ])
            #expect((400...413).contains(large.status.rawValue) && code(large) == "VALIDATION_ERROR")
            #expect(await relay.expo([]).json == ["data": []])
            relay.storage.state.withLock { $0.failure = .unavailable(logDetail: "x") }
            let failed = await relay.expo([message, message])
            #expect(failed.status == 503 && code(failed) == "INTERNAL_SERVER_ERROR")
            #expect(failed.headers["Retry-After"] != nil)
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
        }
    }

    @Test("A body may be compressed, as Expo's SDK does, but not with anything else or beyond the limit")
    func compressed() async throws {
        try await RelayFixture.withSender { relay, token in
            func send(_ body: [UInt8], _ coding: String) async -> Response {
                await relay.answer(
                    Request(
                        method: .post, target: RouteName.expoSend.path,
                        headers: [("Content-Encoding", coding), ("Authorization", "Bearer of-Expo")],
                        body: body))
            }
            let message: JSON.Value = ["to": Self.name(token), "body": "b"]
            #expect(await send(Self.zipped(message.encoded()), "gzip").json["data"]?["status"] == "ok")
            let broken = await send(message.encoded(), "gzip")
            #expect(broken.status == 400)
            let hint = broken.json["errors"]?.array?.first?["message"]?.string
            #expect(hint?.contains("gzip") == true)
            let nonsense = await send(Self.zipped(Array("[".utf8)), "gzip")
            #expect(nonsense.status == 400 && nonsense.headers["Accept-Encoding"] == nil)
            #expect(await send([1, 2], "br").status == 415)
            let long = Array(repeating: UInt8(ascii: " "), count: Bounds.batchBodyBytesMax)
            #expect(await send(Self.zipped(long + message.encoded()), "gzip").status == 400)
        }
    }

    /// A gzip member with stored blocks.
    private static func zipped(_ bytes: [UInt8]) -> [UInt8] {
        func number(_ value: UInt32, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt32(8 * $0)) }
        }
        var output: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        for start in stride(from: 0, to: bytes.count, by: 60_000) {
            let part = bytes[start..<min(start + 60_000, bytes.count)]
            output += [start + 60_000 >= bytes.count ? 1 : 0]
            output += number(UInt32(part.count), 2) + number(~UInt32(part.count), 2) + part
        }
        var checksum = UInt32.max
        for byte in bytes {
            checksum ^= UInt32(byte)
            for _ in 0..<8 { checksum = checksum & 1 == 1 ? checksum >> 1 ^ 0xEDB8_8320 : checksum >> 1 }
        }
        return output + number(~checksum, 4) + number(UInt32(bytes.count), 4)
    }

    @Test("The log has the sums and codes, and neither names nor texts")
    func log() async throws {
        try await RelayFixture.withSender { relay, token in
            _ = await relay.expo([
                ["to": Self.name(token), "body": "private"], ["to": Self.name(token), "body": "private"],
                ["to": Self.name(AccessTokenText.make()), "body": "private"],
            ])
            _ = await relay.expo(["to": Self.name(token), "body": "private"])
            let lines = try await relay.lines.closed().filter {
                $0["route"]?.string == RouteName.expoSend.rawValue
            }
            #expect(lines.count == 2)
            #expect(lines[0]["notifications"] == 3 && lines[0]["sent"] == 2 && lines[0]["refused"] == 1)
            #expect(lines[0]["codes"] == "invalid_token")
            #expect(lines[1]["sent"] == 1 && lines[1]["token_id"]?.string != nil)
            #expect(!relay.lines.text.contains("private") && !relay.lines.text.contains("rt_"))
        }
    }
}

extension RelayFixture {
    /// Posts messages as Expo's SDKs do.
    func expo(_ body: JSON.Value) async -> Response { await post(RouteName.expoSend.path, body) }
}
