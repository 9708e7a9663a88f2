import ChildProcess
import Foundation
import JSON
import PushSealing
import Testing

@Suite("Pairing and sealing on the command line", .timeLimit(.minutes(2)))
struct SealingTests {
    /// Runs a command to completion; returns its status and its output on both streams.
    private func run(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> (
        Int32, String
    ) {
        let program = try Program("agent-bridge", arguments, environment: environment)
        let status = try await program.ended()
        return (status, program.output)
    }

    @Test("What agent-bridge pair --standalone shows is one pairing: the code, the link and the JSON")
    func pair() async throws {
        let directory = try TemporaryDirectory()
        let image = directory.file("code.png")
        let arguments = [
            "pair", "--standalone", "--relay-url", "https://relay.example/push/", "--advertise-host",
            "http://100.64.0.7:4096",
            "--advertise-host",
            "http://192.168.1.20:4096", "--name", "9f2c", "--png", image, "--app",
        ]
        let (status, output) = try await run(arguments)
        #expect(status == 0, "\(output)")
        #expect(output.contains("warning: OpenCode's app ignores the path in https://relay.example/push"))
        let lines = output.split(separator: "\n").map(String.init)
        let link = try #require(lines.first { $0.hasPrefix("mobilevoice:///?pair=") })
        let json = try #require(lines.first { $0.hasPrefix("{") })
        let pairing = try Pairing(parsing: json)
        #expect(try Pairing(parsing: link) == pairing)
        #expect(pairing.hosts == ["http://100.64.0.7:4096", "http://192.168.1.20:4096"])
        #expect(pairing.relayURL == "https://relay.example/push" && pairing.serverID == "9f2c")
        #expect(pairing.key?.relaySecret == pairing.relaySecret)
        #expect(lines.contains { $0.contains("█▀▀▀▀▀█") })
        let mode = try FileManager.default.attributesOfItem(atPath: image)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let reader = try Program(
            tool: "/usr/bin/zbarimg", ["--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", image])
        #expect(try await reader.ended() == 0 && reader.output.contains(link))
        // Others may use the file, so it isn't overwritten.
        let (again, said) = try await run(arguments)
        #expect(again == 74 && said.contains("exists; remove it first") && !said.contains("pair="))
    }

    @Test("Without hosts the pairing names the relay; a custom scheme causes no warning")
    func defaults() async throws {
        let (status, output) = try await run(
            [
                "pair", "--standalone", "--relay-url", "https://relay.example/push", "--scheme", "my-app",
                "--json",
            ])
        let pairing = try Pairing(parsing: output)
        #expect(status == 0 && pairing.hosts == ["https://relay.example/push"] && pairing.serverID == nil)
        for arguments in [
            ["pair", "--standalone"], ["pair", "--standalone", "--relay-url", "https://user@relay.example"],
        ] {
            #expect(try await run(arguments).0 == 78)
        }
    }

    @Test(
        "agent-bridge pair refuses addresses that phones can't reach, unless the app is on this machine",
        arguments: [
            "http://localhost:8787", "http://0.0.0.0:8787", "https://[::1]", "http://169.254.1.2",
            "http://[fe80::1]:80",
        ])
    func unreachable(url: String) async throws {
        let pair = ["pair", "--standalone", "--json", "--insecure-relay", "--relay-url"]
        let (status, output) = try await run(pair + [url])
        #expect(status == 78 && output.contains("phones can't reach") && !output.contains("relaySecret"))
        let (_, hosts) = try await run(pair + ["https://relay.example", "--advertise-host", url])
        #expect(!hosts.contains("relaySecret"))
        let (local, json) = try await run(pair + [url, "--local"])
        #expect(local == 0 && json.contains("relaySecret"), "\(json)")
        #expect(try await run(pair + ["https://relay.example:99999", "--local"]).0 == 78)
    }

    @Test("Without a given pairing, the bridge's own secret seals and opens")
    func own() async throws {
        let directory = try TemporaryDirectory()
        let home = ["HOME": directory.path]
        let relay = ["--relay-url", "https://relay.example"]
        #expect(try await run(["seal", "--title", "t"], home).1.contains("no phone is paired"))
        let place = ["--advertise-host", "box.invalid:4096", "--opencode-url", "http://127.0.0.1:1"]
        let (paired, shown) = try await run(["pair", "--json"] + relay + place, home)
        let json = try #require(shown.split(separator: "\n").first { $0.hasPrefix("{") })
        #expect(paired == 0)
        let pairing = try Pairing(parsing: String(json))
        let (status, line) = try await run(
            ["seal", "--title", "Fix auth bug", "--kind", "build"] + relay, home)
        let sealed = line.trimmingCharacters(in: .newlines)
        #expect(status == 0, "\(line)")
        let (opened, text) = try await run(["open", sealed, "--kind", "build", "--json"], home)
        let content = try JSON.parse(Array(text.utf8), maxBytes: 1 << 16)
        #expect(opened == 0 && content["title"] == "Fix auth bug")
        #expect(content["serverID"]?.string == pairing.serverID && pairing.serverID != nil)
        withExtendedLifetime(directory) {}
    }

    @Test("The relay says where its commands have moved", arguments: ["pair", "seal", "open"])
    func moved(command: String) async throws {
        let program = try Program("relay", [command])
        #expect(try await program.ended() == 64)
        #expect(program.output.contains("relay \(command) moved to agent-bridge \(command)"))
    }

    @Test("open reads what seal wrote, and nothing else")
    func sealed() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("pairing")
        let other = directory.file("other")
        for path in [file, other] {
            let (_, json) = try await run([
                "pair", "--standalone", "--relay-url", "https://relay.example", "--json",
            ])
            try Data(json.utf8).write(to: URL(fileURLWithPath: path))
        }
        let (status, line) = try await run(
            [
                "seal", "--title", "Fix auth bug", "--body", "Done.", "--session", "ses_1", "--event-type",
                "complete",
            ],
            ["BRIDGE_PAIRING_FILE": file])
        let sealed = line.trimmingCharacters(in: .newlines)
        #expect(status == 0 && sealed.count == 386 && sealed.hasPrefix("A"))
        let opened = try await run([
            "open", sealed, "--event-type", "complete", "--json", "--pairing-file", file,
        ])
        let json = try JSON.parse(Array(opened.1.utf8), maxBytes: 1 << 16)
        #expect(opened.0 == 0 && json["title"] == "Fix auth bug" && json["body"] == "Done.")
        #expect(json["sessionID"] == "ses_1" && json["serverID"] == nil)
        let text = try await run(["open", sealed, "--event-type", "complete", "--pairing-file", file])
        #expect(text.0 == 0 && text.1.contains("title      Fix auth bug\nbody       Done.\n"))
        let refused: [([String], String)] = [
            (["open", sealed, "--event-type", "error", "--pairing-file", file], "its type isn't error"),
            (["open", sealed, "--pairing-file", file], "its type isn't notify"),
            (["open", sealed, "--event-type", "complete", "--pairing-file", other], "for another pairing"),
            (
                ["open", "!" + sealed, "--event-type", "complete", "--pairing-file", file],
                "isn't a sealed text"
            ),
        ]
        for (arguments, reason) in refused {
            let (status, output) = try await run(arguments)
            #expect(status == 65 && output.contains(reason) && !output.contains("Fix auth bug"), "\(output)")
        }
    }

    @Test("Incorrect use is refused with the reason")
    func usage() async throws {
        let homeless = ["BRIDGE_PAIRING": #"{"relaySecret":"s3cret","hosts":["h"]}"#]
        let stock = ["BRIDGE_PAIRING": #"{"relayURL":"https://r","relaySecret":"s3cret","hosts":["h"]}"#]
        let key = PairingSecret()
        let changed = [
            "BRIDGE_PAIRING":
                #"{"relayURL":"https://r","relaySecret":"s3cret","hosts":["h"],"key":"\#(key.base64URL)"}"#
        ]
        let good = ["BRIDGE_PAIRING": try Pairing(relayURL: "https://r", hosts: ["h"], key: key).json]
        let cases: [([String], [String: String], Int32, String)] = [
            (["seal", "--title", "t"], [:], 64, "no phone is paired"),
            (["seal", "--title", "t"], homeless, 78, "it has no relayURL"),
            (["seal", "--title", "t"], stock, 78, "it has no key"),
            (["seal", "--title", "t"], changed, 78, "its relaySecret does not belong to its key"),
            (["seal"], good, 64, "no text given"),
            (["seal", "--body", String(repeating: "x", count: 2600)], good, 64, "too long"),
            (["seal", "--title", "t", "--kind", "k", "--event-type", "error"], good, 64, "not both"),
            (["open"], good, 65, "isn't a sealed text"),
        ]
        for (arguments, environment, status, reason) in cases {
            let (ended, output) = try await run(arguments, environment)
            #expect(ended == status && output.contains(reason), "\(arguments): \(output)")
            #expect(!output.contains("s3cret") && !output.contains(key.base64URL))
        }
    }
}
