import ChildProcess
import Foundation
import JSON
import Network
import PushSealing
import Testing

@Suite("Pairing with the bridge", .timeLimit(.minutes(2)))
struct BridgePairingTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func run(_ arguments: [String], _ more: [String: String] = [:]) async throws -> (
        status: Int32, output: String
    ) {
        let environment = [
            "HOME": directory.file("home"), "BRIDGE_RELAY_URL": "https://relay.example.org",
            "BRIDGE_OPENCODE_URL": "http://127.0.0.1:1", "BRIDGE_ADVERTISE_HOST": "box.invalid:4096",
        ].merging(more) { $1 }
        let program = try Program("agent-bridge", ["pair"] + arguments, environment: environment)
        return (try await program.ended(), program.output)
    }

    private func pairing(_ arguments: [String], _ more: [String: String] = [:]) async throws -> Pairing {
        let (status, output) = try await run(arguments + ["--json"], more)
        #expect(status == 0, "\(output)")
        let json = try #require(output.split(separator: "\n").first { $0.hasPrefix("{") })
        return try Pairing(parsing: String(json))
    }

    /// Runs an OpenCode server and passes `body` a client for it and the setting with its URL.
    private func withServer(
        _ arguments: String..., body: (HTTPClient, [String: String]) async throws -> Void
    ) async throws {
        let program = try Program(script: "opencode", arguments)
        defer { program.signal(SIGKILL) }
        let port = try await program.line("its port") { $0.hasPrefix("port ") }.dropFirst(5)
        let loop = EventLoop(label: "pairing")
        let endpoint = Endpoint(host: "127.0.0.1", port: try #require(UInt16(port)))
        try await body(
            HTTPClient(endpoint: endpoint, loop: loop), ["BRIDGE_OPENCODE_URL": "http://127.0.0.1:\(port)"])
        await loop.stop()
    }

    @Test("the code has the port of the server that answers; without a server there is no code")
    func answering() async throws {
        let (status, output) = try await run(["--advertise-host", "box"])
        #expect(status == 69 && output.contains("opencode --port 4096"), "\(output)")
        #expect(!output.contains("pair="))
        #expect(!FileManager.default.fileExists(atPath: directory.file("home/.local/state")))
        try await withServer("1") { http, settings in
            let hosts = try await pairing(["--advertise-host", "box"], settings).hosts
            #expect(hosts == ["http://box:\(http.endpoint.port)"])
        }
    }

    @Test("the code of a server of 2.x also logs a phone in to it, once, at the addresses that it names")
    func oneTimeCode() async throws {
        try await withServer("2", "hunter2") { http, place in
            let settings = place.merging(["OPENCODE_PASSWORD": "hunter2", "BRIDGE_ADVERTISE_HOST": ""]) { $1 }
            let named: JSON.Value = [
                "http://127.0.0.1:4096", "http://10.0.0.7:4096", "https://ada.tunnel.example",
                "http://[::1]:1",
            ]
            #expect(try await http.does("reachable", ["urls": named]))
            let hosts = ["https://ada.tunnel.example", "http://10.0.0.7:4096"]
            var codes: Set<String> = []
            let image = directory.file("code.png")
            for options in [["--png", image], [], ["--app"]] {
                let (status, output) = try await run(options, settings)
                let shown = try Pairing(parsing: try #require(Self.link(in: output)))
                let code = try #require(shown.code)
                #expect(status == 0 && shown.hosts == hosts && output.contains("once, within five minutes"))
                #expect(shown.connectURLs == hosts.map { "\($0)/auth/connect/\(code)" })
                codes.insert(code)
            }
            #expect(codes.count == 3, "each time it is shown, the code is new")
            let path = "/auth/connect/" + (codes.first ?? "")
            #expect(try await http.get(path).json()["token"]?.string != nil)
            #expect(try await http.get(path).status == 401, "a code was valid twice")

            // Images and JSON may be kept, so they contain the pairing without the code.
            let reader = try Program(
                tool: "/usr/bin/zbarimg", ["--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", image])
            #expect(try await reader.ended() == 0)
            let kept = try Pairing(parsing: try #require(Self.link(in: reader.output)))
            #expect(kept.code == nil && kept.hosts == hosts)
            let (_, json) = try await run(["--json"], settings)
            #expect(!json.contains("code") && !json.contains("Once"), "\(json)")
            for file in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
                let bytes = FileManager.default.contents(atPath: directory.file(file)) ?? Data()
                #expect(codes.allSatisfy { bytes.range(of: Data($0.utf8)) == nil }, "\(file)")
            }
        }
    }

    @Test("a server that refuses a one-time code is paired without one, and the command says why")
    func refusedCode() async throws {
        try await withServer("2", "hunter2") { http, place in
            #expect(try await http.does("refuse_codes", ["on": true]))
            for password in ["hunter2", "wrong"] {
                let settings = place.merging(["OPENCODE_PASSWORD": password]) { $1 }
                let (status, output) = try await run(["--advertise-host", "box:4096"], settings)
                let shown = try Pairing(parsing: try #require(Self.link(in: output)))
                #expect(status == 0 && shown.code == nil && shown.hosts == ["http://box:4096"])
                #expect(output.contains("doesn't open OpenCode") && !output.contains("Once"), "\(output)")
            }
        }
    }

    @Test("there is no one-time code where a server has none", arguments: ["1", "preview"])
    func noCode(generation: String) async throws {
        try await withServer(generation) { _, settings in
            let (status, output) = try await run([], settings)
            let shown = try Pairing(parsing: try #require(Self.link(in: output)))
            #expect(status == 0 && shown.code == nil && !output.contains("open OpenCode"), "\(output)")
        }
    }

    @Test("there is no one-time code if the server listens only on this machine")
    func localServer() async throws {
        try await withServer("2") { http, place in
            let settings = place.merging(["BRIDGE_ADVERTISE_HOST": ""]) { $1 }
            #expect(try await http.does("reachable", ["urls": ["http://127.0.0.1:4096"]]))
            for (options, isOffered) in [
                ([], false), (["--local"], true), (["--advertise-host", "box:1"], true),
            ] {
                let (status, output) = try await run(options, settings)
                // On a machine without a network, phones have no address to connect to.
                if status == 78, options.isEmpty { continue }
                let shown = try Pairing(parsing: try #require(Self.link(in: output)))
                #expect((shown.code != nil) == isOffered, "\(options)")
            }
        }
    }

    /// The link in a command's output.
    private static func link(in output: String) -> String? {
        output.split(separator: "\n").first { $0.contains("pair=%7B") }.map(String.init)
    }

    @Test("the code, the link and the JSON are one pairing, the same each time until it is rotated")
    func same() async throws {
        let image = directory.file("code.png")
        let (status, output) = try await run(["--png", image, "--advertise-host", "10.0.0.7:4096,box:1"])
        #expect(status == 0, "\(output)")
        let lines = output.split(separator: "\n").map(String.init)
        let link = try #require(lines.first { $0.hasPrefix("https://relay.example.org/app/#pair=") })
        let shown = try Pairing(parsing: link)
        for (option, scheme) in [(["--app"], "mobilevoice"), (["--scheme", "my-app"], "my-app")] {
            let (_, other) = try await run(option + ["--advertise-host", "10.0.0.7:4096,box:1"])
            let links = other.split(separator: "\n").filter { $0.hasPrefix("\(scheme):///?pair=") }
            #expect(try links.map { try Pairing(parsing: String($0)) } == [shown], "\(other)")
            #expect(!other.contains("/app/#"))
        }
        #expect(shown.hosts == ["http://10.0.0.7:4096", "http://box:1"])
        #expect(shown.relayURL == "https://relay.example.org" && shown.serverID?.count == 16)
        #expect(shown.key?.relaySecret == shown.relaySecret)
        #expect(lines.contains { $0.contains("█▀▀▀▀▀█") } && output.contains("texts   sealed"))
        let reader = try Program(
            tool: "/usr/bin/zbarimg", ["--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", image])
        #expect(try await reader.ended() == 0 && reader.output.contains(link))

        #expect(try await pairing(["--advertise-host", "10.0.0.7:4096,box:1"]) == shown)
        let file = directory.file("home/.local/state/agent-bridge/secret")
        #expect(
            try String(contentsOfFile: file, encoding: .utf8) == "key:\(shown.key?.base64URL ?? "")\n")
        let new = try await pairing(["--rotate"])
        #expect(new.relaySecret != shown.relaySecret && new.key != nil && !new.hosts.isEmpty)
        #expect(try await pairing([]) == new)
        let (again, said) = try await run(["--rotate", "--png", image])
        #expect(again == 74 && said.contains("exists") && !said.contains("pair="))
        #expect(try await pairing([]) == new, "a command that fails changes nothing")
        #expect(try await run(["--rotate"]).output.contains("pair all phones again"))
    }

    @Test("a secret without a key pairs without one, and the command says so")
    func plain() async throws {
        let file = directory.file("plain")
        try Data("Kx3s0Q9-secret\n".utf8).write(to: URL(fileURLWithPath: file))
        let plain = ["BRIDGE_RELAY_SECRET_FILE": file]
        let made = try await pairing([], plain)
        #expect(made.relaySecret == "Kx3s0Q9-secret" && made.key == nil)
        #expect(try await run([], plain).output.contains("has no key"))
        #expect(try await run(["--seal"], plain).status == 78)
        #expect(try await pairing(["--rotate"], plain).key != nil)
        #expect(try String(contentsOfFile: file, encoding: .utf8).hasPrefix("key:"))
    }

    @Test("an address that phones can't reach is refused, unless the app runs on this machine")
    func unreachable() async throws {
        let hosts = [
            "localhost", "box.localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]", "169.254.7.7", "[fe80::1]",
            "[::ffff:127.0.0.1]",
        ]
        for host in hosts {
            for secure in [true, false] {
                let url = "\(secure ? "https" : "http")://\(host):8787"
                let (status, output) = try await run(["--insecure-relay"], ["BRIDGE_RELAY_URL": url])
                #expect(status == 78 && output.contains("phones can't reach \(url)"), "\(output)")
                #expect(output.contains("--local") && !output.contains("pair="))
            }
        }
        let (status, output) = try await run(["--json", "--advertise-host", "box:4096,localhost:4096"])
        #expect(status == 78 && output.contains("phones can't reach http://localhost:4096"), "\(output)")
        for port in ["99999", "0", "x"] {
            let url = "https://relay.example.org:\(port)"
            let (status, output) = try await run([], ["BRIDGE_RELAY_URL": url])
            #expect(status == 78 && output.contains("port"), "\(output)")
            #expect(try await run(["--advertise-host", String(url.dropFirst(8))]).status == 78)
        }
        let state = directory.file("home/.local/state/agent-bridge")
        #expect(!FileManager.default.fileExists(atPath: state))
        let local = ["BRIDGE_RELAY_URL": "http://127.0.0.1:8787", "BRIDGE_ADVERTISE_HOST": "127.0.0.1:1"]
        #expect(try await pairing(["--local"], local).hosts == ["http://127.0.0.1:1"])
    }

    @Test("warns of a path that the app drops, a server that the phone can't reach, and a page without HTTPS")
    func warnings() async throws {
        let path = ["BRIDGE_RELAY_URL": "https://relay.example.org/push"]
        let warned = try await run(["--app"], path).output
        #expect(warned.contains("ignores the path in https://relay.example.org/push"))
        #expect(warned.contains("no server answers at") && !warned.contains("a phone can't reach"))
        #expect(try await !run(["--scheme", "my-app"], path).output.contains("ignores the path"))
        let page = try await run([], path).output
        #expect(
            page.contains("https://relay.example.org/push/app/#pair=") && !page.contains("ignores the path"))
        #expect(!page.contains("no server answers at") && !page.contains("HTTPS"))
        for (url, isWarned) in [("http://relay.example.org", true), ("http://127.0.0.1:8787", false)] {
            let (status, output) = try await run(["--local", "--insecure-relay"], ["BRIDGE_RELAY_URL": url])
            #expect(status == 0 && output.contains("pages without HTTPS") == isWarned, "\(output)")
        }
        #expect(try await run([], ["BRIDGE_RELAY_URL": ""]).status == 78)
    }
}

extension HTTPClient {
    /// Triggers an event on an OpenCode stand-in.
    fileprivate func does(_ name: String, _ arguments: JSON.Value) async throws -> Bool {
        var call = arguments.object ?? JSON.Object()
        call["do"] = .string(name)
        return try await post("/_do", String(decoding: JSON.Value.object(call).encoded(), as: UTF8.self))
            .status == 200
    }
}
