import ChildProcess
import Foundation
import Glibc
import JSON
import Network
import Testing

@Suite(.timeLimit(.minutes(3)))
struct LifecycleTests {
    static let secret = "a secret of the test"

    @Test("SIGTERM under load answers every accepted event, keeps the log and ends with 0")
    func gracefulStop() async throws {
        try await Stack.run(simulator: ["--latency", "300ms"]) { stack in
            for number in 0..<5 { try await stack.register(Self.secret, token(number)) }
            try await withThrowingTaskGroup(of: (String, EventResult).self) { group in
                for number in 0..<40 {
                    let session = "ses_\(number)"
                    group.addTask {
                        (session, try await stack.event(Self.secret, ["sessionID": .string(session)]))
                    }
                }
                // The first pushes have arrived, so the events are in flight now.
                _ = try await eventually {
                    try await stack.control.pushes().count
                } until: {
                    $0 > 20
                }
                stack.relay.signal(SIGTERM)
                let inFlight = Set(
                    try await stack.control.pushes().compactMap { $0["payload"]?["sessionID"]?.string })
                var answered: Set<String> = []
                var sent = 0
                while let result = await group.nextResult() {
                    // A connection that the relay had not accepted yet may be refused, but never half answered.
                    guard case .success(let (session, result)) = result else { continue }
                    #expect(result.sent == 5)
                    answered.insert(session)
                    sent += result.sent
                }
                #expect(!inFlight.isEmpty && answered.isSuperset(of: inFlight))
                #expect(try await stack.relay.ended() == 0)
                #expect(try loggedPushes(stack.directory.file("relay.db")) == sent)
            }
        }
    }

    @Test("Confirmed changes are there after kill -9")
    func crash() async throws {
        try await Stack.run { stack in
            for number in 0..<10 { try await stack.register(Self.secret, token(number)) }
            stack.relay.signal(SIGKILL)
            #expect(try await stack.relay.ended() == -SIGKILL)
            try await stack.restartRelay()
            #expect(try await stack.event(Self.secret).sent == 10)
        }
    }

    @Test("A second relay on the same port or the same database says what is wrong and ends with 69")
    func second() async throws {
        try await Stack.run { stack in
            var environment = stack.environment
            environment["PORT"] = String(stack.http.endpoint.port)
            environment["DATABASE_URL"] = "sqlite:" + stack.directory.file("other.db")
            let samePort = try Program("relay", ["serve"], environment: environment)
            #expect(try await samePort.ended() == 69)
            #expect(samePort.output.contains("in use"))
            let sameDatabase = try Program("relay", ["serve"], environment: stack.environment)
            #expect(try await sameDatabase.ended() == 69)
            #expect(sameDatabase.output.contains("relay.db"))
            #expect(try await stack.http.get("/health").status == 200)
        }
    }

    @Test("No core dump is made of a relay that holds keys, unless the settings allow it")
    func coreDumps() async throws {
        try await Stack.run { stack in
            for (setting, isAllowed) in [("no", false), ("yes", true)] {
                let folder = stack.directory.file(setting)
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                chmod(folder, 0o777)
                chmod(stack.directory.path, 0o755)
                var environment = stack.environment
                environment["RELAY_CORE_DUMPS"] = setting
                environment["DATABASE_URL"] = "sqlite:" + folder + "/relay.db"
                // The test reads the file, because the relay, which runs as nobody, can't.
                let keyFile = try #require(stack.environment["APNS_PRIVATE_KEY_FILE"])
                environment["APNS_PRIVATE_KEY_FILE"] = nil
                environment["APNS_PRIVATE_KEY"] = try String(contentsOfFile: keyFile, encoding: .utf8)
                let relay = try Program(asNobody: "relay", ["serve"], environment: environment)
                _ = try await Stack.listening(relay)
                let process = "/proc/\(relay.processIdentifier)"
                // The kernel makes root the owner of the /proc files of a process that may not be dumped.
                var info = stat()
                #expect(
                    stat(process + "/limits", &info) == 0 && (info.st_uid == 0) == !isAllowed, "\(setting)")
                let limits = try String(contentsOfFile: process + "/limits", encoding: .utf8)
                let line = try #require(
                    limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
                if !isAllowed { #expect(line.split(separator: " ")[4] == "0", "\(line)") }
                #expect(try await relay.stop() == 0)
            }
        }
    }

    @Test("A relay started without standard descriptors doesn't use their numbers for connections")
    func closedStandardFiles() async throws {
        try await Stack.run { stack in
            var environment = stack.environment
            environment["PORT"] = "0"
            environment["DATABASE_URL"] = "sqlite:" + stack.directory.file("other.db")
            // Otherwise only root could see its files.
            environment["RELAY_CORE_DUMPS"] = "yes"
            // A relay that blocks signals is ready for SIGTERM; one that has exited also ends the loop. All threads are
            // checked: while the main thread waits for signals, the kernel reports them as unblocked there.
            let script = """
                \(Program.products.appendingPathComponent("relay").path) serve <&- >&- 2>&- &
                until grep -q '^State:.Z' /proc/$!/status || {
                    [ "$(cd /proc/$!/fd && readlink 0 1 2 | uniq -c | tr -d ' ')" = 3/dev/null ] &&
                        grep -q '^SigBlk:.*[1-9a-f]' /proc/$!/task/*/status
                }; do
                    sleep 0.05
                done
                kill $!
                wait $!
                """
            let started = try Program(tool: "/bin/sh", ["-c", script], environment: environment)
            #expect(try await started.ended() == 0, "\(started.output)")
        }
    }

    @Test("relay migrate alongside a running relay finds nothing to do and ends with 0")
    func migrateBeside() async throws {
        try await Stack.run { stack in
            let database = try #require(stack.environment["DATABASE_URL"])
            let migrate = try Program("relay", ["migrate"], environment: ["DATABASE_URL": database])
            #expect(try await migrate.ended() == 0)
            #expect(migrate.output.contains("up to date"))
            #expect(try await stack.http.get("/health").status == 200)
        }
    }

    @Test("relay health ends with 0 while the relay serves, also with TLS, and otherwise with 1")
    func health() async throws {
        let files = try TemporaryDirectory()
        let (certificate, key) = (files.file("certificate.pem"), files.file("key.pem"))
        let made = try SelfSignedCertificate(names: ["relay.example.org"], addresses: [])
        try Data(made.certificate).write(to: URL(fileURLWithPath: certificate))
        try Data(made.privateKey).write(to: URL(fileURLWithPath: key))
        for tls in [[:], ["RELAY_TLS_CERT_FILE": certificate, "RELAY_TLS_KEY_FILE": key]] {
            try await Stack.run(tls) { stack in
                let port = ["PORT": String(stack.http.endpoint.port)]
                func health(_ environment: [String: String]) async throws -> (Int32, String) {
                    let program = try Program("relay", ["health"], environment: environment)
                    return (try await program.ended(), program.output)
                }
                let asked = port.merging(tls) { $1 }
                #expect(try await health(asked) == (0, ""))
                #expect(try await health(asked.merging(["HOST": "0.0.0.0"]) { $1 }) == (0, ""))
                if !tls.isEmpty { #expect(try await health(port).0 == 1) }
                #expect(try await stack.relay.stop() == 0)
                let (status, output) = try await health(asked)
                #expect(status == 1 && output.contains("is not serving"))
            }
        }
        #expect(try await Program("relay", ["health"], environment: ["PORT": "0"]).ended() == 78)
    }

    @Test("A start with invalid settings lists every problem and ends with 78, or 69 for the database")
    func badStarts() async throws {
        let directory = try TemporaryDirectory()
        let none = try Program("relay", ["serve"])
        #expect(try await none.ended() == 78)
        for name in ["APNS_TEAM_ID", "APNS_KEY_ID", "APNS_PRIVATE_KEY"] {
            #expect(none.output.contains(name))
        }

        let key = directory.file("key.p8")
        _ = try await Program("apns-simulator", ["key", "--out", key]).ended()
        var good = [
            "APNS_TEAM_ID": Stack.teamID, "APNS_KEY_ID": Stack.keyID, "APNS_PRIVATE_KEY_FILE": key,
            "PORT": "0", "RELAY_ADMIN_LISTEN": "off",
            "DATABASE_URL": "sqlite:" + directory.file("no/such/folder/relay.db"),
        ]
        let database = try Program("relay", ["serve"], environment: good)
        #expect(try await database.ended() == 69)
        #expect(database.output.contains("no/such/folder"))

        good["RELAY_EVENT_DEADLIN"] = "5s"
        good["APNS_PRIVATE_KEY_FILE"] = "/etc/hostname"
        good["PORT"] = "99999"
        let wrong = try Program("relay", ["serve"], environment: good)
        #expect(try await wrong.ended() == 78)
        for word in ["RELAY_EVENT_DEADLINE", "APNS_PRIVATE_KEY_FILE", "PORT"] {
            #expect(wrong.output.contains(word))
        }
        for program in [none, database, wrong] {
            #expect(!program.output.contains("Fatal error") && !program.output.contains("libswift"))
        }
    }

    @Test("TLS is served natively, and SIGHUP shows a new certificate without dropping connections")
    func tlsReload() async throws {
        let files = try TemporaryDirectory()
        let (certificate, key) = (files.file("certificate.pem"), files.file("key.pem"))
        func renew() throws {
            let made = try SelfSignedCertificate()
            try Data(made.certificate).write(to: URL(fileURLWithPath: certificate))
            try Data(made.privateKey).write(to: URL(fileURLWithPath: key))
        }
        try renew()
        try await Stack.run(["RELAY_TLS_CERT_FILE": certificate, "RELAY_TLS_KEY_FILE": key]) { stack in
            var client = stack.http
            client.trusted = try TLSClientContext(caFile: certificate, alpn: ["http/1.1"])
            #expect(try await client.get("/health").status == 200)
            let held = try await HeldConnection(client)
            #expect(try await held.get("/health").contains("200 OK"))
            try renew()
            stack.relay.signal(SIGHUP)
            _ = try await stack.relay.line("it has reloaded") { $0.contains("\"event\":\"reload\"") }
            #expect(try await held.get("/health").contains("200 OK"))
            await #expect(throws: HTTPClient.Failure.self) { try await client.get("/health") }
            client.trusted = try TLSClientContext(caFile: certificate, alpn: ["http/1.1"])
            #expect(try await client.get("/health").status == 200)
            await held.close()
        }
    }
}
