import APNsSimulator
import JSON
import Network
import Testing
import WebPush

/// The relay's sender against the simulator, which shares no code with it but the primitives of libcrypto.
@Suite("The relay's sender", .timeLimit(.minutes(2)))
struct RelaySenderTests {
    /// The vendors that need no header of their own, which the sender adds by the endpoint's host.
    static let vendors = WebPushVendor.allCases.filter { $0 != .microsoft }

    /// Sends messages to a subscription one after the other.
    private func send(
        _ texts: [String], to made: JSON.Value, of simulator: RunningSimulator
    ) async throws -> [Outcome] {
        let authority = String(simulator.webPushURL.dropFirst("https://".count))
        var settings = SenderSettings()
        settings.caFile = simulator.certificateFile
        let (tokens, hosts, key) = (
            VAPIDTokenSource(subject: try VAPIDSubject("mailto:push@example.com")),
            try HostRule(more: [authority]), VAPIDKey()
        )
        let subscription = try Subscription(
            endpoint: made["endpoint"]?.string ?? "", p256dh: made["keys"]?["p256dh"]?.string ?? "",
            auth: made["keys"]?["auth"]?.string ?? "", allowed: hosts)
        let handling = Handling(
            timeToLive: 3_600, urgency: .high, topic: Topic(collapseID: "build", key: [1]))
        let final = settings
        let loop = EventLoop(label: "sender")
        let outcomes = await loop.run { loop in
            let sender = Sender(tokens: tokens, hosts: hosts, on: loop, settings: final)
            var outcomes: [Outcome] = []
            for text in texts {
                let message = Message(payload: Array(text.utf8), handling: handling)
                outcomes.append(await sender.send(Push(message, to: subscription, key: key)))
            }
            await sender.stop(deadline: .seconds(5))
            return outcomes
        }
        await loop.stop()
        return outcomes
    }

    @Test("Every vendor accepts and every browser reads its messages", arguments: vendors)
    func accepted(vendor: WebPushVendor) async throws {
        let simulator = try await RunningSimulator(["--webpush-port", "0"])
        let made = try await simulator.control(
            "POST", "/webpush/subscriptions", #"{"vendor":"\#(vendor.rawValue)"}"#)
        let texts = ["a", String(repeating: "b", count: MessageEncryption.plaintextBytesMax)]
        #expect(try await send(texts, to: made, of: simulator) == [.accepted, .accepted])
        let pushes = try await simulator.pushes()
        #expect(pushes.map { $0["payloadText"]?.string } == texts)
        #expect(pushes.allSatisfy { $0["ttl"] == 3_600 && $0["urgency"] == "high" })
        #expect(pushes.allSatisfy { $0["topic"]?.string?.count == 32 })
        // Another key, since each call makes one.
        let refused = try await send(["c"], to: made, of: simulator)
        #expect(refused.first != .accepted)
        #expect(try await simulator.control("GET", "/stats")["webpush"]?["accepted"] == 2)
    }

    @Test("It sees faults and deleted subscriptions for what they are")
    func faults() async throws {
        let simulator = try await RunningSimulator([
            "--webpush-port", "0", "--rule", #"{"count":1,"action":"close"}"#, "--rule",
            #"{"count":1,"status":503,"retryAfter":120}"#, "--rule", #"{"count":1,"status":307}"#,
        ])
        let made = try await simulator.control("POST", "/webpush/subscriptions", #"{"android":true}"#)
        let large = String(repeating: "x", count: 2_913)
        let outcomes = try await send(["a", "b", "c", large, "d"], to: made, of: simulator)
        #expect(
            outcomes.dropLast(2) == [
                // On a new connection: libcurl repeats the request if a kept one closes.
                .unreachable(Unreachable(processed: .unknown, cause: .connectionClosed)),
                .rejected(Rejection(kind: .later, status: 503, service: .other, retryAfter: 120)),
                .rejected(Rejection(kind: .refused, status: 307, service: .other)),
            ])
        #expect(outcomes[3] == .rejected(Rejection(kind: .tooLarge, status: 413, service: .other)))
        #expect(outcomes[4] == .accepted)
        let bound = try await simulator.control("POST", "/webpush/subscriptions")
        try await simulator.control("DELETE", "/webpush/subscriptions?id=\(bound["id"]?.string ?? "")")
        #expect(
            try await send(["e"], to: bound, of: simulator)
                == [.rejected(Rejection(kind: .gone, status: 410, service: .other))])
    }
}
