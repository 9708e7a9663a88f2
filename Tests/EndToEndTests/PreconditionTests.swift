import ChildProcess
import Foundation
import JSON
import Network
import Testing

/// `relay serve` and `relay check` as processes, on set-ups that `relay serve` refuses.
@Suite("relay check refuses what relay serve refuses", .timeLimit(.minutes(3)))
struct PreconditionTests {
    /// Expects `relay serve` to refuse a faulty set-up and `relay check` to report the fault.
    private func expectRefusal(
        _ stand: CheckStand, _ changes: [String: String], _ fault: String, isWarning: Bool = false
    ) async throws {
        let served = try await stand.refusedServe(changes)
        #expect([69, 78].contains(served.status), "\(fault): \(served)")
        let checked = try await stand.check(changes)
        #expect(checked.status == (isWarning ? 0 : 1), "\(checked)")
        #expect((isWarning ? checked.warned : checked.failed).contains(fault), "\(checked)")
        let advice = checked.checks.first { $0["fault"]?.string == fault }?["advice"]?.string
        #expect(fault == "bad_setting" || served.output.contains(advice ?? "no advice"), "\(served)")
    }

    @Test("Addresses that another program uses")
    func addresses() async throws {
        try await CheckStand.run { stand in
            let other = try await FakeServer(
                on: stand.loop, says: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            let taken = "127.0.0.1:\(other.port)"
            try await expectRefusal(stand, ["RELAY_ADMIN_LISTEN": taken], "admin_address_taken")
            try await expectRefusal(
                stand, ["HOST": "127.0.0.1", "PORT": String(other.port)], "address_taken", isWarning: true)
            try await expectRefusal(stand, ["HOST": "192.0.2.1"], "address_unusable")
        }
    }

    @Test("Certificates and keys that are missing or don't match")
    func certificates() async throws {
        try await CheckStand.run { stand in
            let (one, two) = (try SelfSignedCertificate(), try SelfSignedCertificate())
            let certificate = try stand.write(one.certificate, to: "one.pem")
            let key = try stand.write(two.privateKey, to: "two.key")
            let missing = stand.directory.file("missing.pem")
            for (certificate, key) in [(certificate, key), (certificate, missing), (missing, key)] {
                try await expectRefusal(
                    stand, ["RELAY_TLS_CERT_FILE": certificate, "RELAY_TLS_KEY_FILE": key],
                    "certificate_unusable")
            }
            try await expectRefusal(stand, ["APNS_CA_FILE": missing], "ca_file_unusable")
        }
    }

    @Test("relay serve warns of a certificate that has expired, and serves")
    func expired() async throws {
        try await CheckStand.run { stand in
            let old = try SelfSignedCertificate(validFor: -7_200...(-3_600))
            let changes = [
                "RELAY_TLS_CERT_FILE": try stand.write(old.certificate, to: "old.pem"),
                "RELAY_TLS_KEY_FILE": try stand.write(old.privateKey, to: "old.key"),
            ]
            let served = try await stand.refusedServe(changes)
            #expect(served.status == 0 && served.output.contains("\"certificate.dates\""), "\(served)")
            #expect(try await stand.check(changes).failed == ["certificate_expired"])
        }
    }

    @Test("A database that is missing, another program's, or another relay's")
    func databases() async throws {
        try await CheckStand.run { stand in
            let folder = stand.directory.file("missing")
            try await expectRefusal(stand, ["DATABASE_URL": "sqlite:\(folder)/relay.db"], "database_folder")
            let path = try stand.write("another program's file, and long enough for one\n", to: "other.db")
            try await expectRefusal(stand, ["DATABASE_URL": "sqlite:" + path], "database_unusable")
            let relay = try Program(
                "relay", ["serve"], environment: stand.environment.merging(["PORT": "0"]) { $1 })
            _ = try await Stack.listening(relay)
            try await expectRefusal(stand, [:], "database_in_use", isWarning: true)
            #expect(try await relay.stop() == 0)
        }
    }

    @Test(
        "An account without the privilege to create or alter tables when that is needed",
        .enabled(if: ServerUnderTest.areThere, "left out: no servers"), arguments: ServerUnderTest.all)
    func rights(_ server: ServerUnderTest) async throws {
        let administrator = try server.makeDatabase()
        let name = "relay_\(UInt32.random(in: .min ... .max))"
        let isPostgres = server.name == "postgres"
        let account = isPostgres ? name : "\(name)@'%'"
        try server.run(
            isPostgres
                ? "CREATE USER \(name) LOGIN PASSWORD 'hunter2'"
                : "CREATE USER \(account) IDENTIFIED BY 'hunter2'",
            at: administrator)
        let at = try #require(administrator.lastIndex(of: "@"))
        let scheme = try #require(administrator.range(of: "://"))
        let slash = try #require(administrator.lastIndex(of: "/"))
        let database = String(administrator[administrator.index(after: slash)...].prefix { $0 != "?" })
        if !isPostgres {
            try server.run(
                "GRANT SELECT, INSERT, UPDATE, DELETE ON \(database).* TO \(account)", at: administrator)
            // Another test makes the server read-only for a while.
            try server.run("GRANT READ_ONLY ADMIN ON *.* TO \(account)", at: administrator)
        }
        let url = administrator[..<scheme.upperBound] + "\(name):hunter2" + administrator[at...]
        let changes = ["DATABASE_URL": String(url), "RELAY_DATABASE_START_DEADLINE": "0s"]
        try await CheckStand.run { stand in
            try await expectRefusal(stand, changes, "database_denied")
            // A schema that has to be changed is refused as well, and nothing in it is changed.
            let migrated = try Program("relay", ["migrate"], environment: ["DATABASE_URL": administrator])
            #expect(try await migrated.ended() == 0)
            let tables = [
                "relay_schema", "secret_lock", "device_registration", "delivery_log", "event_receipt",
                "pending_push", "blocked_secret", "history_item", "agent_use", "schedule", "event_reply",
                "push_token", "relay_key", "access_token",
            ]
            for table in tables {
                try server.run(
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON \(table) TO \(account)", at: administrator)
            }
            #expect(try await stand.check(changes).status == 0)
            try server.run("DELETE FROM relay_schema", at: administrator)
            try await expectRefusal(stand, changes, "database_denied")
            let version = "SELECT coalesce(max(version), 0) FROM relay_schema"
            #expect(try server.integer(version, at: administrator) == 0)
            // If a right on existing tables is missing, relay serve starts with a warning.
            let second = try Program("relay", ["migrate"], environment: ["DATABASE_URL": administrator])
            #expect(try await second.ended() == 0)
            try server.run("REVOKE INSERT ON device_registration FROM \(account)", at: administrator)
            if !isPostgres {
                try server.run("REVOKE INSERT ON \(database).* FROM \(account)", at: administrator)
            }
            let checked = try await stand.check(changes)
            #expect(checked.failed == ["database_denied"], "\(checked)")
        }
    }

    @Test(
        "A Postgres role with read-only transactions isn't treated as a server that is down",
        .enabled(if: ServerUnderTest.areThere, "left out: no servers"))
    func readOnlyRole() async throws {
        let server = try #require(ServerUnderTest.all.first { $0.name == "postgres" })
        let administrator = try server.makeDatabase()
        let name = "relay_\(UInt32.random(in: .min ... .max))"
        try server.run("CREATE USER \(name) LOGIN PASSWORD 'hunter2'", at: administrator)
        try server.run("ALTER ROLE \(name) SET default_transaction_read_only = on", at: administrator)
        let at = try #require(administrator.lastIndex(of: "@"))
        let scheme = try #require(administrator.range(of: "://"))
        let url = administrator[..<scheme.upperBound] + "\(name):hunter2" + administrator[at...]
        try await CheckStand.run { stand in
            let changes = ["DATABASE_URL": String(url), "RELAY_DATABASE_START_DEADLINE": "0s"]
            try await expectRefusal(stand, changes, "database_read_only")
        }
    }
}
