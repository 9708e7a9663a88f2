import Foundation
import JSON
import Network
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CopyTests {
    private static let secret = "a secret of the test"

    private struct Run {
        let status: Int32
        let output: String
    }

    @discardableResult
    private func copy(_ from: CopyPlace, _ to: CopyPlace, _ more: String...) async throws -> Run {
        let environment = ["RELAY_COPY_FROM": from.url, "RELAY_COPY_TO": to.url]
        let program = try Program("relay", ["copy"] + more, environment: environment)
        let status = try await program.ended()
        return Run(status: status, output: program.output)
    }

    /// Makes a source with ten devices, ten rows of the log and five pushes that wait, and an empty place to copy to.
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
            // The source is only read, so its relay may go on running.
            let first = try await copy(source, target)
            #expect(first.status == 0)
            #expect(first.output.contains("device_registration: 3 rows"))
            // It has a writer already.
            let back = try await copy(target, source, "--merge")
            #expect(back.status == 69)
            try await stack.relay.stop()
            // As if it had been killed before it compared.
            try target.run(["UPDATE relay_copy SET is_done = 1, reached = NULL"])
            let environment = stack.environment.merging(["DATABASE_URL": target.url]) { $1 }
            let early = try Program("relay", ["serve"], environment: environment)
            #expect(try await early.ended() == 69)
            #expect(early.output.contains("unfinished copy"))
            #expect(try await copy(source, target).status == 0)
            try await stack.restartRelay(["DATABASE_URL": target.url])
            #expect(try await stack.event(Self.secret).sent == 3)
            try await stack.relay.stop()
            // A relay has used it, so it is no copy any more.
            let occupied = try await copy(source, target)
            #expect(occupied.status == 65)
            #expect(occupied.output.contains("--merge") && occupied.output.contains("nothing was copied"))
            #expect(try await copy(source, target, "--merge").status == 0)
            try await stack.restartRelay(["DATABASE_URL": target.url])
            #expect(try await stack.event(Self.secret).sent == 3)
        }
    }

    @Test(
        "Added, missing or changed rows of a finished copy are reported with advice; the next run fixes them",
        arguments: CopyRoute.available)
    func changedTarget(_ route: CopyRoute) async throws {
        let directory = try TemporaryDirectory()
        let (source, target) = try await places(route, directory)
        #expect(try await copy(source, target).status == 0)
        let changes = [
            (
                "device_registration: 3 rows only in", (10..<13).map(Self.device)
            ),
            (
                "delivery_log: 3 rows missing",
                ["DELETE FROM delivery_log WHERE id IN ('log 1', 'log 2', 'log 3')"]
            ),
            (
                "device_registration: 3 rows different",
                [
                    "UPDATE device_registration SET bundle_id = 'x' WHERE id IN ('device 1', 'device 2', 'device 3')"
                ]
            ),
        ]
        for (words, statements) in changes {
            try target.run(statements)
            let changed = try target.contents()
            let report = try await copy(source, target)
            #expect(report.status == 65)
            #expect(report.output.contains(words), "\(report.output)")
            #expect(report.output.contains("run the same command again"))
            #expect(!report.output.contains("on both sides"))
            #expect(try target.contents() == changed)
            let again = try await copy(source, target)
            #expect(again.status == 0, "\(again.output)")
            #expect(try target.contents() == source.contents())
        }
    }

    @Test(
        "Rows that the source deleted are gone after the next run, including waiting pushes",
        arguments: CopyRoute.available)
    func changedSource(_ route: CopyRoute) async throws {
        let directory = try TemporaryDirectory()
        let (source, target) = try await places(route, directory)
        // As if the relay had written while the pages were copied, and the copy was killed before it compared.
        #expect(try await copy(source, target).status == 0)
        try target.run(["UPDATE relay_copy SET is_done = 1, reached = NULL"])
        try source.run([
            "DELETE FROM pending_push WHERE id = 'push 1'",
            "DELETE FROM device_registration WHERE id = 'device 2'",
        ])
        let report = try await copy(source, target)
        #expect(report.status == 65)
        for table in ["pending_push", "device_registration"] {
            #expect(report.output.contains("\(table): 1 row only in"), "\(report.output)")
        }
        // Meanwhile no relay takes it for a database.
        let serve = try Program("relay", ["check", "--json"], environment: ["DATABASE_URL": target.url])
        #expect(try await serve.ended() != 0)
        #expect(serve.output.contains("unfinished copy"))
        let again = try await copy(source, target)
        #expect(again.status == 0, "\(again.output)")
        #expect(again.output.contains("(updated: 0 added, 0 replaced, 1 deleted)"))
        #expect(try target.contents() == source.contents())
        // A finished copy is brought up to date at once.
        try source.run(["DELETE FROM pending_push WHERE id = 'push 2'"])
        #expect(try await copy(source, target).status == 0)
        #expect(try target.contents() == source.contents())
    }

    @Test(
        "A copy from a running relay is equal or reports differences; one run after the relay's end makes it equal",
        arguments: CopyRoute.available)
    func running(_ route: CopyRoute) async throws {
        let directory = try TemporaryDirectory()
        let source = try CopyPlace(route.from, in: directory, "source.db")
        let target = try CopyPlace(route.to, in: directory, "target.db")
        try await Stack.run(["DATABASE_URL": source.url]) { stack in
            // Pushes to one device wait to be sent again.
            try await stack.control.put(
                "/rules",
                ["match": ["token": .string(token(1))], "reason": "ServiceUnavailable", "status": 503])
            for number in 0..<4 { try await stack.register(Self.secret, token(number)) }
            let writer = Task { try await Self.write(stack) }
            for _ in 0..<4 {
                let run = try await copy(source, target)
                #expect(run.status == 0 || run.status == 65, "\(run.output)")
                #expect(run.output.contains(run.status == 0 ? "on both sides" : "run the same command again"))
            }
            writer.cancel()
            #expect(try await writer.value > 0)
            try await Self.unregister(stack, token(3))
            #expect(try await stack.relay.stop() == 0)
            let last = try await copy(source, target)
            #expect(last.status == 0, "\(last.output)")
            let contents = try source.contents()
            #expect(try target.contents() == contents)
            #expect(contents.allSatisfy { !$0.value.isEmpty })
            try await stack.restartRelay()
        }
    }

    /// Registers, unregisters and sends until it is cancelled; how often.
    private static func write(_ stack: Stack) async throws -> Int {
        var rounds = 0
        while !Task.isCancelled {
            try await unregister(stack, token(2 + rounds % 2))
            _ = try await stack.event(secret, ["eventID": .string("event \(rounds)")])
            try await stack.register(secret, token(2 + rounds % 2))
            rounds += 1
        }
        return rounds
    }

    private static func unregister(_ stack: Stack, _ token: String) async throws {
        let body: JSON.Value = ["secret": .string(secret), "deviceToken": .string(token)]
        let text = String(decoding: body.encoded(), as: UTF8.self)
        #expect(try await stack.http.post("/v1/device/unregister", text).status == 200)
    }

    // MARK: A copy that fails

    @Test("A first copy that can't read its source leaves no file behind, and says so")
    func missingSource() async throws {
        let directory = try TemporaryDirectory()
        let missing = try CopyPlace("sqlite", in: directory, "missing.db")
        let target = try CopyPlace("sqlite", in: directory, "target.db")
        let run = try await copy(missing, target)
        #expect(run.status == 69)
        #expect(run.output.contains("missing.db") && run.output.contains("nothing was copied"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }

    @Test("A first copy whose target can't be written leaves no file behind")
    func brokenTarget() async throws {
        let directory = try TemporaryDirectory()
        let (source, target) = try await places(CopyRoute(from: "sqlite", to: "sqlite"), directory)
        // The write-ahead log can't be made where a folder has its name.
        let log = directory.file("target.db-wal")
        try FileManager.default.createDirectory(atPath: log + "/x", withIntermediateDirectories: true)
        let run = try await copy(source, target)
        #expect(run.status == 69, "\(run.output)")
        #expect(run.output.contains("removed"))
        try FileManager.default.removeItem(atPath: log)
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!files.contains { $0.hasPrefix("target.db") }, "\(files)")
        #expect(try await copy(source, target).status == 0)
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
