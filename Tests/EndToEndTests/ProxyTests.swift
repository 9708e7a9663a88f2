import Foundation
import JSON
import Network
import Testing

/// Pushes through an HTTP proxy that shares no code with the relay.
@Suite("HTTPS_PROXY", .timeLimit(.minutes(3)))
struct ProxyTests {
    private static let secret = "a secret of the test"
    private static let flags = ["--certificate-name", "apns.test"]

    /// The settings of a relay whose APNs is at apns.test, a name that only the proxy can resolve.
    private static func settings(_ stack: Stack, _ more: [String: String]) throws -> [String: String] {
        var settings = more
        for name in ["APNS_PRODUCTION_URL", "APNS_SANDBOX_URL"] {
            let url = try #require(stack.environment[name])
            settings[name] = url.replacingOccurrences(of: "localhost", with: "apns.test")
        }
        return settings
    }

    private static func start(_ mode: String) async throws -> (proxy: Program, port: Int) {
        let proxy = try Program(script: "proxy", [mode])
        let line = try await proxy.line("its port") { $0.hasPrefix("port ") }
        return (proxy, try #require(Int(line.dropFirst(5))))
    }

    @Test(
        "Pushes go through a tunnel, with the URL's credentials if the proxy requires them",
        arguments: [("open", "", "HTTPS_PROXY"), ("ada:p@ss/word", "ada:p%40ss%2Fword@", "https_proxy")])
    func tunnel(mode: String, user: String, variable: String) async throws {
        try await Stack.run([:], simulator: Self.flags) { stack in
            let (proxy, port) = try await Self.start(mode)
            try await stack.relay.stop()
            let url = "http://\(user)127.0.0.1:\(port)"
            try await stack.restartRelay(try Self.settings(stack, [variable: url]))
            try await stack.register(Self.secret, token(1))
            #expect(try await stack.event(Self.secret).sent == 1)
            _ = try await proxy.line("its request") { $0.hasPrefix("CONNECT apns.test:") }
            #expect(try await stack.control.pushes(token: token(1)).count == 1)
            _ = try await stack.relay.line("the proxy") {
                $0.contains("apns.proxy") && $0.contains("127.0.0.1:\(port)")
            }
            let said = stack.relay.output
            #expect(!said.contains("p@ss") && !said.contains("p%40ss"), "\(said)")
            let check = try await CommandRun(
                ["check", "--json"], on: stack, try Self.settings(stack, [variable: url]))
            #expect(
                check.status == 0 && check.output.contains("HTTP/2") && !check.output.contains("p@ss"),
                "\(check.output)")
            proxy.signal(SIGKILL)
        }
    }

    @Test(
        "A proxy's failure is reported, and pushes wait",
        arguments: [
            ("refuse", "it refused the tunnel with status 403"),
            ("ada:other", "it requires other credentials"),
            ("garbage", "its response is not HTTP/1"), ("endless", "its response is too long"),
            ("early", "it sent data before the server could"), ("silent", "no response to CONNECT"),
        ])
    func refusals(mode: String, words: String) async throws {
        try await Stack.run([:], simulator: Self.flags) { stack in
            let (proxy, port) = try await Self.start(mode)
            // Only the silent proxy makes the relay wait that long.
            let timeout = mode == "silent" ? "1s" : "10s"
            let settings = try Self.settings(
                stack,
                ["HTTPS_PROXY": "http://ada:secretword@127.0.0.1:\(port)", "APNS_CONNECT_TIMEOUT": timeout])
            let check = try await CommandRun(["check", "--json"], on: stack, settings)
            #expect(check.output.contains("proxy_refused") && check.output.contains(words), "\(check.output)")
            #expect(check.status == 1 && !check.output.contains("secretword"))
            try await stack.relay.stop()
            try await stack.restartRelay(settings)
            try await stack.register(Self.secret, token(1))
            #expect(try await stack.event(Self.secret).queued == 1)
            #expect(!stack.relay.output.contains("secretword"))
            proxy.signal(SIGKILL)
        }
    }

    @Test("NO_PROXY and servers on this machine are reached directly")
    func direct() async throws {
        try await Stack.run(["HTTPS_PROXY": "http://127.0.0.1:1"]) { stack in
            try await stack.register(Self.secret, token(1))
            #expect(try await stack.event(Self.secret).sent == 1)
            #expect(!stack.relay.output.contains("apns.proxy"))
        }
    }

    @Test("An unsupported proxy prevents the start with a message", arguments: ["https", "socks5"])
    func unsupported(scheme: String) async throws {
        try await Stack.run { stack in
            let relay = try Program(
                "relay", ["serve"],
                environment: stack.environment.merging(
                    ["HTTPS_PROXY": "\(scheme)://ada:secretword@proxy:1"]) { $1 })
            #expect(try await relay.ended() == 78)
            #expect(
                relay.output.contains("HTTPS_PROXY: only http:// proxies are supported"), "\(relay.output)")
            #expect(!relay.output.contains("secretword"))
        }
    }
}
