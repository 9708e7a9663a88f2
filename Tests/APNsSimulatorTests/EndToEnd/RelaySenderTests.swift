import APNsSimulator
import HTTP2Testing
import JSON
import Network
import Testing
import WebPush

/// Runs the relay's sender against the simulator; the two share only libcrypto's primitives.
@Suite("The relay's sender", .timeLimit(.minutes(2)))
struct RelaySenderTests {
    /// The origins of the real services.
    private static let origins: [WebPushVendor: String] = [
        .apple: "https://web.push.apple.com", .google: "https://fcm.googleapis.com",
        .mozilla: "https://updates.push.services.mozilla.com",
        .microsoft: "https://wns2-par02p.notify.windows.com", .unifiedpush: "https://ntfy.sh",
    ]

    /// Sends messages to a subscription, one after the other.
    ///
    /// - Parameter proxy: The port of a proxy that routes everything to the simulator.
    private func send(
        _ texts: [String], to made: JSON.Value, of simulator: RunningSimulator, key: VAPIDKey = VAPIDKey(),
        proxy: UInt16? = nil
    ) async throws -> [Outcome] {
        var settings = SenderSettings()
        settings.caFile = simulator.certificateFile
        // The machine may be slow.
        settings.pushTimeout = .seconds(60)
        settings.connectTimeout = .seconds(30)
        settings.proxy = proxy.map { ConnectProxy(endpoint: Endpoint(host: "127.0.0.1", port: $0)) }
        let hosts = try HostRule(more: [String(simulator.webPushURL.dropFirst("https://".count)), "ntfy.sh"])
        let tokens = VAPIDTokenSource(subject: try VAPIDSubject("mailto:push@example.com"))
        let subscription = try Subscription(
            endpoint: made["endpoint"]?.string ?? "", p256dh: made["keys"]?["p256dh"]?.string ?? "",
            auth: made["keys"]?["auth"]?.string ?? "", allowed: hosts)
        let handling = Handling(
            timeToLive: 3_600, urgency: .high, topic: Topic(collapseID: "build", key: [1]))
        let final = settings
        return try await withLoop { loop in
            let sender = Sender(tokens: tokens, hosts: hosts, on: loop, settings: final)
            var outcomes: [Outcome] = []
            for text in texts {
                let message = Message(payload: Array(text.utf8), handling: handling)
                outcomes.append(await sender.send(Push(message, to: subscription, key: key)))
            }
            await sender.stop(deadline: .seconds(5))
            return outcomes
        }
    }

    @Test(
        "At its own host, every vendor accepts its messages, every browser reads them, and refusals are understood",
        arguments: WebPushVendor.allCases)
    func vendors(vendor: WebPushVendor) async throws {
        let origin = try #require(Self.origins[vendor])
        let simulator = try await RunningSimulator([
            "--webpush-port", "0", "--certificate-name", String(origin.dropFirst("https://".count)),
        ])
        let folder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        let proxy = try ExternalProgram.node.start([
            (folder + ["WebPushTests", "push-service.mjs"]).joined(separator: "/"), simulator.certificateFile,
            simulator.certificateFile, "proxy", String(simulator.webPushURL.dropFirst("https://".count)),
        ])
        defer { proxy.stop() }
        let port = try #require(UInt16(proxy.readLine()))
        let made = try await simulator.control(
            "POST", "/webpush/subscriptions", #"{"vendor":"\#(vendor.rawValue)","origin":"\#(origin)"}"#)
        let key = VAPIDKey()
        let texts = ["a", String(repeating: "b", count: MessageEncryption.plaintextBytesMax)]
        let outcomes = try await send(texts, to: made, of: simulator, key: key, proxy: port)
        #expect(outcomes == [.accepted, .accepted])
        let pushes = try await simulator.pushes()
        #expect(pushes.map { $0["payloadText"]?.string } == texts)
        #expect(pushes.allSatisfy { $0["ttl"] == 3_600 && $0["urgency"] == "high" })
        #expect(pushes.allSatisfy { $0["topic"]?.string?.count == 32 })
        let other = try await send(["c"], to: made, of: simulator, proxy: port)
        #expect(
            other.map(kind) == [[.microsoft, .unifiedpush].contains(vendor) ? .configuration : .wrongKey])
        try await simulator.control("DELETE", "/webpush/subscriptions")
        let gone = try await send(["d"], to: made, of: simulator, key: key, proxy: port)
        #expect(gone.map(kind) == [vendor == .unifiedpush ? .later : .gone])
    }

    private func kind(_ outcome: Outcome) -> Rejection.Kind? {
        if case .rejected(let rejection) = outcome { rejection.kind } else { nil }
    }

    @Test("It sees faults for what they are")
    func faults() async throws {
        let simulator = try await RunningSimulator([
            "--webpush-port", "0", "--rule", #"{"count":1,"action":"close"}"#, "--rule",
            #"{"count":1,"status":503,"retryAfter":120}"#, "--rule", #"{"count":1,"status":307}"#,
        ])
        let made = try await simulator.control("POST", "/webpush/subscriptions", #"{"android":true}"#)
        let large = String(repeating: "x", count: 2_913)
        let outcomes = try await send(["a", "b", "c", large, "d"], to: made, of: simulator)
        #expect(
            outcomes == [
                .unreachable(Unreachable(processed: .unknown, cause: .connectionClosed)),
                .rejected(Rejection(kind: .later, status: 503, service: .other, retryAfter: 120)),
                .rejected(Rejection(kind: .refused, status: 307, service: .other)),
                .rejected(Rejection(kind: .tooLarge, status: 413, service: .other)), .accepted,
            ])
    }
}
