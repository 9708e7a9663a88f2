import APNs
import Programs
import Storage
import Testing

@testable import Relay

private let key = [
    "APNS_TEAM_ID": "ABCDE12345", "APNS_KEY_ID": "KEY1234567", "APNS_PRIVATE_KEY": TestKey.pem,
]

private func serve(
    _ environment: [String: String] = [:], flags: [String: String] = [:], files: [String: String] = [:],
    withKey: Bool = true
) throws(ConfigurationError) -> ServeConfiguration {
    try ServeConfiguration(
        SettingSources(
            flags: flags,
            environment: withKey ? key.merging(environment) { _, new in new } : environment,
            readFile: { path in
                files[path].map { .success(Array($0.utf8)) }
                    ?? .failure(FileError("No such file or directory"))
            }))
}

private func problems(
    _ environment: [String: String] = [:], flags: [String: String] = [:], files: [String: String] = [:],
    withKey: Bool = true
) -> [String] {
    do throws(ConfigurationError) {
        _ = try serve(environment, flags: flags, files: files, withKey: withKey)
        return []
    } catch {
        return error.problems
    }
}

@Suite("Configuration", .timeLimit(.minutes(2)))
struct ConfigurationTests {
    @Test("The key alone is enough; everything else has its default")
    func defaults() throws {
        let configuration = try serve()
        #expect(configuration.server.port == 8787)
        #expect(configuration.server.host == "127.0.0.1")
        #expect(configuration.server.tls == nil)
        #expect(configuration.database == .sqlite(path: "relay.db"))
        #expect(configuration.apns.servers.production.description == "https://api.push.apple.com")
        #expect(configuration.apns.servers.sandbox.description == "https://api.sandbox.push.apple.com")
        #expect(configuration.apns.apps["any.app.at.all"]?.push == PushSettings())
        #expect(configuration.apns.apps["any.app.at.all"]?.environments == [.production, .sandbox])
        #expect(configuration.delivery.secretBytesMin == 16)
        #expect(configuration.delivery.devicesPerSecretMax == 50)
        #expect(configuration.delivery.eventDeadline == .seconds(10))
        #expect(configuration.log.level == .info)
        #expect(configuration.log.format == nil)
    }

    @Test("The app that OpenChamber's servers ring is one that the relay pushes to; by default there is none")
    func openChamber() throws {
        let app = ["RELAY_OPENCHAMBER_BUNDLE_ID": "com.example.chamber"]
        #expect(try serve().server.openChamberApp == nil)
        #expect(try serve(app).server.openChamberApp == Topic("com.example.chamber"))
        let problem = "RELAY_OPENCHAMBER_BUNDLE_ID is not among the apps that this relay pushes to"
        #expect(problems(app.merging(["APNS_BUNDLE_IDS": "com.example.other"]) { $1 }) == [problem])
        let webPush = ["RELAY_VAPID_SUBJECT": "mailto:push@example.org"]
        #expect(problems(app.merging(webPush) { $1 }, withKey: false) == [problem])
    }

    @Test("A mode of registration without what it needs, and a key that no mode uses, are problems")
    func registration() throws {
        let pepper = String(repeating: "p", count: 32)
        let key = String(repeating: "k", count: 32)
        guard case .open = try serve().delivery.registration else { throw RegistrationIsNotOpen() }
        #expect(problems(["RELAY_REGISTRATION": "key", "RELAY_REGISTRATION_KEY": key]).isEmpty)
        #expect(
            problems(
                ["RELAY_REGISTRATION": "key", "RELAY_REGISTRATION_KEY_FILE": "k"], files: ["k": key + "\n"]
            ).isEmpty)
        #expect(problems(["RELAY_REGISTRATION": "challenge", "RELAY_SECRET_PEPPER": pepper]).isEmpty)
        #expect(
            problems(["RELAY_REGISTRATION": "challenge"]) == [
                "RELAY_REGISTRATION is challenge, which requires RELAY_SECRET_PEPPER; set it"
            ])
        #expect(
            problems(["RELAY_REGISTRATION": "key"]) == [
                "RELAY_REGISTRATION is key; set RELAY_REGISTRATION_KEY"
            ])
        for mode in ["open", "challenge"] {
            #expect(
                problems([
                    "RELAY_REGISTRATION": mode, "RELAY_REGISTRATION_KEY": key, "RELAY_SECRET_PEPPER": pepper,
                ]) == [
                    "RELAY_REGISTRATION_KEY is set, but RELAY_REGISTRATION is \(mode); set it to key"
                ])
        }
        let short = problems(["RELAY_REGISTRATION": "key", "RELAY_REGISTRATION_KEY": "too-short-a-key"])
        #expect(short.count == 1 && short[0].contains("32 to 512"))
        #expect(!short[0].contains("too-short"))
        let peppers = problems(["RELAY_REGISTRATION": "challenge", "RELAY_SECRET_PEPPER": "short"])
        #expect(peppers.count == 1 && peppers[0].contains("at least 32 bytes"))
        #expect(problems(["RELAY_REGISTRATION": "closed"]).count == 1)
    }

    private struct RegistrationIsNotOpen: Error {}

    @Test("Traces need a collector's URL without a password, a share and pairs")
    func traces() {
        let url = ["RELAY_TRACES_URL": "http://127.0.0.1:4318/v1/traces"]
        #expect(problems(url).isEmpty)
        for wrong in ["127.0.0.1:4318", "http://user:pass@example.org/", "ftp://example.org/", "http://a/?b"]
        {
            #expect(problems(["RELAY_TRACES_URL": wrong]).count == 1)
            #expect(problems(["RELAY_TRACES_URL": wrong]).allSatisfy { !$0.contains("pass@") })
        }
        for wrong in ["2", "-1", "1e-3", "nan", ".", "10%"] {
            #expect(problems(url.merging(["RELAY_TRACES_RATIO": wrong]) { $1 }).count == 1, "\(wrong)")
        }
        #expect(
            problems(url.merging(["RELAY_TRACES_RATIO": "0.05", "RELAY_TRACES_HEADERS": "a=b"]) { $1 })
                .isEmpty)
        #expect(
            problems(url.merging(["RELAY_TRACES_HEADERS": "my-token"]) { $1 }).allSatisfy {
                !$0.contains("my-token")
            })
        #expect(
            problems(["RELAY_TRACES_RATIO": "1"]) == [
                "RELAY_TRACES_RATIO has no effect without RELAY_TRACES_URL, which enables traces"
            ])
    }

    @Test("A flag goes before the variable of the same name")
    func precedence() throws {
        let configuration = try serve(["PORT": "1000", "HOST": "::1"], flags: ["PORT": "2000"])
        #expect(configuration.server.port == 2000)
        #expect(configuration.server.host == "::1")
    }

    @Test("An empty variable counts as not set")
    func empty() throws {
        let configuration = try serve(["PORT": "", "APNS_DEFAULT_BUNDLE_ID": "", "RELAY_TLS_CERT_FILE": ""])
        #expect(configuration.server.port == 8787)
        #expect(configuration.apns.apps.defaultBundleID == nil)
        #expect(configuration.server.tls == nil)
    }

    @Test("All problems come in one message")
    func allAtOnce() throws {
        let error = #expect(throws: ConfigurationError.self) {
            _ = try serve(
                [
                    "PORT": "70000", "HOST": "relay.example.org", "APNS_TTL": "86400",
                    "RELAY_LOG_LEVEL": "loud",
                ])
        }
        #expect(
            error?.description == """
                4 problems with the configuration:
                  - PORT is "70000": expected a whole number from 0 to 65535
                  - HOST is "relay.example.org": expected an IPv4 or IPv6 address
                  - APNS_TTL is "86400": expected a number with its unit: 500ms, 10s, 5m, 24h, 30d
                  - RELAY_LOG_LEVEL is "loud": expected one of debug, info, warning, error
                See relay serve --help.
                """)
    }

    @Test("A problem with a flag names the flag")
    func flagProblem() {
        #expect(
            problems(flags: ["PORT": "x"]) == ["--port is \"x\": expected a whole number from 0 to 65535"])
    }

    @Test("Names that look like settings and are none are problems, with the one that was meant")
    func unknownNames() {
        #expect(
            problems(["APNS_TEMA_ID": "x", "RELAY_SHUTDOWN_DEALINE": "1s", "RELAY_XYZZY": "1", "OTHER": "1"])
                == [
                    "APNS_TEMA_ID is not a setting of this program; did you mean APNS_TEAM_ID?",
                    "RELAY_SHUTDOWN_DEALINE is not a setting of this program; did you mean RELAY_SHUTDOWN_DEADLINE?",
                    "RELAY_XYZZY is not a setting of this program",
                ])
        #expect(
            problems(["RELAY_LOG_LEVEL_FILE": "/x"]) == [
                "RELAY_LOG_LEVEL_FILE is not a setting of this program; did you mean RELAY_LOG_LEVEL?"
            ])
    }

    @Test("Variables that Kubernetes and Docker add for a service called relay or apns-… are left alone")
    func serviceLinks() {
        #expect(
            problems([
                "RELAY_PORT": "tcp://10.0.0.1:8787", "RELAY_SERVICE_HOST": "10.0.0.1",
                "RELAY_SERVICE_PORT": "8787",
                "RELAY_SERVICE_PORT_HTTP": "8787", "RELAY_PORT_8787_TCP": "tcp://10.0.0.1:8787",
                "RELAY_PORT_8787_TCP_PROTO": "tcp", "RELAY_PORT_8787_TCP_PORT": "8787",
                "RELAY_PORT_8787_TCP_ADDR": "10.0.0.1", "APNS_SIMULATOR_PORT_443_TCP": "tcp://10.0.0.2:443",
            ]).isEmpty)
        #expect(
            problems(["RELAY_PORT": "8787"]) == [
                "RELAY_PORT is not a setting of this program; did you mean PORT?"
            ])
    }

    @Test("Half of a pair is a problem", arguments: ["RELAY_TLS_CERT_FILE", "RELAY_TLS_KEY_FILE"])
    func halfTLS(name: String) {
        let other = name == "RELAY_TLS_CERT_FILE" ? "RELAY_TLS_KEY_FILE" : "RELAY_TLS_CERT_FILE"
        #expect(problems([name: "/a.pem"]) == ["\(name) is set without \(other); TLS needs both"])
        #expect(problems([name: "/a.pem", other: "/b.pem"]).isEmpty)
    }

    @Test("Without a key the message names what to set and how to try without")
    func noKey() {
        #expect(
            problems(withKey: false) == [
                "no APNs key: set APNS_TEAM_ID, APNS_KEY_ID and APNS_PRIVATE_KEY (or APNS_PRIVATE_KEY_FILE), or "
                    + "RELAY_VAPID_SUBJECT for Web Push alone; ./dev run tries the relay without one, against a simulator"
            ])
    }

    @Test("With Web Push, a relay needs no APNs settings, but those that are given must be complete")
    func webPushAlone() throws {
        let subject = ["RELAY_VAPID_SUBJECT": "mailto:push@example.org"]
        #expect(problems(subject, withKey: false) == [])
        #expect(problems(subject.merging(["APNS_TEAM_ID": "ABCDE12345"]) { $1 }, withKey: false).count == 1)
        for wrong in ["mailto:a@localhost", "push@example.org", "https://127.0.0.1/"] {
            #expect(problems(["RELAY_VAPID_SUBJECT": wrong]).count == 1)
        }
        #expect(
            problems(["RELAY_WEBPUSH_HOSTS": "any"]) == [
                "RELAY_WEBPUSH_HOSTS has no effect without RELAY_VAPID_SUBJECT, which enables Web Push"
            ])
        #expect(problems(subject.merging(["RELAY_WEBPUSH_HOSTS": "a/b"]) { $1 }).count == 1)
        let key = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
        #expect(problems(subject.merging(["RELAY_VAPID_PRIVATE_KEY": key]) { $1 }) == [])
        let wrongKey = problems(subject.merging(["RELAY_VAPID_PRIVATE_KEY": key + key]) { $1 })
        #expect(wrongKey.count == 1 && !wrongKey.joined().contains(key))
        #expect(problems(subject.merging(["RELAY_VAPID_PRIVATE_KEY_OTHER": key]) { $1 }).count == 1)
    }

    @Test("A part of the key that is missing is named; one that is wrong is not called missing")
    func partOfTheKey() {
        #expect(
            problems(["APNS_TEAM_ID": ""]) == [
                "APNS_TEAM_ID is not set; APNS_TEAM_ID, APNS_KEY_ID and APNS_PRIVATE_KEY belong together"
            ])
        #expect(
            problems(["APNS_TEAM_ID": "abc", "APNS_KEY_ID": ""]) == [
                "APNS_TEAM_ID is \"abc\": expected 10 characters of A-Z and 0-9",
                "APNS_KEY_ID is not set; APNS_TEAM_ID, APNS_KEY_ID and APNS_PRIVATE_KEY belong together",
            ])
    }

    @Test(
        "A secret can come from a file, with or without a line break at its end",
        arguments: ["", "\n", "\r\n"])
    func secretFile(end: String) throws {
        let configuration = try serve(
            ["DATABASE_URL_FILE": "/run/secrets/db"], files: ["/run/secrets/db": "sqlite:/data/r.db" + end])
        #expect(configuration.database.url == Secret("sqlite:/data/r.db"))
    }

    @Test("A secret's file that is missing or empty, or a secret given twice, is a problem")
    func secretFileProblems() {
        #expect(
            problems(["DATABASE_URL_FILE": "/none"]) == [
                "DATABASE_URL_FILE: the file \"/none\" can't be read: No such file or directory"
            ])
        #expect(
            problems(["DATABASE_URL_FILE": "/empty"], files: ["/empty": "\n"]) == [
                "DATABASE_URL_FILE: the file \"/empty\" is empty"
            ])
        let bytes: [UInt8] = Array(repeating: 0xFE, count: 32)
        var reader = SettingReader(
            SettingSources(
                environment: ["RELAY_SECRET_PEPPER_FILE": "/bytes"], readFile: { _ in .success(bytes) }))
        #expect(reader.read(Settings.secretPepper) == nil)
        #expect(reader.problems == ["RELAY_SECRET_PEPPER_FILE: the file \"/bytes\" is not UTF-8 text"])
        #expect(
            problems(["DATABASE_URL_FILE": "/a", "DATABASE_URL": "sqlite:x"]) == [
                "DATABASE_URL and DATABASE_URL_FILE are both set; set one of them"
            ])
    }

    @Test("No problem shows a secret")
    func secretsStaySecret() {
        let messages = problems([
            "APNS_PRIVATE_KEY": "hunter2-hunter2!", "DATABASE_URL": "oracle://user:hunter2@db/relay",
        ])
        #expect(messages.count == 2)
        #expect(!messages.joined().contains("hunter2"))
    }

    @Test("The key's text is left out of every dump of a configuration")
    func dumped() throws {
        let configuration = try serve(["DATABASE_URL": "sqlite:hunter2.db"])
        var text = ""
        dump(configuration, to: &text)
        text += "\(configuration)" + String(reflecting: configuration)
        #expect(!text.contains("MIGHAgEA"))
        #expect(!text.contains("hunter2"))
        #expect(text.contains("KEY1234567"))
    }

    @Test("A pepper has at least 32 bytes and changes the hashes")
    func pepper() throws {
        #expect(
            problems(["RELAY_SECRET_PEPPER": "too short"]) == [
                "RELAY_SECRET_PEPPER: expected at least 32 bytes"
            ])
        let secret = Secret("0123456789abcdef")
        let plain = try serve().delivery.hasher.key(of: secret)
        let pepper = String(repeating: "p", count: 32)
        let peppered = try serve(["RELAY_SECRET_PEPPER": pepper]).delivery.hasher.key(of: secret)
        #expect(peppered.primary != plain.primary)
        #expect(peppered.legacy == [plain.primary])
    }

    @Test("A default bundle outside the list of bundles is a problem")
    func bundles() throws {
        let configuration = try serve([
            "APNS_BUNDLE_IDS": "org.example.a, org.example.b", "APNS_DEFAULT_BUNDLE_ID": "org.example.b",
        ])
        #expect(
            configuration.apns.apps.bundleIDs
                == Set(["org.example.a", "org.example.b"].compactMap(Topic.init)))
        #expect(
            problems(["APNS_BUNDLE_IDS": "org.example.a", "APNS_DEFAULT_BUNDLE_ID": "org.example.b"]) == [
                "APNS_DEFAULT_BUNDLE_ID is not among APNS_BUNDLE_IDS"
            ])
        #expect(problems(["APNS_BUNDLE_IDS": "org.example.a,"]).count == 1)
    }

    @Test("migrate needs no key and ignores what serve reads, but not misspelt names")
    func migrate() throws {
        let configuration = try MigrateConfiguration(
            SettingSources(environment: ["DATABASE_URL": "sqlite:x.db", "PORT": "nonsense"]))
        #expect(configuration.database.url == Secret("sqlite:x.db"))
        #expect(
            throws: ConfigurationError(
                ["APNS_TEEM_ID is not a setting of this program; did you mean APNS_TEAM_ID?"],
                command: "relay migrate")
        ) {
            _ = try MigrateConfiguration(SettingSources(environment: ["APNS_TEEM_ID": "x"]))
        }
    }
}

@Suite("The table of settings", .timeLimit(.minutes(2)))
struct SettingsTests {
    @Test("Names are there once, and look like variables")
    func names() {
        let names = Settings.table.map(\.name) + Settings.table.filter(\.isSecret).map(\.fileName)
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(
                name.utf8.allSatisfy {
                    (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
                })
        }
    }

    @Test("Every setting is read by a command: by serve, but for those of other commands")
    func readers() {
        let served = RelayCommand.serve.syntax.settings
        for row in Settings.table {
            let readers = RelayCommand.all.filter { $0.syntax.settings.contains(row) }
            #expect(!readers.isEmpty, "\(row.name)")
            let isOther = row.group == .copy || row.group == .commands
            #expect(served.contains(row) == !isOther || row == Settings.envFile.row, "\(row.name)")
        }
        let commands = Set(RelayCommand.all.map(\.syntax.name))
        #expect(commands.count == RelayCommand.all.count)
    }

    @Test("Every setting reaches the configuration: a value that none accepts is a problem of its own each")
    func allAreRead() {
        // No number, name, path, URL or key may contain a NUL.
        let environment = Dictionary(uniqueKeysWithValues: Settings.table.map { ($0.name, "\0") })
        let problems = problems(environment)
        // The settings file is read before the settings; the end-to-end tests use one.
        for row in Settings.served {
            #expect(problems.contains { $0.hasPrefix(row.name) }, "\(row.name) is not read")
        }
    }

    @Test("Summaries are sentences")
    func summaries() {
        for row in Settings.table {
            #expect(row.summary.hasSuffix(".") && row.summary.first?.isUppercase == true, "\(row.name)")
        }
    }

    @Test("A flag is its variable's name in lower case")
    func flags() {
        #expect(Settings.port.row.flag == "--port")
        #expect(Settings.teamID.row.flag == "--apns-team-id")
        #expect(Settings.privateKey.row.fileFlag == "--apns-private-key-file")
    }
}
