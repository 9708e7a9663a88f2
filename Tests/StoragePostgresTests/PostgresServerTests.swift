import Foundation
import Glibc
import OwnThread
import Storage
import StorageContract
import Testing

@testable import StoragePostgres

/// Behaviour that only Postgres shows.
@Suite(
    "A Postgres server", .enabled(if: PostgresServer.url != nil, PostgresServer.leftOut),
    .timeLimit(.minutes(2)), .ownThread)
struct PostgresServerTests {
    private func withDatabase(
        _ body: (PostgresDatabase) async throws -> Void
    ) async throws {
        let database = try PostgresDatabase()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(database))
        } catch {
            outcome = .failure(error)
        }
        await database.destroy()
        try outcome.get()
    }

    @Test("A transaction that the server takes back to end a deadlock is run again")
    func deadlock() async throws {
        try await withDatabase { database in
            // A session that has waited this long looks for a deadlock and gives up: the storage, never the test.
            try PostgresServer.administer("ALTER DATABASE \(database.name) SET deadlock_timeout = '6s'")
            let storage = try await database.open(.patient)
            let key = Samples.key("secret")
            _ = try await storage.register(Samples.registration("aa"), under: key, deviceLimit: 9)
            let other = try database.connect()
            other.deadline = .now + .seconds(60)
            try other.run("SET deadlock_timeout = '120s'")
            try other.run("BEGIN")
            _ = try other.execute(
                """
                INSERT INTO device_registration
                    (id, secret_hash, device_token, bundle_id, created_at, updated_at)
                VALUES ('x', ?, 'bb', 'x', 0, 0)
                """, [.hash(key.primary)])
            // The registration takes its secret's lock and then waits for the test's row.
            async let result = storage.register(Samples.registration("bb"), under: key, deviceLimit: 9)
            let began = ContinuousClock.now
            let waiting =
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
            while try other.integer(waiting) == 0, ContinuousClock.now - began < .seconds(20) {
                try await Task.sleep(for: .milliseconds(5))
            }
            // The test waits for the secret's lock: a deadlock, which ends because the storage is chosen as its victim.
            let locked = try other.execute(
                "UPDATE secret_lock SET registrations = 0 WHERE secret_hash = ?", [.hash(key.primary)])
            #expect(locked == 1)
            try other.run("ROLLBACK")
            #expect(try await result == .created)
            #expect(try await storage.devices(of: key).map(\.token).sorted() == ["aa", "bb"])
            await storage.close()
        }
    }

    @Test("A wrong password and a database that isn't there are refused, not waited for")
    func refused() async throws {
        let url = try #require(PostgresServer.url)
        let at = try #require(url.lastIndex(of: "@"))
        for wrong in [
            "postgres://relay:wrong" + url[at...], try PostgresServer.url(database: "relay_is_not_here"),
        ] {
            let error = await #expect(throws: StorageError.self) {
                _ = try await PostgresStorage.open(try PostgresLocation(url: wrong), options: .patient)
            }
            guard case .refused = error else {
                Issue.record("got \(String(describing: error))")
                continue
            }
        }
    }

    @Test(
        "A search path without a schema is told as such, not as a right that lacks",
        arguments: ["''", "nowhere"])
    func searchPath(_ path: String) async throws {
        try await withDatabase { database in
            try PostgresServer.administer("ALTER DATABASE \(database.name) SET search_path = \(path)")
            let opening = await #expect(throws: StorageError.self) { _ = try await database.open() }
            let checking = await #expect(throws: StorageError.self) {
                _ = try await PostgresStorage.inspection(
                    at: database.location, options: .patient, id: Samples.id()
                ) { Samples.time }
            }
            for error in [opening, checking] {
                guard case .unsuitable(let detail) = error else {
                    Issue.record("got \(String(describing: error))")
                    continue
                }
                #expect(detail.contains("search_path") && !detail.contains("GRANT CREATE ON SCHEMA"))
            }
        }
    }

    @Test("TLS is verified as the URL asks")
    func tls() async throws {
        let directory = try #require(getenv("RELAY_TEST_TLS").map { String(cString: $0) })
        try await withDatabase { database in
            func open(_ query: String, host: String) async throws(StorageError) {
                let url = try? PostgresServer.url(database: database.name, query: query)
                    .replacing("127.0.0.1", with: host)
                guard let location = try? PostgresLocation(url: url ?? "") else {
                    throw .internalFault(logDetail: "the URL")
                }
                let storage = try await PostgresStorage.open(location, options: .patient)
                await storage.close()
            }
            let ca = "sslrootcert=\(directory)/ca.pem"
            try await open("?sslmode=verify-full&\(ca)", host: "localhost")
            try await open("?sslmode=verify-ca&\(ca)", host: "127.0.0.1")
            for (query, host) in [
                ("?sslmode=verify-full&\(ca)", "127.0.0.1"),
                ("?sslmode=verify-full&sslrootcert=\(directory)/other-ca.pem", "localhost"),
                ("?sslmode=verify-ca&sslrootcert=\(directory)/other-ca.pem", "127.0.0.1"),
            ] {
                let error = await #expect(throws: StorageError.self, "\(query) \(host)") {
                    try await open(query, host: host)
                }
                guard case .refused = error else {
                    Issue.record("\(query) \(host) got \(String(describing: error))")
                    continue
                }
            }
        }
    }

    @Test("Of several hosts the one is used that answers and may be written")
    func hosts() async throws {
        try await withDatabase { database in
            let proxy = try CuttingProxy(before: database.port)
            proxy.refuse()
            let good = "127.0.0.1:\(database.port)"
            let url = try PostgresServer.url(
                database: database.name, query: "?target_session_attrs=read-write"
            ).replacing(good, with: "127.0.0.1:\(proxy.port),\(good)")
            let storage = try await PostgresStorage.open(try PostgresLocation(url: url), options: .patient)
            try await storage.ping()
            await storage.close()
            proxy.end()
        }
    }
}
