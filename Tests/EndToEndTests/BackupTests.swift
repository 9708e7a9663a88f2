import ChildProcess
import Foundation
import Testing

/// `relay backup` while a relay is running, and `relay restore` while none is.
@Suite("Backup and restore", .timeLimit(.minutes(4)))
struct BackupTests {
    private static let secret = "a secret of the test"

    @Test("What was registered before the backup rings after the restore, and what came later doesn't")
    func roundTrip() async throws {
        try await Stack.run { stack in
            let backup = stack.directory.file("backup.db")
            try await stack.register(Self.secret, token(1))
            let made = try await CommandRun(["backup", backup], on: stack)
            #expect(made.status == 0 && made.output.contains("1 device, schema version"), "\(made.output)")
            #expect(try await CommandRun(["backup", backup], on: stack).status == 73)
            #expect(try await CommandRun(["backup", backup, "--replace"], on: stack).status == 0)
            try await stack.register(Self.secret, token(2))
            #expect(try await stack.event(Self.secret).sent == 2)

            let running = try await CommandRun(["restore", backup, "--replace"], on: stack)
            #expect(
                running.status == 69 && running.output.contains("Stop the relay first."), "\(running.output)")
            try await stack.relay.stop()
            let careful = try await CommandRun(["restore", backup], on: stack)
            #expect(careful.status == 73 && careful.output.contains("--replace"), "\(careful.output)")
            #expect(try await CommandRun(["restore", backup + ".missing"], on: stack).status == 66)
            #expect(try await CommandRun(["restore", "/etc/passwd", "--replace"], on: stack).status == 65)
            #expect(try await CommandRun(["restore", "--replace"], on: stack).status == 64)
            let restored = try await CommandRun(["restore", backup, "--replace"], on: stack)
            #expect(restored.status == 0, "\(restored.output)")
            try await stack.restartRelay()
            #expect(try await stack.event(Self.secret).sent == 1)
        }
    }

    @Test("A database server is backed up with its own tools, which the message names")
    func servers() async throws {
        try await Stack.run { stack in
            for (url, tool) in [
                ("postgres://u:hidden@db.example.org/relay", "pg_dump"),
                ("mysql://u:hidden@db.example.org/relay", "mariadb-dump"),
            ] {
                let run = try await CommandRun(["backup", "relay.db"], on: stack, ["DATABASE_URL": url])
                #expect(run.status == 78 && run.output.contains(tool), "\(run.output)")
                #expect(!run.output.contains("hidden"))
            }
        }
    }
}
