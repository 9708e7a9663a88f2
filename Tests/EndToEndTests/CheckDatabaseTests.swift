import CSQLite
import ChildProcess
import Foundation
import Glibc
import JSON
import Network
import Testing

/// `relay check` on faulty databases, and while a relay is running.
@Suite("relay check: databases and devices", .timeLimit(.minutes(3)))
struct CheckDatabaseTests {
    private static let secret = "a secret of the check's tests"

    // MARK: Databases

    @Test("a newer schema than this relay's, or an unreleased one; neither is changed")
    func schema() async throws {
        try await CheckStand.run { stand in
            let database = try #require(stand.environment["DATABASE_URL"])
            let path = stand.directory.file("relay.db")
            let migration = try Program("relay", ["migrate"], environment: ["DATABASE_URL": database])
            #expect(try await migration.ended() == 0)
            let current = try await stand.check()
            #expect(current.status == 0 && current.warned == ["no_devices"], "\(current)")
            #expect(current.text("database").contains("succeeded (rolled back)"), "\(current)")

            try change(path, "INSERT INTO relay_schema (version, summary) VALUES (99, 'of a later relay')")
            let newer = try await stand.check()
            #expect(newer.status == 1 && newer.failed == ["schema_newer"], "\(newer)")
            #expect(newer.text("schema_newer").contains("99"), "\(newer)")
            try change(path, "UPDATE relay_schema SET summary = 'device_registration and delivery_log'")
            let unreleased = try await stand.check()
            #expect(unreleased.status == 1, "\(unreleased)")
            #expect(unreleased.output.contains("start with an empty database"), "\(unreleased)")
            #expect(try rows(path, "device_registration") == 0)
            #expect(try rows(path, "pending_push") == 0)
        }
    }

    @Test("a missing directory, another program's file, an unwritable directory")
    func files() async throws {
        try await CheckStand.run { stand in
            let folder = stand.directory.file("missing")
            let missing = try await stand.check(["DATABASE_URL": "sqlite:\(folder)/relay.db"])
            #expect(missing.status == 1 && missing.failed == ["database_folder"], "\(missing)")
            #expect(!FileManager.default.fileExists(atPath: folder))

            let path = try stand.write(
                "not a database, but long enough to be taken for one\n", to: "other.db")
            let other = try await stand.check(["DATABASE_URL": "sqlite:" + path])
            #expect(other.status == 1 && other.failed == ["database_unusable"], "\(other)")
        }
    }

    @Test("a directory and a file that the relay's user can't write")
    func readOnly() async throws {
        try await CheckStand.run { stand in
            let folder = stand.directory.file("closed")
            mkdir(folder, 0o755)
            let url = "sqlite:\(folder)/relay.db"
            let migration = try Program("relay", ["migrate"], environment: ["DATABASE_URL": url])
            #expect(try await migration.ended() == 0)
            for name in ["", "/relay.db", "/relay.db-writer"] {
                chmod(folder + name, name.isEmpty ? 0o555 : 0o444)
            }
            defer { chmod(folder, 0o755) }
            // Root may write everywhere, so the check runs as another user.
            chmod(stand.directory.path, 0o755)
            for name in ["key.p8", "simulator.pem"] { chmod(stand.directory.file(name), 0o644) }
            let environment = stand.environment.merging(["DATABASE_URL": url]) { $1 }
            let result = try await CheckResult(
                Program(asNobody: "relay", ["check", "--json"], environment: environment))
            #expect(result.status == 1 && result.failed == ["database_read_only"], "\(result)")
        }
    }

    @Test("a missing and a silent database server; no password is shown")
    func servers() async throws {
        try await CheckStand.run { stand in
            let silent = try await FakeServer(on: stand.loop)
            for scheme in ["postgres", "mysql"] {
                let refused = try await stand.check([
                    "DATABASE_URL": "\(scheme)://ada:hunter2@127.0.0.1:1/relay"
                ])
                #expect(refused.status == 1 && refused.failed == ["database_unreachable"], "\(refused)")
                #expect(!refused.output.contains("hunter2"))
                let slow = try await stand.check([
                    "DATABASE_URL": "\(scheme)://ada:hunter2@127.0.0.1:\(silent.port)/relay",
                    "RELAY_DATABASE_TIMEOUT": "1s",
                ])
                #expect(slow.status == 1, "\(slow)")
                #expect(["database_silent", "database_unreachable"].contains(slow.failed.first), "\(slow)")
                #expect(!slow.output.contains("hunter2"))
            }
        }
    }

    @Test(
        "a database server with a wrong password, an older schema, a newer schema, and a correct one",
        .enabled(if: ServerUnderTest.areThere, "left out: no servers"), arguments: ServerUnderTest.versions)
    func server(_ server: ServerUnderTest) async throws {
        let url = try server.makeDatabase()
        try await CheckStand.run { stand in
            let new = try await stand.check(["DATABASE_URL": url])
            #expect(new.status == 0 && new.text("clock").contains("as the database server's"), "\(new)")
            let migration = try Program("relay", ["migrate"], environment: ["DATABASE_URL": url])
            #expect(try await migration.ended() == 0)
            let current = try await stand.check(["DATABASE_URL": url])
            #expect(current.status == 0 && current.warned == ["no_devices"], "\(current)")
            #expect(current.text("database").contains("succeeded (rolled back)"), "\(current)")

            let at = try #require(url.lastIndex(of: "@"))
            let colon = try #require(url[..<at].lastIndex(of: ":"))
            let wrong = url[...colon] + "wr0ng-password" + url[at...]
            let refused = try await stand.check(["DATABASE_URL": String(wrong)])
            #expect(refused.status == 1 && refused.failed == ["database_refused"], "\(refused)")
            #expect(!refused.output.contains("wr0ng-password"))

            try server.run("INSERT INTO relay_schema (version, summary) VALUES (99, 'later')", at: url)
            let newer = try await stand.check(["DATABASE_URL": url])
            #expect(newer.status == 1 && newer.failed == ["schema_newer"], "\(newer)")
        }
    }

    @Test(
        "a server without a free connection for the account",
        .enabled(if: ServerUnderTest.areThere, "left out: no servers"), arguments: ServerUnderTest.all)
    func crowded(_ server: ServerUnderTest) async throws {
        let administrator = try server.makeDatabase()
        let name = "relay_\(UInt32.random(in: .min ... .max))"
        let isPostgres = server.name == "postgres"
        try server.run(
            isPostgres
                ? "CREATE USER \(name) LOGIN PASSWORD 'hunter2' CONNECTION LIMIT 1"
                : "CREATE USER \(name)@'%' IDENTIFIED BY 'hunter2' WITH MAX_USER_CONNECTIONS 1",
            at: administrator)
        let at = try #require(administrator.lastIndex(of: "@"))
        let scheme = try #require(administrator.range(of: "://"))
        let slash = try #require(administrator.lastIndex(of: "/"))
        let database = administrator[administrator.index(after: slash)...].prefix { $0 != "?" }
        if !isPostgres { try server.run("GRANT ALL ON \(database).* TO \(name)@'%'", at: administrator) }
        let url = administrator[..<scheme.upperBound] + "\(name):hunter2" + administrator[at...]
        try await CheckStand.run { stand in
            try await server.connected(to: String(url)) {
                let checked = try await stand.check(["DATABASE_URL": String(url)])
                #expect(checked.failed == ["database_crowded"], "\(checked)")
                #expect(checked.output.contains("lower RELAY_DATABASE_CONNECTIONS"), "\(checked)")
                #expect(!checked.output.contains("hunter2"))
            }
        }
    }

    // MARK: Devices

    @Test(
        "alongside a running relay: the file's owner, readiness, a secret's devices and their pushes"
    )
    func devices() async throws {
        try await Stack.run(simulator: ["--unknown-tokens", "accept"]) { stack in
            let port = stack.http.endpoint.port
            let more = ["PORT": String(port), "RELAY_SECRET": Self.secret]
            let none = try await check(stack, more)
            #expect(none.failed == ["secret_without_devices"], "\(none)")
            #expect(none.text("relay").contains("running and ready"), "\(none)")

            for number in 0..<2 { try await stack.register(Self.secret, token(number)) }
            // APNs' timestamp is older than the registration, so the device stays.
            let gone: JSON.Value = ["token": .string(token(1)), "state": "unregistered", "since": 1_000]
            try await stack.control.put("/tokens", gone)
            #expect(try await stack.event(Self.secret).failed == 1)
            let result = try await eventually {
                try await check(stack, more)
            } until: {
                $0.text("device").contains("the last push was accepted")
            }
            #expect(result.status == 1 && result.failed == ["device_unregistered"], "\(result)")
            #expect(result.text("device_unregistered").contains("…" + token(1).suffix(8)), "\(result)")
            #expect(result.text("database").contains("process \(stack.relay.processIdentifier)"), "\(result)")
            for hidden in [Self.secret, token(0), token(1)] { #expect(!result.output.contains(hidden)) }

            let before = try await stack.control.pushes(token: token(0)).count
            let sent = try await check(stack, more, ["--send"])
            #expect(sent.text("send").contains("APNs accepted a test push"), "\(sent)")
            #expect(try await stack.control.pushes(token: token(0)).count == before + 1)
            // The check changes nothing: the device unknown to APNs is still registered.
            #expect(
                try await check(stack, more).text("device_unregistered").contains("…" + token(1).suffix(8)))
        }
    }

    @Test("devices whose time zone the system doesn't know, with their secret and without")
    func timeZones() async throws {
        try await Stack.run { stack in
            for (number, zone) in ["Asia/Calcutta", "Mars/Olympus"].enumerated() {
                let wish: JSON.Value = [
                    "secret": .string(Self.secret), "deviceToken": .string(token(number)),
                    "preferences": ["timeZone": .string(zone)],
                ]
                let answer = try await stack.http.post("/v1/device/register", wish.object ?? JSON.Object())
                #expect(answer.status == 200, "\(answer.text)")
            }
            let port = ["PORT": String(stack.http.endpoint.port)]
            let all = try await check(stack, port)
            #expect(all.status == 0 && all.warned == ["time_zones_unknown"], "\(all)")
            #expect(all.text("time_zones_unknown").contains("1 of 2 devices"), "\(all)")
            let own = try await check(stack, port.merging(["RELAY_SECRET": Self.secret]) { $1 })
            #expect(own.warned == ["time_zones_unknown", "preferences_ignored"], "\(own)")
            #expect(own.text("preferences_ignored").contains("…" + token(1).suffix(8)), "\(own)")
        }
    }

    @Test("a relay whose key APNs refuses isn't ready, and says so")
    func notReady() async throws {
        try await Stack.run { stack in
            try await stack.control.put("/rules", ["reason": "InvalidProviderToken"])
            try await stack.register(Self.secret, token(1))
            _ = try await stack.event(Self.secret)
            let result = try await check(stack, ["PORT": String(stack.http.endpoint.port)])
            #expect(result.failed == ["provider_token_refused", "relay_not_ready"], "\(result)")
            #expect(result.text("relay_not_ready").contains("InvalidProviderToken"), "\(result)")
        }
    }

    @Test("another program on the relay's port isn't taken for a relay")
    func otherServer() async throws {
        try await CheckStand.run { stand in
            let web = try await FakeServer(
                on: stand.loop, says: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            let result = try await stand.check(["PORT": String(web.port)])
            #expect(result.status == 0 && result.warned == ["address_taken", "relay_unknown"], "\(result)")
        }
    }

    // MARK: Helpers

    private func check(
        _ stack: Stack, _ changes: [String: String], _ arguments: [String] = []
    ) async throws -> CheckResult {
        let environment = stack.environment.merging(changes) { $1 }
        return try await CheckResult(
            Program("relay", ["check", "--json"] + arguments, environment: environment))
    }

    private func change(_ path: String, _ sql: String) throws {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        guard sqlite3_open(path, &database) == SQLITE_OK,
            sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK
        else { throw Program.Failure(description: "\(sql): \(String(cString: sqlite3_errmsg(database)))") }
    }

    private func rows(_ path: String, _ table: String) throws -> Int {
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK,
            sqlite3_prepare_v2(database, "SELECT count(*) FROM \(table)", -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { throw Program.Failure(description: "the database \(path) can't be read") }
        return Int(sqlite3_column_int64(statement, 0))
    }
}
