import Glibc
import HTTP2Testing
import JSON
import Network
import Testing

@testable import WebPush

@Suite("The sender in trouble", .timeLimit(.minutes(3)))
struct SenderTroubleTests {
    /// Limits pushes to a time that is ample for those that succeed, and lengthens the limits for silence beyond it.
    private static func limitTime(_ settings: inout SenderSettings) {
        settings.pushTimeout = .seconds(7)
        settings.silenceBeforePing = .seconds(30)
        settings.silenceMax = .seconds(60)
    }

    @Test("a service that stalls, resets or answers nonsense gets outcomes that say so")
    func stalls() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h2", files)
            let sender = try service.sender(on: loop) { Self.limitTime(&$0) }
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            #expect(await sender.send(try service.push("/stall")) == .unreachable(.unknown, .timeout))
            let reset = await sender.send(try service.push("/reset"))
            #expect(reset == .unreachable(.unknown, .protocolError))
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            await sender.stop(deadline: .seconds(1))
            try service.stop()
        }
    }

    @Test("a push whose answer stalls after the status has the outcome that the status says")
    func stalledBody() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h2", files)
            let sender = try service.sender(on: loop) { Self.limitTime(&$0) }
            #expect(await sender.send(try service.push("/stalled-body")) == .accepted)
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            await sender.stop(deadline: .seconds(1))
            try service.stop()
        }
    }

    @Test(
        "whatever isn't an answer over TLS ends the push",
        arguments: [
            ("garbage", Outcome.unreachable(.unknown, .protocolError)),
            ("reset", .unreachable(.unknown, .connectionClosed)),
            ("silent", .unreachable(.notSent, .connectTimeout)),
        ])
    func noService(_ mode: String, _ expected: Outcome) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service(mode, files)
            let sender = try service.sender(on: loop) {
                $0.connectTimeout = mode == "silent" ? .seconds(1) : .seconds(30)
            }
            #expect(await sender.send(try service.push("/ok")) == expected)
            await sender.stop(deadline: .seconds(1))
            try service.stop()
        }
    }

    @Test("pushes leave a connection on which nothing is answered")
    func frozen() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h2", files)
            let sender = try service.sender(on: loop) { Self.limitTime(&$0) }
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            #expect(await sender.send(try service.push("/freeze")) == .unreachable(.unknown, .timeout))
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            #expect(sender.statistics.connectionsOpened == 2)
            await sender.stop(deadline: .seconds(1))
            try service.stop()
        }
    }

    @Test("pushes that wait for a connection time out too, which isn't taken for a host that is down")
    func waiting() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h1", files)
            let sender = try service.sender(on: loop) {
                Self.limitTime(&$0)
                $0.connectionsPerHostMax = 1
            }
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            let outcomes = await sender.send(try (0..<6).map { _ in try service.push("/stall") }, on: loop)
            #expect(outcomes.filter { $0 == .unreachable(.unknown, .timeout) }.count == 1)
            #expect(outcomes.filter { $0 == .unreachable(.notSent, .timeout) }.count == 5)
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            await sender.stop(deadline: .seconds(1))
            #expect(try service.stop()["paths"]?["/stall"]?.int == 1)
        }
    }

    @Test("a server that ends its connection after each answer loses no push", arguments: ["h2", "h1"])
    func goAway(_ mode: String) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service(mode, files)
            let sender = try service.sender(on: loop)
            for _ in 0..<5 { #expect(await sender.send(try service.push("/leave")) == .accepted) }
            await sender.stop(deadline: .seconds(1))
            #expect(try service.stop()["paths"]?["/leave"]?.int == 5)
        }
    }

    @Test("a certificate that isn't trusted, or is another host's, is refused")
    func certificates() async throws {
        let files = try CertificateFiles()
        let others = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h2", files)
            let sender = try service.sender(on: loop) { $0.caFile = others.certificate }
            #expect(await sender.send(try service.push("/ok")) == .unreachable(.notSent, .tlsFailed))
            await sender.stop(deadline: .seconds(1))
            let named = try service.sender(
                on: loop, hosts: ["127.0.0.2:\(service.port)", "127.0.0.1:\(service.port)"])
            let literal = try Service.push(to: "https://127.0.0.1:\(service.port)/ok")
            #expect(await named.send(literal) == .accepted)
            await named.stop(deadline: .seconds(1))
            #expect(try service.stop()["requests"]?.int == 1)
        }
    }

    @Test("a sender that also trusts another simulator's certificate reaches the service")
    func severalCertificates() async throws {
        let files = try CertificateFiles()
        let others = try CertificateFiles()
        // OpenSSL tries the first authority that has the name.
        try append(files.certificate, to: others.certificate)
        try await withLoop { loop in
            let service = try Service("h2", files)
            let sender = try service.sender(on: loop) { $0.caFile = others.certificate }
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            await sender.stop(deadline: .seconds(1))
            try service.stop()
        }
    }

    @Test("a name that leads to a private address gets no connection, nor a host that isn't allowed")
    func privateAddresses() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h2", files)
            let sender = try service.sender(on: loop, hosts: ["any"])
            #expect(
                await sender.send(try Service.push(to: "https://localhost/ok"))
                    == .unreachable(.notSent, .addressNotPublic))
            for host in ["127.0.0.1", "[::1]", "localhost:\(service.port ^ 1)", "127.0.0.1:\(service.port)"] {
                #expect(
                    await sender.send(try Service.push(to: "https://\(host)/ok"))
                        == .unreachable(.notSent, .hostNotAllowed), "\(host)")
            }
            #expect(sender.statistics.connectionsOpened == 0)
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            await sender.stop(deadline: .seconds(1))
            #expect(try service.stop()["requests"]?.int == 1)
        }
    }

    @Test(
        "pushes to a host that refuses connections fail at once after some failures, and are tried again later"
    )
    func refused() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service("h2", files)
            let sender = try service.sender(on: loop) {
                $0.backOffBase = .milliseconds(50)
                $0.backOffMax = .milliseconds(100)
            }
            try service.stop()
            let push = try service.push("/ok")
            for _ in 0..<20 { #expect(await sender.send(push) == .unreachable(.notSent, .connectFailed)) }
            let attempts = sender.statistics.connectionsOpened
            #expect((3...19).contains(attempts), "\(attempts) attempts for 20 pushes")
            let watch = Watch(on: loop)
            var outcomes = 0
            func again() {
                sender.send(push) { _ in
                    outcomes += 1
                    watch.changed()
                    // One push per turn of the loop, until a connection is attempted.
                    if sender.statistics.connectionsOpened == attempts { loop.atNextTurn { again() } }
                }
            }
            again()
            #expect(await watch.wait(on: loop) { sender.statistics.connectionsOpened > attempts })
            await sender.stop(deadline: .seconds(1))
        }
    }

    @Test(
        "a proxy gets its credentials and the tunnels, and the service gets no credentials",
        arguments: ["h2", "h1"])
    func proxy(_ mode: String) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let service = try Service(mode, files)
            let proxy = try Service("proxy", files)
            let sender = try service.sender(on: loop) {
                $0.proxy = ConnectProxy(
                    endpoint: Endpoint(host: "127.0.0.1", port: proxy.port), user: "relay", password: "secret"
                )
            }
            #expect(await sender.send(try service.push("/ok")) == .accepted)
            await sender.stop(deadline: .seconds(1))
            let tunnels = try proxy.stop()
            #expect(tunnels["tunnels"]?.int == 1)
            #expect(tunnels["last"]?["target"]?.string == "localhost:\(service.port)")
            #expect(tunnels["last"]?["proxy-authorization"]?.string == "Basic cmVsYXk6c2VjcmV0")
            let last = try service.stop()["last"]
            #expect(last?["proxy-authorization"] == nil)
        }
    }

    @Test("a proxy that refuses the tunnel is named as the cause")
    func refusingProxy() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let proxy = try Service("refusing-proxy", files)
            let sender = try proxy.sender(on: loop, hosts: ["push.example"]) {
                $0.proxy = ConnectProxy(endpoint: Endpoint(host: "127.0.0.1", port: proxy.port))
            }
            let push = try Service.push(to: "https://push.example/ok")
            #expect(await sender.send(push) == .unreachable(.notSent, .proxyFailed))
            await sender.stop(deadline: .seconds(1))
            try proxy.stop()
        }
    }
}

/// Appends a small file to another one.
private func append(_ source: String, to target: String) throws {
    let input = try #require(fopen(source, "r"))
    defer { fclose(input) }
    let output = try #require(fopen(target, "a"))
    defer { fclose(output) }
    var bytes = [UInt8](repeating: 0, count: 10_000)
    let count = fread(&bytes, 1, bytes.count, input)
    try #require(count > 0 && fwrite(bytes, 1, count, output) == count)
}
