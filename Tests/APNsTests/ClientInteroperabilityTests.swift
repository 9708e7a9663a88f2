import APNs
import ChildProcess
import Glibc
import HTTP2Testing
import JSON
import Network
import Testing

@Suite("The client with other servers", .timeLimit(.minutes(5)))
struct ClientInteroperabilityTests {
    private static func client(
        _ port: UInt16, _ files: CertificateFiles, on loop: EventLoop,
        change: (inout ClientSettings) -> Void = { _ in }
    ) throws -> Client {
        var settings = ClientSettings()
        settings.backoffBase = .milliseconds(20)
        settings.pushTimeout = .seconds(60)
        change(&settings)
        let key = KeyText(try SelfSignedCertificate().privateKey)
        let credentials = try ProviderCredentials(teamID: "TEAM567890", keyID: "KEY4567890", key: key)
        return Client(
            endpoint: Endpoint(host: "localhost", port: port),
            tls: try TLSClientContext(caFile: files.certificate, alpn: ["h2"]),
            tokens: ProviderTokenSource(credentials), on: loop, settings: settings)
    }

    /// Sends `count` pushes at once and waits for all outcomes.
    private static func send(_ count: Int, with client: Client, on loop: isolated EventLoop) async throws
        -> [Outcome]
    {
        var outcomes: [Outcome] = []
        let watch = Watch(on: loop)
        for number in 0..<count {
            client.send(try ClientFixture.push("push-\(number)")) {
                outcomes.append($0)
                watch.changed()
            }
        }
        #expect(
            await watch.wait(on: loop, limit: .seconds(90)) { outcomes.count == count },
            "\(count - outcomes.count) pushes have no outcome")
        return outcomes
    }

    @Test("nghttpd accepts every push, over several connections")
    func nghttpd() async throws {
        let files = try CertificateFiles()
        let folder = try Self.makeFolder()
        try await withLoop { loop in
            let reserved = try ReservedPort()
            defer { withExtendedLifetime(reserved) {} }
            let port = reserved.number
            let server = try ExternalProgram.nghttpd.start([
                "--htdocs", folder, "--max-concurrent-streams", "50", "\(port)", files.key, files.certificate,
            ])
            defer { server.stop() }
            let client = try Self.client(port, files, on: loop) { $0.failuresBeforeRefusing = 1000 }
            let outcomes = try await Self.send(3000, with: client, on: loop)
            #expect(outcomes.filter { $0.kind == .accepted }.count == 3000)
            await client.stop(deadline: .seconds(2))
            #expect(client.statistics.openConnections == 0)
        }
    }

    @Test("Node's server raises its limit from 1 to 100 and sends GOAWAY twice: every push is accepted once")
    func node() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let script = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
                separator: "/")
            let server = try ExternalProgram.node.start([
                script + "/http2-server.mjs", files.certificate, files.key, "400",
            ])
            defer { server.stop() }
            let port = try #require(UInt16(server.readLine()))
            let client = try Self.client(port, files, on: loop) {
                $0.connectionsMax = 2
                $0.failuresBeforeRefusing = 1000
            }
            let outcomes = try await Self.send(3000, with: client, on: loop)
            let accepted = outcomes.filter { $0.kind == .accepted }.count
            #expect(accepted == 3000, "\(Dictionary(grouping: outcomes, by: \.kind).mapValues(\.count))")
            let goAways = client.statistics.goAways["Shutdown"] ?? 0
            await client.stop(deadline: .seconds(2))
            let books = try JSON.parse(Array(server.stop().utf8), maxBytes: 10_000)
            // Two connections with Node 20 and newer; older versions can't send GOAWAY safely, which the script checks.
            #expect(books["goAways"]?.int == Int(goAways))
            #expect(books["ids"]?.int == 3000)
            #expect(books["twice"]?.int == 0)
        }
    }

    /// A folder with a file at the path of ``ClientFixture``'s pushes, for nghttpd.
    private static func makeFolder() throws -> String {
        let folder = try makeTemporaryDirectory()
        for part in ["/3", "/3/device"] { #expect(mkdir(folder + part, 0o755) == 0) }
        let path = folder + "/3/device/" + (try ClientFixture.push("any")).deviceToken.text
        let file = try #require(fopen(path, "w"))
        fclose(file)
        return folder
    }
}
