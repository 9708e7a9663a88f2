import ChildProcess
import Foundation
import Glibc
import JSON
import Testing

@Suite("The relay on an installed host", .timeLimit(.minutes(2)))
struct InstalledHostTests {
    private static let relay = Program.products.appendingPathComponent("relay").path

    /// Runs a script as root with /etc and /var/lib empty except for a user's state directory and the settings.
    private static func onHost(_ script: String) async throws -> String {
        let host = """
            set -eu
            mount -t tmpfs none /etc && mount -t tmpfs none /var/lib
            install -d -o 65534 -g 65534 -m 700 /var/lib/relay && install -d -m 750 /etc/relay
            printf '# settings\\n#DATABASE_URL=sqlite:relay.db\\nRELAY_LOG_LEVEL="debug"\\n' >/etc/relay/relay.env
            chmod 640 /etc/relay/relay.env
            cd /
            \(script)
            """
        let program = try Program(
            tool: "/usr/bin/unshare", ["--mount", "--propagation", "private", "/bin/sh", "-c", host],
            environment: ["RELAY": relay, "RELAY_SECRET": "a secret of the test"])
        let status = try await program.ended()
        guard status == 0 else { throw Program.Failure(description: "\(status): \(program.output)") }
        return program.output
    }

    @Test(
        "Commands that root runs find settings and database by themselves, and every file stays the service's",
        .enabled(if: geteuid() == 0))
    func rootCommands() async throws {
        let output = try await Self.onHost(
            """
            $RELAY migrate; $RELAY devices; $RELAY stats >/dev/null; $RELAY revoke --yes
            cd /var/lib/relay && $RELAY copy --from sqlite:relay.db --to sqlite:other.db >/dev/null 2>&1
            stat -c '%u:%g %n' /var/lib/relay/*
            """)
        #expect(output.contains("SQLite /var/lib/relay/relay.db is now at version"), "\(output)")
        #expect(output.contains("0 devices") || output.contains("no devices"), "\(output)")
        let files = output.split(separator: "\n").filter {
            $0.contains(" /var/lib/relay/") && $0.contains(":65534 ")
        }
        #expect(
            files.contains { $0.hasSuffix("relay.db-writer") } && files.contains { $0.hasSuffix("other.db") })
        #expect(!output.contains("0:0 /var/lib/relay"), "\(output)")
    }

    @Test("A relay that root starts gives its files to the database's owner", .enabled(if: geteuid() == 0))
    func rootServes() async throws {
        try await Stack.run { stack in
            let folder = stack.directory.file("state")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            guard chown(folder, 65534, 65534) == 0 else { throw Program.Failure(description: "chown") }
            var environment = stack.environment
            environment["DATABASE_URL"] = "sqlite:" + folder + "/relay.db"
            let served = try Program("relay", ["serve"], environment: environment)
            _ = try await Stack.listening(served)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.contains("relay.db-writer") && files.contains("relay.db-wal"), "\(files)")
            for name in files {
                var info = stat()
                #expect(stat(folder + "/" + name, &info) == 0 && info.st_uid == 65534, "\(name)")
            }
            #expect(try await served.stop() == 0)
        }
    }

    @Test(
        "A symbolic link that the service's user left in place of the lock isn't followed",
        .enabled(if: geteuid() == 0))
    func links() async throws {
        let output = try await Self.onHost(
            """
            echo precious >/etc/precious
            export DATABASE_URL=sqlite:/var/lib/relay/relay.db
            $RELAY migrate >/dev/null
            ln -s /etc/precious /var/lib/relay/other.db-writer
            $RELAY copy --from $DATABASE_URL --to sqlite:/var/lib/relay/other.db || true
            cat /etc/precious
            """)
        #expect(output.hasSuffix("precious"), "\(output)")
    }

    @Test("A given settings file supplies settings missing in the environment; a missing file is reported")
    func envFile() async throws {
        try await Stack.run { stack in
            let file = stack.directory.file("relay.env")
            let url = try #require(stack.environment["DATABASE_URL"])
            try "DATABASE_URL='\(url)'\n".write(toFile: file, atomically: true, encoding: .utf8)
            try await stack.register("a secret of the test", token(1))
            let given = ["RELAY_SECRET": "a secret of the test"]
            let found = try Program("relay", ["devices", "--env-file", file], environment: given)
            #expect(try await found.ended() == 0)
            #expect(found.output.contains("1 device"), "\(found.output)")
            let missing = try Program("relay", ["devices", "--env-file", file + "x"], environment: given)
            #expect(try await missing.ended() == 78)
            #expect(missing.output.contains("relay.envx\" can't be read: No such file"), "\(missing.output)")
            let serve = try Program(
                "relay", ["serve", "--env-file", file, "--port", "0"],
                environment: stack.environment.filter { $0.key != "DATABASE_URL" })
            #expect(try await serve.ended() == 69)
            #expect(serve.output.contains("relay.db-writer is locked by process"), "\(serve.output)")
        }
    }

    @Test("serve's final error is a JSON line if the log is JSON, otherwise plain text")
    func fatalLines() async throws {
        let wrong = ["PORT": "x", "HOST": "y", "APNS_TEAM_ID": "ABCDE12345"]
        let json = try Program("relay", ["serve"], environment: wrong)
        #expect(try await json.ended() == 78)
        let lines = try json.lines.map { try JSON.parse(Array($0.utf8), maxBytes: 65_536) }
        #expect(
            lines.count >= 3
                && lines.allSatisfy { $0["event"]?.string == "fatal" && $0["level"]?.string == "error" })
        #expect(lines.contains { $0["error"]?.string?.hasPrefix("PORT is \"x\"") == true }, "\(json.output)")
        let usage = try Program("relay", ["--prot", "1"])
        #expect(try await usage.ended() == 64)
        #expect(
            try JSON.parse(Array(usage.output.utf8), maxBytes: 65_536)["error"]?.string?.contains("--port")
                == true)
        let text = try Program(
            "relay", ["serve"], environment: wrong.merging(["RELAY_LOG_FORMAT": "text"]) { $1 })
        #expect(try await text.ended() == 78)
        #expect(text.lines.first?.hasPrefix("relay: ") == true, "\(text.output)")
        let taken = try Program(
            "relay", ["migrate", "--database-url", "sqlite:/nowhere/r.db"],
            environment: ["RELAY_LOG_FORMAT": "json"])
        #expect(try await taken.ended() == 69)
        #expect(try JSON.parse(Array(taken.output.utf8), maxBytes: 65_536)["event"]?.string == "fatal")
    }

    @Test("A second relay on one SQLite file says so at once, waits for the first to end, and takes over")
    func secondRelay() async throws {
        try await Stack.run { stack in
            let second = try Program("relay", ["serve"], environment: stack.environment)
            let line = try await second.line("the file is taken") { $0.contains("database.waiting") }
            #expect(line.contains("locked by process \(stack.relay.processIdentifier)"), "\(line)")
            #expect(try await stack.relay.stop() == 0)
            _ = try await Stack.listening(second)
            #expect(try await second.stop() == 0)
            try await stack.restartRelay()
        }
    }
}
