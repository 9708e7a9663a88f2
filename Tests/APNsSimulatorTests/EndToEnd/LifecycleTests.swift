import APNsSimulator
import ChildProcess
import Foundation
import JSON
import Programs
import Testing

@Suite("The program", .serialized, .timeLimit(.minutes(2)))
struct LifecycleTests {
    @Test(
        "It prints its addresses, writes the ready file and exits with 0 on either signal",
        arguments: [SIGTERM, SIGINT])
    func startAndStop(signal: Int32) async throws {
        let simulator = try await RunningSimulator()
        let notice = await simulator.printed.joined(separator: "\n")
        for name in ["productionURL", "sandboxURL", "controlURL", "certificateFile"] {
            #expect(notice.contains(try #require(simulator.ready[name]?.string)))
        }
        for name in ["productionPort", "sandboxPort", "controlPort"] {
            #expect(try #require(simulator.ready[name]?.int) > 0)
        }
        #expect(try await simulator.control("GET", "/health") == ["ok": true])
        #expect(try await simulator.stop(signal) == 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: simulator.directory.path)
        #expect(Set(left) == ["certificate.pem", "ready.json"])
    }

    @Test("The curl command that it prints delivers a push")
    func printedCommand() async throws {
        let simulator = try await RunningSimulator()
        let printed = await simulator.printed
        let start = try #require(printed.firstIndex { $0.contains("curl --http2") })
        let command = printed[start...(start + 3)].joined(separator: "\n")
        let result = try await ChildProcess.finished("/bin/sh", ["-c", command])
        #expect(result.status == 0 && result.output.isEmpty)
        let text = try await simulator.controlText("GET", "/pushes?format=text")
        #expect(text.contains("│ Hello\n") && text.contains("200 accepted"))
    }

    @Test("A port in use is named, with exit status 69")
    func portInUse() async throws {
        let simulator = try await RunningSimulator()
        for flag in ["--production-port", "--sandbox-port", "--control-port"] {
            for port in ["productionPort", "controlPort"] {
                let number = try #require(simulator.ready[port]?.int)
                var arguments = ["--production-port", "0", "--sandbox-port", "0", "--control-port", "0"]
                arguments += [flag, String(number)]
                let second = try await RunningSimulator.run(arguments)
                #expect(second.status == 69)
                #expect(second.errors.contains("127.0.0.1:\(number) is in use by another program"))
                #expect(second.output.isEmpty)
            }
        }
    }

    @Test("An invalid command line is refused with all its problems and exit status 64")
    func wrongUsage() async throws {
        let result = try await RunningSimulator.run([
            "--nope", "--streams", "0", "--latency", "soon", "--rule", "{", "--key-id", "short", "--topic",
        ])
        #expect(result.status == 64)
        for part in ["--nope", "--streams", "--latency", "--rule", "--key-id", "--topic needs a value"] {
            #expect(result.errors.contains(part))
        }
        let together = try await RunningSimulator.run([
            "--key-id", "ABCDEFGHIJ", "--rule", "{}", "--public-key", "a", "--any-key",
        ])
        #expect(together.status == 64)
        for part in ["--key-id must follow --public-key", "followed by --key-id", "--any-key cannot be"] {
            #expect(together.errors.contains(part))
        }
    }

    @Test("Unreadable and unwritable files have their own exit statuses")
    func files() async throws {
        let directory = try TemporaryDirectory()
        try "no key".write(toFile: directory.file("key"), atomically: true, encoding: .utf8)
        let identity = ["--key-id", "ABCDEFGHIJ", "--team-id", "ABCDEFGHIJ"]
        let ports = ["--production-port", "0", "--sandbox-port", "0", "--control-port", "0"]
        for file in [directory.file("absent"), directory.file("key")] {
            #expect(try await RunningSimulator.run(["--public-key", file] + identity + ports).status == 66)
        }
        for flag in ["--certificate-file", "--ready-file"] {
            let result = try await RunningSimulator.run([flag, "/nonexistent/file"] + ports)
            #expect(result.status == 73)
            #expect(result.errors.contains("/nonexistent/file"))
        }
    }

    @Test("The help names every flag, and the version is printed")
    func help() async throws {
        let help = try await RunningSimulator.run(["--help"])
        #expect(help.status == 0)
        for option in CommandOption.ofServe { #expect(help.output.contains("  \(option.usage)")) }
        #expect(try await RunningSimulator.run(["--version"]).output.hasPrefix("apns-simulator "))
    }

    @Test("Generated keys and tokens pass its own checks")
    func keys() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("key.p8")
        #expect(try await RunningSimulator.run(["key", "--out", file]).status == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let simulator = try await RunningSimulator([
            "--public-key", file + ".pub", "--key-id", "ABC123DEFG", "--team-id", "TEAM123456",
            "--key-environment",
            "production",
        ])
        func token(_ arguments: [String]) async throws -> String {
            let result = try await RunningSimulator.run(["token"] + arguments)
            return "bearer " + result.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let right = try await token(["--key", file, "--key-id", "ABC123DEFG", "--team-id", "TEAM123456"])
        #expect(try await simulator.push(in: .production, ["authorization": right]).status == 200)
        #expect(
            try await simulator.push(in: .sandbox, ["authorization": right]).reason
                == "BadEnvironmentKeyInToken")
        let foreign = try await token(["--key-id", "ABC123DEFG", "--team-id", "TEAM123456"])
        #expect(try await simulator.push(["authorization": foreign]).reason == "InvalidProviderToken")
    }

    @Test("With --print a push is shown as on a phone, without terminal control characters")
    func printed() async throws {
        let simulator = try await RunningSimulator(["--print"])
        let payload =
            #"{"aps":{"alert":{"title":"Ti\u001b[2Jtle","body":"One\nTwo"}},"eventType":"complete","data":{"a":1}}"#
        _ = try await simulator.push(payload, in: .sandbox)
        try await simulator.line { $0.hasPrefix("└") }
        let card = await simulator.printed.suffix(7).joined(separator: "\n")
        #expect(card.contains("sandbox  …abababab  com.example.app  alert"))
        #expect(card.contains("│ Ti\\u{1B}[2Jtle\n│ One\n│ Two\n"))
        #expect(card.contains("│ eventType complete, data {\"a\":1}"))
        #expect(card.hasSuffix("└ 200 accepted"))
        #expect(!card.contains("\u{1B}") && !card.contains("abababababab"))
    }

    @Test("With --print-json a push is printed as one line of JSON")
    func printedJSON() async throws {
        let simulator = try await RunningSimulator(["--print-json"])
        _ = try await simulator.push(["apns-topic": ""])
        let line = try await simulator.line { $0.hasPrefix("{") }
        let push = try JSON.parse(Array(line.utf8), maxBytes: 65_536)
        #expect(push["reason"]?.string == "MissingTopic")
        #expect(push["detail"]?.string == "no `apns-topic` header")
        #expect(push["payload"]?["sessionID"]?.string == "ses_1")
        #expect(push["headers"]?["authorization"] == nil)
    }
}

extension RunningSimulator {
    /// Sends a push with other headers.
    func push(in environment: PushEnvironment = .production, _ headers: [String: String]) async throws
        -> PushAnswer
    {
        try await push(Self.payload, to: Self.deviceToken, in: environment, headers)
    }
}
