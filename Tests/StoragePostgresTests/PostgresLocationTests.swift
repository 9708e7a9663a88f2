import Storage
import Testing

@testable import StoragePostgres

@Suite("Postgres URLs", .timeLimit(.minutes(2)))
struct PostgresLocationTests {
    @Test("Hosts, ports and database are shown, user, password and options never")
    func descriptions() throws {
        for (url, expected) in [
            (
                "postgres://relay:hunter2@db.example.org:5433/push?sslmode=verify-full",
                "db.example.org:5433/push"
            ),
            ("postgresql://relay@a:1,b:2/push?target_session_attrs=read-write", "a:1,b:2/push"),
            ("postgres://relay@[2001:db8::1]:5432/push", "[2001:db8::1]:5432/push"),
            ("postgres:///push?host=/run/postgresql&password=hunter2", "/run/postgresql/push"),
            ("POSTGRES://relay:hunter2@a/push", "a/push"),
        ] {
            let location = try PostgresLocation(url: url)
            #expect(location.description == expected)
            var shown = ""
            dump(location, to: &shown)
            #expect(!shown.contains("hunter2") && !"\(location)".contains("hunter2"))
        }
    }

    @Test("The relay's own key is taken out, and libpq gets the rest")
    func preparedStatements() throws {
        #expect(try PostgresLocation(url: "postgres://h/d").preparesStatements)
        #expect(try PostgresLocation(url: "postgres://h/d?prepared_statements=on").preparesStatements)
        let location = try PostgresLocation(
            url: "postgres://h/d?sslmode=require&prepared_statements=off&connect_timeout=4")
        #expect(!location.preparesStatements)
        #expect(
            String(decoding: location.parameters.bytes, as: UTF8.self)
                == "postgresql://h/d?sslmode=require&connect_timeout=4")
    }

    @Test(
        "What can't be used is refused with one sentence that repeats no password",
        arguments: [
            ("mysql://h/d", "is written postgres://"),
            ("postgres:h", "is written postgres://"),
            ("postgres://u:hunter2@h/d?sslmod=require", "unknown key \"sslmod\"; did you mean sslmode?"),
            ("postgres://u:hunter2@h/d?sslmode=verify", "sslmode must be one of disable, allow"),
            ("postgres://h/d?target_session_attrs=write", "target_session_attrs must be one of any"),
            ("postgres://h/d?prepared_statements=no", "prepared_statements must be on or off"),
            ("postgres://u:hunter2@h/d?sslcert=c.pem", "sslcert without sslkey"),
            ("postgres://u:hunter2@h/d?sslkey=c.pem", "sslkey without sslcert"),
            ("postgres://u:hunter2/x@h/d", "percent-encoded"),
            ("postgres://u:hunter2?x@h/d", "percent-encoded"),
            ("postgres://u:hunter2?key=x@h/d", "percent-encoded"),
            ("postgres://u:hunter2@x@h/d", "percent-encoded"),
            ("postgres://u:hunter2#x@h/d", "percent-encoded"),
            ("postgres://u:hunter2%zz@h/d", "can't be read"),
            ("postgres://u:hunter2@h:port/d", "port that is no number"),
            ("postgres://u:hunter2@h:99999/d", "port that is no number"),
        ])
    func refused(url: String, words: String) {
        let error = #expect(throws: DatabaseURLError.self) { try PostgresLocation(url: url) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test("A password may have any character, percent-encoded")
    func passwords() throws {
        let location = try PostgresLocation(url: "postgres://u:%2F%3F%23%40%3A%25%20@h/d")
        let options = try PostgresKeys.options(of: String(decoding: location.parameters.bytes, as: UTF8.self))
        #expect(options["password"] == "/?#@:% ")
        #expect(location.description == "h/d")
    }
}

@Suite("Postgres errors", .timeLimit(.minutes(2)))
struct PostgresErrorTests {
    @Test("An SQLSTATE says what may be done about it")
    func states() {
        for (state, kind) in [
            ("40001", SQLFailure.Kind.conflict), ("40P01", .conflict), ("23505", .duplicateKey),
            ("42P07", .alreadyExists), ("57P01", .connectionLost), ("08006", .connectionLost),
            ("25006", .connectionLost), ("57014", .other), ("55P03", .other), ("53100", .other),
            ("42601", .other), ("XX001", .other), ("28P01", .other), ("53300", .other),
        ] {
            #expect(PostgresError.from(state: state, detail: "").kind == kind, "\(state)")
        }
        #expect(PostgresError.from(state: "57014", detail: "d").error == .timeout(logDetail: "d"))
        #expect(PostgresError.from(state: "53100", detail: "d").error == .full(logDetail: "d"))
        #expect(PostgresError.from(state: "XX001", detail: "d").error == .corrupt(logDetail: "d"))
        #expect(PostgresError.from(state: "28P01", detail: "d").error == .refused(logDetail: "d"))
        #expect(PostgresError.from(state: "42601", detail: "d").error == .internalFault(logDetail: "d"))
        #expect(PostgresError.from(state: "53300", detail: "d").error == .crowded(logDetail: "d"))
    }

    @Test("Only a connection that was lost leaves it open whether a change was made")
    func certainty() {
        #expect(PostgresError.from(state: "57P01", detail: "").mayBeDone)
        #expect(!PostgresError.from(state: "40001", detail: "").mayBeDone)
        #expect(!PostgresError.from(state: "25006", detail: "").mayBeDone)
    }

    @Test(
        "A connection that the server itself has lost leaves its client's usable, unless a commit is in doubt"
    )
    func lostBehindServer() {
        let lost = PostgresError.from(state: "08006", detail: "d", keepsConnection: true)
        #expect(lost == SQLFailure(.other, .unavailable(logDetail: "d"), mayBeDone: true))
        let unknown = PostgresError.from(state: "08007", detail: "d", keepsConnection: true)
        #expect(unknown == SQLFailure(.connectionLost, .unavailable(logDetail: "d"), mayBeDone: true))
    }

    @Test("Connecting is tried again where that may help")
    func connecting() {
        for words in [
            "connection to server at \"127.0.0.1\", port 1 failed: Connection refused\n\tIs the server running?",
            "connection to server failed: timeout expired", "FATAL:  the database system is starting up",
            "session is read-only", "FATAL:  sorry, too many clients already", "words of a later version",
        ] {
            #expect(PostgresError.connecting(words).error.isTransient, "\(words)")
        }
        for words in [
            "FATAL:  password authentication failed for user \"relay\"",
            "FATAL:  database \"push\" does not exist", "SSL error: certificate verify failed",
            "server certificate for \"localhost\" does not match host name \"127.0.0.1\"",
            "FATAL:  no pg_hba.conf entry for host",
        ] {
            guard case .refused = PostgresError.connecting(words).error else {
                Issue.record("not refused: \(words)")
                continue
            }
        }
    }

    @Test("A server, account or pooler without a connection left is told as such")
    func crowded() {
        for words in [
            "sorry, too many clients already", "too many connections for role \"relay\"",
            "too many connections for database \"push\"", "no more connections allowed (max_client_conn)",
            "remaining connection slots are reserved for roles with the SUPERUSER attribute",
        ] {
            let words = "connection to server at \"db\" (10.0.0.1), port 5432 failed: FATAL:  \(words)\n"
            // With sslmode=prefer, libpq retries without TLS.
            for words in [words, words + words] {
                #expect(PostgresError.connecting(words).kind == .connectionLost)
                guard case .crowded = PostgresError.connecting(words).error else {
                    Issue.record("\(words)")
                    continue
                }
            }
        }
    }

    @Test("A host that refuses at one of its addresses has refused; another host may still come")
    func addresses() {
        func failed(_ host: String, _ address: String, _ why: String) -> String {
            "connection to server at \"\(host)\" (\(address)), port 5432 failed: \(why)\n"
        }
        let down = failed("localhost", "::1", "Connection refused")
        let untrusted = "SSL error: certificate verify failed"
        for words in [
            down + failed("localhost", "127.0.0.1", untrusted),
            failed("localhost", "127.0.0.1", untrusted) + down,
        ] {
            guard case .refused = PostgresError.connecting(words).error else {
                Issue.record("\(words)")
                continue
            }
        }
        #expect(PostgresError.connecting(down + failed("db2", "10.0.0.2", untrusted)).error.isTransient)
    }
}
