import ChildProcess
import Foundation
import JSON
import Network
import Storage
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CopyTests {
    private static let secret = "a secret of the test"

    private struct Run {
        let status: Int32
        let output: String
    }

    @discardableResult
    private func copy(_ from: CopyPlace, _ to: CopyPlace) async throws -> Run {
        let environment = ["RELAY_COPY_FROM": from.url, "RELAY_COPY_TO": to.url]
        let program = try Program("relay", ["copy"], environment: environment)
        let status = try await program.ended()
        return Run(status: status, output: program.output)
    }

    /// Makes a source with ten devices, ten log rows and five waiting pushes, and an empty target.
    private func places(_ route: CopyRoute, _ directory: TemporaryDirectory) async throws -> (
        CopyPlace, CopyPlace
    ) {
        let source = try CopyPlace(route.from, in: directory, "source.db")
        let target = try CopyPlace(route.to, in: directory, "target.db")
        let migrate = try Program("relay", ["migrate"], environment: ["DATABASE_URL": source.url])
        guard try await migrate.ended() == 0 else { throw Program.Failure(description: migrate.output) }
        let payload = route.from == "sqlite" ? "CAST('{}' AS blob)" : "'{}'"
        var statements: [String] = []
        for number in 0..<10 {
            statements.append(Self.device(number))
            statements.append(
                """
                INSERT INTO delivery_log (id, secret_hash, event_type, session_id, status, created_at)
                VALUES ('log \(number)', 'hash', 'complete', 'ses_1', 'sent', \(number))
                """)
        }
        for number in 0..<5 {
            statements.append(
                """
                INSERT INTO pending_push (secret_hash, id, device_id, event_type, session_id, payload, push_type,
                    priority, attempts, due_at, created_at, expires_at)
                VALUES ('hash', 'push \(number)', 'device \(number)', 'complete', 'ses_1', \(payload), 'alert',
                    10, 1, 4000000000000, 1, 4000000000001)
                """)
        }
        try source.run(statements)
        return (source, target)
    }

    private static func device(_ number: Int) -> String {
        """
        INSERT INTO device_registration (id, secret_hash, device_token, bundle_id, created_at, updated_at)
        VALUES ('device \(number)', 'hash', '\(token(number))', 'com.example.app', 1, 1)
        """
    }

    // MARK: A copy and its databases

    @Test("relay copy copies registrations; a relay that uses the copy sends to the same devices")
    func serves() async throws {
        try await Stack.run { stack in
            for number in 0..<3 { try await stack.register(Self.secret, token(number)) }
            let source = try CopyPlace("sqlite", in: stack.directory, "relay.db")
            let target = try CopyPlace("sqlite", in: stack.directory, "copy.db")
            // The source's relay is still writing.
            for (from, to) in [(source, target), (target, source)] {
                let refused = try await copy(from, to)
                #expect(refused.status == 69, "\(refused.output)")
            }
            try await stack.relay.stop()
            let first = try await copy(source, target)
            #expect(first.status == 0, "\(first.output)")
            #expect(first.output.contains("device_registration: 3 rows"))
            try await stack.restartRelay(["DATABASE_URL": target.url])
            #expect(try await stack.event(Self.secret).sent == 3)
            try await stack.relay.stop()
            let occupied = try await copy(source, target)
            #expect(occupied.status == 65)
            #expect(occupied.output.contains("already has 3 rows in device_registration"))
            try await stack.restartRelay(["DATABASE_URL": target.url])
            #expect(try await stack.event(Self.secret).sent == 3)
        }
    }

    @Test(
        "A copy whose source changed meanwhile isn't used by relays, is reported with advice, and fixed by the next run",
        arguments: CopyRoute.available)
    func changedSource(_ route: CopyRoute) async throws {
        let directory = try TemporaryDirectory()
        let (source, target) = try await places(route, directory)
        let first = try await copy(source, target)
        #expect(first.status == 0, "\(first.output)")
        #expect(first.output.contains("no relay may use") == (route.from != "sqlite" || route.to != "sqlite"))
        // As if the copy had been killed before the comparison, and the source's relay had kept running.
        let name = try #require(first.output.firstMatch(of: /has all of (.*) \(\d+ s\)/)?.output.1)
        try target.run([
            "CREATE TABLE relay_copy (table_name varchar(64) PRIMARY KEY, source varchar(64), is_different integer)",
            "INSERT INTO relay_copy VALUES ('pending_push', '\(Digest256(of: Array(name.utf8)).hex)', 0)",
        ])
        try source.run(["DELETE FROM pending_push WHERE id = 'push 1'"])
        let report = try await copy(source, target)
        #expect(report.status == 65)
        #expect(report.output.contains("pending_push: 4 rows with checksum"), "\(report.output)")
        #expect(report.output.contains("Then run the same command again."))
        let serve = try Program("relay", ["check", "--json"], environment: ["DATABASE_URL": target.url])
        #expect(try await serve.ended() != 0)
        #expect(serve.output.contains("unfinished copy"))
        let again = try await copy(source, target)
        #expect(again.status == 0, "\(again.output)")
        #expect(try target.contents() == source.contents())
    }

    // MARK: A copy that fails

    @Test("A first copy that can't read its source leaves no file behind, and says so")
    func missingSource() async throws {
        let directory = try TemporaryDirectory()
        let missing = try CopyPlace("sqlite", in: directory, "missing.db")
        let target = try CopyPlace("sqlite", in: directory, "target.db")
        let run = try await copy(missing, target)
        #expect(run.status == 69)
        #expect(run.output.contains("missing.db"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }

    @Test("A first copy whose target can't be written says so; the next one succeeds")
    func brokenTarget() async throws {
        let directory = try TemporaryDirectory()
        let (source, target) = try await places(CopyRoute(from: "sqlite", to: "sqlite"), directory)
        // The write-ahead log can't be created because a directory has its name.
        let log = directory.file("target.db-wal")
        try FileManager.default.createDirectory(atPath: log + "/x", withIntermediateDirectories: true)
        let run = try await copy(source, target)
        #expect(run.status == 69, "\(run.output)")
        #expect(run.output.contains("target.db"))
        try FileManager.default.removeItem(atPath: log)
        #expect(try await copy(source, target).status == 0)
        #expect(try target.contents() == source.contents())
    }

    @Test(
        "A first copy that can't read its source makes no tables in a server's database",
        .enabled(if: ServerUnderTest.areThere), arguments: ["postgres", "mariadb"])
    func missingSourceForServer(_ engine: String) async throws {
        let directory = try TemporaryDirectory()
        let missing = try CopyPlace("sqlite", in: directory, "missing.db")
        let target = try CopyPlace(engine, in: directory, "")
        #expect(try await copy(missing, target).status == 69)
        let schema = engine == "postgres" ? "current_schema()" : "database()"
        let tables = try target.rows(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = \(schema)", columns: 1)
        #expect(tables.isEmpty)
    }
}
