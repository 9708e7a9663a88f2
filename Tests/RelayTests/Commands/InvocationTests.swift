import Programs
import Storage
import Testing

@testable import Relay

@Suite("Command line", .timeLimit(.minutes(2)))
struct InvocationTests {
    private static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
        try RelayCommand.table.parse(arguments)
    }

    @Test("serve is the default command")
    func serve() throws {
        #expect(try Self.parse([]) == .run("serve"))
        #expect(try Self.parse(["serve"]) == .run("serve"))
        #expect(try Self.parse(["--port", "1"]) == .run("serve", flags: ["PORT": "1"]))
        #expect(try Self.parse(["migrate"]) == .run("migrate"))
        let places = ["RELAY_COPY_FROM": "sqlite:a.db", "RELAY_COPY_TO": "sqlite:b.db"]
        #expect(
            try Self.parse(["copy", "--from", "sqlite:a.db", "--to=sqlite:b.db"])
                == .run("copy", flags: places))
        #expect(try Self.parse(["health"]) == .run("health"))
    }

    @Test("A hash may stand alone where a command is about nothing else")
    func hash() throws {
        var options = CommandOptions(.json)
        try options.add(.secretHash, "0123456789ab…")
        for user in ["block", "unblock"] {
            #expect(
                try Self.parse([user, "0123456789ab…", "--json"])
                    == .run(user, flags: [:], options: options))
            #expect(
                try Self.parse([user, "--json", "--secret-hash=0123456789ab…"])
                    == .run(user, flags: [:], options: options))
        }
        #expect(
            try Self.parse(["block", "--list"])
                == .run("block", flags: [:], options: CommandOptions(.list)))
    }

    @Test("A dry run is migrate's alone")
    func dryRun() throws {
        let url = ["--database-url", "sqlite:r.db"]
        #expect(
            try Self.parse(["migrate", "--dry-run"] + url)
                == .run(
                    "migrate", flags: ["DATABASE_URL": "sqlite:r.db"], options: CommandOptions(.dryRun)))
        #expect(throws: UsageError.self) { try Self.parse(["serve", "--dry-run"]) }
    }

    @Test("A dry run prints every statement and what it is for")
    func dryRunText() {
        let steps = [PendingStep(step: .baseline, statements: ["CREATE one", "CREATE two"])]
        let expected = """
            -- SQLite r.db: SQL that relay migrate would run

            -- 1  \(SchemaStep.baseline.summary)
            CREATE one;
            CREATE two;
            INSERT INTO relay_schema (version, summary) VALUES (1, '\(SchemaStep.baseline.summary)');

            """
        #expect(MigrateCommand.sql(of: steps, place: "SQLite r.db") == expected)
        #expect(MigrateCommand.sql(of: [], place: "SQLite r.db").contains("is up to date"))
    }

    @Test("The SQL for sharded databases distributes every table", arguments: Sharding.allCases)
    func shards(_ sharding: Sharding) {
        let text = MigrateCommand.sql(for: sharding)
        let lines = text.split(separator: "\n").map(String.init)
        for table in SchemaTable.all {
            #expect(text.contains("CREATE TABLE IF NOT EXISTS \(table.name) ("), "\(table.name)")
            switch sharding {
            case .vitess:
                #expect(
                    lines.contains(
                        "ALTER VSCHEMA ON \(table.name) ADD VINDEX xxhash(secret_hash) USING xxhash;"))
            case .citus:
                let count = lines.count {
                    $0.hasPrefix("SELECT create_distributed_table('\(table.name)', 'secret_hash'")
                }
                #expect(count == (table.name == "blocked_secret" ? 0 : 1), "\(table.name)")
            }
        }
        let versions = lines.firstIndex { $0.hasPrefix("INSERT INTO relay_schema") }
        switch sharding {
        case .vitess:
            let vindex = "ALTER VSCHEMA ON relay_schema ADD VINDEX xxhash(version) USING xxhash;"
            #expect(versions == lines.firstIndex(of: vindex).map { $0 + 1 })
        case .citus:
            #expect(text.contains("SELECT create_distributed_table('device_registration', 'secret_hash');"))
            #expect(text.contains("'delivery_log', 'secret_hash', colocate_with => 'device_registration');"))
            #expect(versions != nil)
        }
    }

    @Test("Options are a command's own, and some have a number")
    func options() throws {
        var options = CommandOptions(.follow, .json)
        try options.add(.limit, "20")
        #expect(
            try Self.parse(["deliveries", "--limit", "20", "--follow", "--json"])
                == .run("deliveries", flags: [:], options: options))
        let days = try Self.parse(["stats", "--days=3", "--database-url", "sqlite:r.db"])
        guard case .run("stats", flags: ["DATABASE_URL": "sqlite:r.db"], let given) = days else {
            Issue.record("\(days)")
            return
        }
        #expect(given.number(.days) == 3 && given.has(.days) && !given.has(.json))
    }

    @Test("A flag's value follows it or stands behind an equals sign")
    func flags() throws {
        #expect(
            try Self.parse([
                "serve", "--port=1", "--apns-private-key-file", "/k.p8", "--apns-sound=a=b",
            ])
                == .run("serve", flags: ["PORT": "1", "APNS_PRIVATE_KEY_FILE": "/k.p8", "APNS_SOUND": "a=b"]))
        #expect(try Self.parse(["--port", "-1"]) == .run("serve", flags: ["PORT": "-1"]))
    }

    @Test("Help and version are asked for in the usual ways")
    func help() throws {
        #expect(try Self.parse(["--help"]) == .help(nil))
        #expect(try Self.parse(["-h"]) == .help(nil))
        #expect(try Self.parse(["help"]) == .help(nil))
        #expect(try Self.parse(["help", "migrate"]) == .help("migrate"))
        #expect(try Self.parse(["serve", "--port", "1", "--help"]) == .help("serve"))
        #expect(try Self.parse(["--version"]) == .version)
    }

    @Test(
        "A command line that makes no sense is one sentence",
        arguments: [
            (["sevre"], "unknown command \"sevre\"; did you mean serve?"),
            (
                ["frobnicate"],
                "unknown command \"frobnicate\"; the commands are serve, migrate, copy, backup, restore, devices, deliveries, stats, tenants, queue, schedules, tokens, revoke, block, unblock, check, send and health"
            ),
            (["--prot", "1"], "unknown flag --prot; did you mean --port?"),
            (["-p", "1"], "unknown flag \"-p\""),
            (["--port"], "--port needs a value"),
            (["--port="], "--port needs a value"),
            (["--port", "--port=1"], "--port needs a value"),
            (["--port", "1", "--port=2"], "--port is given twice"),
            (["serve", "now"], "\"now\" is an unexpected argument"),
            (["block", "01234567", "89abcdef"], "\"89abcdef\" is an unexpected argument"),
            (
                ["block", "0123456"],
                "--secret-hash is \"0123456\": expected 8 to 64 hexadecimal digits of a secret's hash, as shown in log lines"
            ),
            (
                ["stats", "--secret-hash", "01234567"],
                "unknown flag --secret-hash; did you mean --secret-file?"
            ),
            (["migrate", "--port", "1"], "relay migrate has no flag --port"),
            (["serve", "--version"], "unknown flag --version"),
            (["migrate", "--dry-run", "--dry-run"], "--dry-run is given twice"),
            (["migrate", "--dry-run=yes"], "--dry-run takes no value"),
            (["migrate", "--dry-rum"], "unknown flag --dry-rum; did you mean --dry-run?"),
            (["devices", "--secret", "hunter2"], Settings.secret.row.flagRefusal ?? ""),
            (["devices", "--secret=hunter2"], Settings.secret.row.flagRefusal ?? ""),
            (["serve", "--json"], "unknown flag --json"),
            (["deliveries", "--limit"], "--limit needs a value"),
            (["deliveries", "--limit="], "--limit needs a value"),
            (["deliveries", "--limit", "0"], "--limit is \"0\": expected a whole number from 1 to 10000"),
            (
                ["send", "--event-type", "other"],
                "--event-type is \"other\": expected one of complete, permission, error"
            ),
            (
                ["send", "--url=ftp://example.com"],
                "--url is \"ftp://example.com\": expected a URL that begins with https:// or http://"
            ),
            (["send", "--url="], "--url needs a value"),
            (["seal", "--title", "t"], "relay seal moved to agent-bridge seal"),
            (["open"], "relay open moved to agent-bridge open"),
            (["pair"], "relay pair moved to agent-bridge pair --standalone"),
            (["stats", "--days=x"], "--days is \"x\": expected a whole number from 1 to 400"),
            (
                ["deliveries", "--limit", "--follow"],
                "--limit is \"--follow\": expected a whole number from 1 to 10000"
            ),
        ])
    func problems(arguments: [String], sentence: String) {
        #expect(throws: UsageError(sentence)) { try Self.parse(arguments) }
    }

    @Test("All problems are reported at once, but not the value of an unknown flag")
    func several() {
        let line = ["deliveries", "--limt", "5", "--limit", "0", "now", "--port", "1"]
        let problems = [
            "unknown flag --limt; did you mean --limit?",
            "--limit is \"0\": expected a whole number from 1 to 10000", "\"now\" is an unexpected argument",
            "relay deliveries has no flag --port",
        ]
        #expect(throws: UsageError(problems)) { try Self.parse(line) }
        #expect(
            UsageError(problems).description.hasPrefix("4 problems with the command line:\n  - unknown flag"))
        #expect(UsageError("x").description == "x." && UsageError("x?").description == "x?")
    }

    @Test("A repeatable option keeps all of its values, in order")
    func repeated() throws {
        let host = CommandOption("--host", .text("URL"), repeatable: true, "A host.")
        let table = CommandTable(
            program: "p", summary: "", commands: [CommandSyntax("c", "Do it.", options: [host])])
        guard case .run("c", flags: [:], let options) = try table.parse(["--host=a", "--host", "b"]) else {
            Issue.record("another command")
            return
        }
        #expect(options.texts(host) == ["a", "b"] && table.help("c").contains("[--host URL]..."))
    }
}
