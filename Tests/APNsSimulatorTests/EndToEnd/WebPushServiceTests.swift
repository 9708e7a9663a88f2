import APNsSimulator
import ChildProcess
import Foundation
import JSON
import PushSealing
import Testing

@Suite("Web Push with curl", .timeLimit(.minutes(2)))
struct WebPushServiceTests {
    /// Makes a subscription with the keys of RFC 8291.
    private func subscribe(_ simulator: RunningSimulator, _ vendor: WebPushVendor) async throws -> JSON.Value
    {
        try await simulator.control(
            "POST", "/webpush/subscriptions",
            #"{"vendor":"\#(vendor.rawValue)","keys":{"privateKey":"\#(WebPushFixture.privateKey)","#
                + #""auth":"\#(WebPushFixture.auth)"}}"#)
    }

    /// Sends a push with curl.
    private func push(
        _ simulator: RunningSimulator, to subscription: JSON.Value, _ body: [UInt8]? = nil,
        _ headers: [String] = [], audience: String? = nil, http: String = "--http1.1",
        maxSeconds: Double = 30
    ) async throws -> PushAnswer {
        var sample = try WebPushFixture()
        sample.claims = [
            "aud": .string(audience ?? simulator.webPushURL),
            "exp": .int(Int64(Date().timeIntervalSince1970) + 3_600),
        ]
        let file = simulator.directory.file(UUID().uuidString)
        try Data(body ?? sample.body).write(to: URL(fileURLWithPath: file))
        let key = Base64URL.encode(sample.sender.publicKey)
        let fields =
            headers + [
                "TTL: 60", "Urgency: high", "Content-Encoding: aes128gcm", "X-WNS-Cache-Policy: cache",
                "Authorization: vapid t=\(sample.token), k=\(key)",
            ]
        return try await RunningSimulator.answer(
            Tool.curl.run(
                [
                    "-sS", http, "--connect-to",
                    "web.push.apple.com:443:" + simulator.webPushURL.dropFirst("https://".count), "--cacert",
                    simulator.certificateFile, "-D", "-", "-m",
                    String(maxSeconds), "--data-binary", "@" + file,
                ] + fields.flatMap { ["-H", $0] } + [subscription["endpoint"]?.string ?? ""]))
    }

    @Test("Each vendor's subscription gets a push, which is decrypted, and is gone when it is deleted")
    func vendors() async throws {
        let simulator = try await RunningSimulator(["--webpush-port", "0", "--print"])
        let origin = try #require(simulator.ready["webPushURL"]?.string)
        #expect(origin.hasPrefix("https://localhost:"))
        for vendor in WebPushVendor.allCases {
            let made = try await subscribe(simulator, vendor)
            #expect(made["keys"]?["p256dh"]?.string == WebPushFixture.publicKey)
            #expect(made["endpoint"]?.string?.hasPrefix(origin + "/") == true)
            let accepted = try await push(simulator, to: made)
            #expect(accepted.status == vendor.acceptedStatus, "\(vendor) \(accepted.body)")
            let id = try #require(made["id"]?.string)
            let listed = try await simulator.control("GET", "/pushes?subscription=\(id)")["pushes"]?.array
            #expect(listed?.count == 1 && listed?.first?["vendor"]?.string == vendor.rawValue)
            #expect(listed?.first?["payloadText"]?.string == WebPushFixture.text)
            try await simulator.control("DELETE", "/webpush/subscriptions?id=\(id)")
            #expect(try await push(simulator, to: made).status == (vendor == .unifiedpush ? 507 : 410))
        }
        let all = try await simulator.control("GET", "/webpush/subscriptions")["subscriptions"]?.array ?? []
        #expect(all.count == 5 && all.allSatisfy { $0["gone"] == true })
        let stats = try await simulator.control("GET", "/stats")
        #expect(stats["webpush"]?["accepted"] == 5 && stats["webpush"]?["pushes"] == 10)
        #expect(stats["production"]?["pushes"] == 0)
        try await simulator.line { $0.contains("  webpush  unifiedpush  localhost:") }
        try await simulator.line { $0 == "└ 200 accepted" }
        #expect(try await simulator.stop() == 0)
    }

    @Test("With HTTP/2, responses are the same, and rules can reset a stream or cut the connection")
    func http2() async throws {
        let simulator = try await RunningSimulator([
            "--webpush-port", "0", "--rule", #"{"count":1,"action":"reset"}"#, "--rule",
            #"{"count":1,"action":"close"}"#, "--rule", #"{"count":1,"action":"stall"}"#,
        ])
        let made = try await subscribe(simulator, .mozilla)
        let none: [String] = []
        for _ in 0..<2 {
            #expect(try await push(simulator, to: made, http: "--http2", maxSeconds: 5).curl != 0)
        }
        #expect(try await push(simulator, to: made, http: "--http2", maxSeconds: 5).curl == 28)
        let accepted = try await push(simulator, to: made, nil, none, http: "--http2")
        #expect(accepted.status == 201 && accepted.headers["ttl"] == "60")
        let refused = try await push(simulator, to: made, nil, ["Topic: a.b"], http: "--http2")
        #expect(refused.status == 400 && refused.body.contains(#""errno":113"#))
        // The simulator reads the whole body, because curl 7.88 can lose a response that arrives before it has
        // finished sending.
        let huge = try await push(simulator, to: made, [UInt8](repeating: 0, count: 200_000), http: "--http2")
        #expect(huge.status == 413 && huge.body.contains(#""errno":104"#))
        let pushes = try await simulator.pushes()
        #expect(
            pushes.compactMap { $0["outcome"]?.string } == [
                "reset", "closed", "stalled", "answered", "answered", "answered",
            ])
        #expect(pushes[3]["payloadText"]?.string == WebPushFixture.text)
        #expect(pushes[3]["host"]?.string.map { "https://" + $0 } == simulator.webPushURL)
        #expect(try await simulator.stop() == 0)
    }

    @Test("A message that the browser declares shows its title, and one for other keys is accepted too")
    func contents() async throws {
        let simulator = try await RunningSimulator(["--webpush-port", "0"])
        let made = try await subscribe(simulator, .apple)
        let text =
            #"{"web_push":8030,"notification":{"title":"Hello","body":"World","navigate":"https://a"}}"#
        #expect(try await push(simulator, to: made, WebPushFixture.encrypted(text)).status == 201)
        let damaged = [UInt8](repeating: 0, count: 200)
        #expect(try await push(simulator, to: made, damaged).status == 201)
        let cards = try await simulator.controlText("GET", "/pushes?format=text")
        #expect(cards.contains("│ Hello\n│ World\n"))
        #expect(cards.contains("(200 bytes, not decryptable: "))
        let pushes = try await simulator.pushes()
        #expect(pushes[0]["payload"]?["notification"]?["title"] == "Hello" && pushes[0]["ttl"] == 60)
        #expect(pushes[0]["headers"]?["authorization"] == nil)
        #expect(try await simulator.control("GET", "/stats")["webpush"]?["undecryptable"] == 1)
    }

    @Test("An endpoint may have a vendor's own origin, which is then the audience")
    func origins() async throws {
        let simulator = try await RunningSimulator([
            "--webpush-port", "0", "--certificate-name", "web.push.apple.com",
        ])
        let made = try await simulator.control(
            "POST", "/webpush/subscriptions", #"{"vendor":"apple","origin":"https://web.push.apple.com"}"#)
        #expect(made["endpoint"]?.string?.hasPrefix("https://web.push.apple.com/Q") == true)
        #expect(try await push(simulator, to: made).reason == "BadJwtToken")
        #expect(try await push(simulator, to: made, audience: "https://web.push.apple.com").status == 201)
        #expect(try await simulator.pushes().last?["host"] == "web.push.apple.com")
    }

    @Test("Refused requests get the vendor's reason; other paths and methods are refused")
    func refusals() async throws {
        let simulator = try await RunningSimulator(["--webpush-port", "0"])
        let made = try await subscribe(simulator, .apple)
        #expect(try await push(simulator, to: made, nil, ["Topic: abcde"]).reason == "BadWebPushTopic")
        let large = try await push(simulator, to: made, [UInt8](repeating: 0, count: 4_097))
        #expect(large.status == 413 && large.reason == "PayloadTooLarge")
        let stranger = try await push(simulator, to: ["endpoint": .string(simulator.webPushURL + "/Qx")])
        #expect(stranger.status == 404 && stranger.reason == "BadPath")
        #expect(
            try await push(simulator, to: ["endpoint": .string(simulator.webPushURL + "/")]).status == 404)
        let huge = [UInt8](repeating: 0, count: 300_000)
        #expect(try await push(simulator, to: made, huge).status == 413)
        let get = try await Tool.curl.run([
            "-sS", "--cacert", simulator.certificateFile, "-m", "30", made["endpoint"]?.string ?? "",
        ])
        #expect(get.output == #"{"reason":"MethodNotAllowed"}"#)
        let details = try await simulator.pushes().compactMap { $0["detail"]?.string }
        #expect(details.contains("`Topic` has a length that base64 can't have"))
    }

    @Test("Rules delay, change, withhold and cut responses")
    func rules() async throws {
        let simulator = try await RunningSimulator([
            "--webpush-port", "0", "--rule",
            #"{"id":"a","count":1,"status":503,"reason":"201","retryAfter":7}"#,
            "--rule", #"{"id":"b","count":1,"action":"close"}"#,
            "--rule", #"{"id":"c","count":1,"action":"stall"}"#,
            "--rule", #"{"id":"d","count":1,"latency":30000,"match":{"transport":"webpush"}}"#,
        ])
        let made = try await subscribe(simulator, .mozilla)
        let busy = try await push(simulator, to: made)
        #expect(busy.status == 503 && busy.headers["Retry-After"] == "7")
        #expect(busy.body.contains(#""errno":201"#))
        #expect(try await push(simulator, to: made).curl == 52)
        // Long enough for both pushes to arrive.
        async let stalled = push(simulator, to: made, maxSeconds: 5)
        async let delayed = push(simulator, to: made, maxSeconds: 5)
        let statuses = try await [stalled.curl, delayed.curl]
        #expect(statuses == [28, 28])
        #expect(try await push(simulator, to: made).status == 201)
        try await simulator.control("GET", "/pushes?since=4&wait=10")
        let outcomes = try await simulator.pushes().compactMap { $0["outcome"]?.string }
        #expect(outcomes.sorted() == ["abandoned", "answered", "answered", "closed", "stalled"])
    }

    @Test("Subscriptions are checked, and need the Web Push services")
    func control() async throws {
        let simulator = try await RunningSimulator(["--webpush-port", "0"])
        let path = "/webpush/subscriptions"
        let refused = [
            #"{"vendor":"nokia"}"#, #"{"vendor":"apple","android":true}"#, #"{"keys":{"auth":"AA"}}"#,
            #"{"keys":{"privateKey":"AA"}}"#, #"{"applicationServerKey":"AA"}"#, #"{"x":1}"#,
            #"{"keys":{"p256dh":"AA"}}"#, #"{"keys":{"auth":"A=="}}"#,
        ]
        for body in refused {
            #expect(try await simulator.control("POST", path, body)["ok"] == false, "\(body)")
        }
        for origin in [
            "http://a", "https://", "https://a:443", "https://a:0x1", "https://a/", "https://A", "a",
        ] {
            #expect(try await simulator.control("POST", path, #"{"origin":"\#(origin)"}"#)["ok"] == false)
        }
        let bound = try await simulator.control(
            "POST", path, #"{"applicationServerKey":"\#(WebPushFixture.publicKey)"}"#)
        #expect(bound["vendor"] == "mozilla")
        #expect(try await push(simulator, to: bound).status == 401)
        #expect(try await simulator.control("DELETE", path + "?id=x")["ok"] == false)
        let without = try await RunningSimulator()
        #expect(without.ready["webPushURL"] == nil)
        #expect(
            try await without.control("POST", path)["error"]
                == "the simulator was started without --webpush-port")
    }
}
