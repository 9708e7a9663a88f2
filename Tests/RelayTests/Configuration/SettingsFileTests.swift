import Programs
import Storage
import Testing

@testable import Relay

@Suite("Settings of an installed host", .timeLimit(.minutes(2)))
struct SettingsFileTests {
    private static let missing = FileError("No such file or directory", isMissing: true)
    private static let closed = FileError("Permission denied")

    /// The settings that a command loads when this is the only settings file.
    private static func load(
        _ text: String?, for command: String = "devices", given: String? = nil,
        path: String = InstalledHost.settingsFile, fault: FileError = missing
    ) -> SettingsFile? {
        SettingsFile.load(given: given, for: command) { asked in
            guard asked == path, let text else { return .failure(fault) }
            return .success(Array(text.utf8))
        }
    }

    private static func inspection(
        _ file: SettingsFile?, _ environment: [String: String] = [:], flags: [String: String] = [:]
    ) throws(ConfigurationError) -> InspectionConfiguration {
        try InspectionConfiguration(
            SettingSources(
                flags: flags, environment: environment, file: file, readFile: { _ in .failure(closed) }),
            command: RelayCommand.devices.syntax)
    }

    @Test("A command takes the installed settings, after flags and the environment")
    func order() throws {
        let file = Self.load("DATABASE_URL=postgres://relay@a/relay\nRELAY_DATABASE_TIMEOUT=7s\n")
        let found = try Self.inspection(file)
        #expect(found.database.text == "postgres://relay@a/relay" && found.options.callTimeout == .seconds(7))
        let environment = ["DATABASE_URL": "postgres://relay@b/relay"]
        let mixed = try Self.inspection(file, environment)
        #expect(mixed.database.text == "postgres://relay@b/relay" && mixed.options.callTimeout == .seconds(7))
        let flag = try Self.inspection(file, environment, flags: ["DATABASE_URL": "postgres://relay@c/relay"])
        #expect(flag.database.text == "postgres://relay@c/relay")
        // An empty variable counts as not set.
        #expect(try Self.inspection(file, ["DATABASE_URL": ""]).database.text == "postgres://relay@a/relay")
    }

    @Test("relay serve takes no file but one that it is given")
    func serve() {
        #expect(Self.load("PORT=1", for: "serve") == nil)
        #expect(Self.load("PORT=1", for: "serve", given: "/x.env", path: "/x.env")?.values == ["PORT": "1"])
    }

    @Test("Relative paths of the installed settings start where the service runs")
    func relativePaths() throws {
        let file = try #require(
            Self.load("APNS_CA_FILE=ca.pem\nRELAY_SECRET_PEPPER_FILE=pepper\nRELAY_TLS_KEY_FILE=/k.pem\n"))
        #expect(file.values["APNS_CA_FILE"] == "/var/lib/relay/ca.pem")
        #expect(file.values["RELAY_SECRET_PEPPER_FILE"] == "/var/lib/relay/pepper")
        #expect(file.values["RELAY_TLS_KEY_FILE"] == "/k.pem")
        #expect(try Self.inspection(Self.load("")).database.text == "sqlite:/var/lib/relay/relay.db")
        #expect(
            try Self.inspection(Self.load("DATABASE_URL=sqlite:data/r.db")).database.text
                == "sqlite:/var/lib/relay/data/r.db")
        #expect(
            try Self.inspection(Self.load("DATABASE_URL=sqlite:///srv/r.db")).database.text
                == "sqlite:///srv/r.db")
        let other = Self.load("DATABASE_URL=sqlite:r.db", given: "/x.env", path: "/x.env")
        #expect(try Self.inspection(other).database.text == "sqlite:r.db")
    }

    @Test("An installed file that can't be read is a problem with advice, unless nothing of it is needed")
    func unreadable() throws {
        let file = Self.load(nil, fault: Self.closed)
        let error = #expect(throws: ConfigurationError.self) { _ = try Self.inspection(file) }
        #expect(
            error?.problems == [
                "the settings file \"/etc/relay/relay.env\" can't be read: Permission denied; run the command with "
                    + "sudo or as the relay's user, or name another file with --env-file"
            ])
        let sources = SettingSources(file: Self.load(nil, for: "send", fault: Self.closed))
        var options = CommandOptions()
        try options.add(.url, "https://relay.example")
        _ = try SendConfiguration(sources, options)
        #expect(throws: ConfigurationError.self) { try SendConfiguration(sources, CommandOptions()) }
    }

    @Test(
        "A file that isn't there is named when the database can't be opened, and is a problem when it was asked for"
    )
    func missing() throws {
        let advice = try Self.inspection(Self.load(nil)).advice
        #expect(
            advice
                == "DATABASE_URL is not set and there is no /etc/relay/relay.env: name the relay's settings with "
                + "--env-file, or set DATABASE_URL")
        let error = #expect(throws: ConfigurationError.self) {
            try Self.inspection(Self.load(nil, given: "/x.env"))
        }
        #expect(
            error?.problems == ["the settings file \"/x.env\" can't be read: No such file or directory"])
    }

    @Test("A file with a NUL byte is refused, because the system would cut a path at it")
    func nul() {
        let file = Self.load("DATABASE_URL=sqlite:/a\0b.db")
        #expect(file?.fault?.reason == "it contains a NUL byte" && file?.values.isEmpty == true)
    }

    @Test("A problem with a setting of the file names the file")
    func problem() {
        let file = Self.load(
            "DATABASE_URL=nosuch:x\nRELAY_XYZZY=1\nRELAY_SECRET_PEPPER=a\nRELAY_SECRET_PEPPER_FILE=/b\n")
        let error = #expect(throws: ConfigurationError.self) { _ = try Self.inspection(file) }
        let problems = error?.problems ?? []
        let place = " in /etc/relay/relay.env"
        #expect(problems.contains { $0.hasPrefix("DATABASE_URL\(place)") }, "\(problems)")
        #expect(problems.contains("RELAY_XYZZY\(place) is not a setting of this program"), "\(problems)")
        #expect(
            problems.contains(
                "RELAY_SECRET_PEPPER\(place) and RELAY_SECRET_PEPPER_FILE\(place) are both set; set one of them"
            ),
            "\(problems)")
    }

    @Test(
        "Messages are log lines for serve where nobody watches or JSON is set, and for migrate where it is set"
    )
    func messageFormat() {
        func isJSON(_ command: String, _ format: String?, isTerminal: Bool) -> Bool {
            if case .logLine = MessageFormat.of(command, logFormat: format, isTerminal: isTerminal) {
                return true
            }
            return false
        }
        #expect(isJSON("serve", nil, isTerminal: false) && isJSON("serve", "json", isTerminal: true))
        #expect(isJSON("serve", "nonsense", isTerminal: false))
        #expect(!isJSON("serve", nil, isTerminal: true) && !isJSON("serve", "text", isTerminal: false))
        #expect(isJSON("migrate", "json", isTerminal: true) && !isJSON("migrate", nil, isTerminal: false))
        #expect(!isJSON("devices", "json", isTerminal: false) && !isJSON("other", "json", isTerminal: false))
    }
}
