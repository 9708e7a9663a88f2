import Foundation
import JSON
import Network
import Storage
import StorageMySQL
import StoragePostgres
import Testing

/// Schedules, with relays and database servers as separate processes.
@Suite(
    "Relays that share schedules",
    .enabled(
        if: ServerUnderTest.areThere,
        "left out: no servers; Tests/Support/databases run swift test starts them"),
    .timeLimit(.minutes(5)), .serialized)
struct ScheduleTests {
    private static let secrets = (0..<10).map { "secret \($0) of the test" }

    @Test("deliver each occurrence once", arguments: ServerUnderTest.all)
    func twoRelays(_ server: ServerUnderTest) async throws {
        let url = try server.makeDatabase()
        try await Stack.run(["DATABASE_URL": url]) { stack in
            let other = try Program("relay", ["serve"], environment: stack.environment)
            _ = try await Stack.listening(other)
            let titles = try await schedule(30, of: stack, server, url)
            try await expectDone(server, url)
            #expect(try await pushed(stack) == titles)
            #expect(try await other.stop() == 0)
        }
    }

    @Test(
        "lose and repeat nothing if one is killed between sending and advancing a schedule",
        arguments: ServerUnderTest.all)
    func killed(_ server: ServerUnderTest) async throws {
        let url = try server.makeDatabase()
        try await Stack.run(["DATABASE_URL": url]) { stack in
            for statement in Self.refusing(server) { try server.run(statement, at: url) }
            let titles = try await schedule(3, of: stack, server, url)
            // All occurrences are sent and answered, but none of the rows has been removed.
            let answered = try await eventually {
                try server.integer(
                    "SELECT count(*) FROM event_receipt WHERE answer IS NOT NULL", at: url)
            } until: {
                $0 == titles.count
            }
            #expect(answered == titles.count)
            stack.relay.signal(SIGKILL)
            _ = try await stack.relay.ended()
            #expect(try server.integer("SELECT count(*) FROM schedule", at: url) == titles.count)
            for statement in Self.allowing(server) { try server.run(statement, at: url) }
            // Ends the leases now instead of waiting until they expire.
            try server.run("UPDATE schedule SET lease_until = 1", at: url)
            try await stack.restartRelay()
            try await expectDone(server, url)
            #expect(try await pushed(stack) == titles)
        }
    }

    // MARK: Parts

    /// Schedules notifications that are due now for each secret, and returns their titles in order.
    private func schedule(
        _ count: Int, of stack: Stack, _ server: ServerUnderTest, _ url: String
    ) async throws -> [String] {
        let storage: any Storage =
            switch server.name {
            case "postgres": try await PostgresStorage.open(try PostgresLocation(url: url))
            default: try await MySQLStorage.open(try MySQLLocation(url: url))
            }
        var titles: [String] = []
        do {
            var generator = SystemRandomNumberGenerator()
            let now = Int64(Date.now.timeIntervalSince1970 * 1000)
            for (index, secret) in Self.secrets.enumerated() {
                try await stack.register(secret, token(index))
                let key = SecretHasher().key(of: Secret(secret))
                for number in 0..<count {
                    let title = "\(index)-\(number)"
                    let schedule = Schedule(
                        id: UUIDv7(at: now, using: &generator), secretHash: key.primary, kind: .schedule,
                        content: #"{"route":"notify","body":{"notification":{"title":"\#(title)"}}}"#,
                        nextAt: now, lateBy: 3_600_000, createdAt: now)
                    guard try await storage.create(schedule, under: key, limit: 100) == .created else {
                        throw Program.Failure(description: "not scheduled")
                    }
                    titles.append(title)
                }
            }
        } catch {
            await storage.close()
            throw error
        }
        await storage.close()
        return titles.sorted()
    }

    private func expectDone(_ server: ServerUnderTest, _ url: String) async throws {
        let left = try await eventually {
            try server.integer("SELECT count(*) FROM schedule", at: url)
        } until: {
            $0 == 0
        }
        #expect(left == 0)
    }

    /// The titles of all pushes that APNs received, in order.
    private func pushed(_ stack: Stack) async throws -> [String] {
        try await stack.control.pushes().compactMap {
            $0["payload"]?["aps"]?["alert"]?["title"]?.string
        }.sorted()
    }

    /// Statements that make a database refuse to remove rows, as if it were unavailable.
    private static func refusing(_ server: ServerUnderTest) -> [String] {
        switch server.name {
        case "postgres":
            [
                """
                CREATE FUNCTION refuse() RETURNS trigger AS $$
                BEGIN RAISE EXCEPTION 'kept by the test'; END $$ LANGUAGE plpgsql
                """,
                "CREATE TRIGGER keep BEFORE DELETE ON schedule FOR EACH ROW EXECUTE FUNCTION refuse()",
            ]
        default:
            [
                """
                CREATE TRIGGER keep BEFORE DELETE ON schedule FOR EACH ROW
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'kept by the test'
                """
            ]
        }
    }

    private static func allowing(_ server: ServerUnderTest) -> [String] {
        server.name == "postgres" ? ["DROP TRIGGER keep ON schedule"] : ["DROP TRIGGER keep"]
    }
}
