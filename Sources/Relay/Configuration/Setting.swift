/// What texts a setting accepts, and how they are parsed.
///
/// `accepts` completes the sentences "X is …" and "X is not …", so it starts with an article.
struct SettingType<Value: Sendable>: Sendable {
    /// A description of what is accepted: "a whole number from 0 to 65535".
    let accepts: String
    /// Parses a text into a value, or says why it is invalid.
    let parse: @Sendable (String) -> Result<Value, SettingFault>
    /// Renders a value so that `parse` returns it again.
    let render: @Sendable (Value) -> String
}

/// Why a text isn't a valid value.
enum SettingFault: Error, Equatable, Sendable {
    /// It isn't what `SettingType.accepts` says.
    case notAccepted
    /// It is invalid for this reason: a sentence without the setting's name and without any part of a secret.
    case because(String)
}

/// The sections of `relay serve --help` and docs/reference/configuration.md, in order.
enum SettingGroup: String, CaseIterable, Sendable {
    case server = "Server"
    case tls = "TLS"
    case database = "Database"
    case copy = "Copying a database"
    case apns = "APNs"
    case delivery = "Registrations and delivery"
    case limits = "Limits"
    case log = "Logs"
    case commands = "Commands"
}

/// The commands that read settings.
enum Command: String, CaseIterable, Sendable {
    case serve, migrate, copy, devices, deliveries, stats, tenants, queue, schedules, revoke, block, unblock,
        check, send
    case pair, seal, open, health
}

extension [Command] {
    /// The commands that read the database.
    static let inspecting: [Command] = [
        .devices, .deliveries, .stats, .tenants, .queue, .schedules, .revoke, .block, .unblock,
    ]
    /// Those that can be limited to one secret.
    static let aboutSecret: [Command] = [.devices, .deliveries, .stats, .schedules, .revoke]
    /// Those that change the database, directly or through the running relay.
    static let changing: [Command] = [.schedules, .revoke, .block, .unblock]
}

/// A setting's row in the table, independent of its type.
struct SettingRow: Sendable, Equatable {
    /// The environment variable: `APNS_TEAM_ID`.
    let name: String
    /// Its section.
    let group: SettingGroup
    /// What it accepts; see `SettingType.accepts`.
    let accepts: String
    /// Its default, as text.
    let defaultText: String
    /// Whether it is never printed, and can also be read from the file that `<name>_FILE` names.
    let isSecret: Bool
    /// The commands that read it.
    let users: [Command]
    /// Its description, one or two sentences.
    let summary: String

    /// Its flag: `--apns-team-id`, unless the command has a shorter one.
    let flag: String

    /// Why the flag is refused and what to use instead, in one sentence; `nil` if it is accepted.
    var flagRefusal: String?

    /// The commands that accept its flag: `relay check` also accepts those of `relay serve`.
    var flagUsers: [Command] { users.contains(.serve) ? users + [.check] : users }

    /// The flag for an environment variable.
    static func flag(of name: String) -> String {
        "--" + String(name.map { $0 == "_" ? "-" : Character($0.lowercased()) })
    }

    /// Whether its value is a file path.
    var isPath: Bool { accepts == SettingType<String>.path.accepts }

    /// The variable that names a file with the value.
    ///
    /// Only for secrets.
    var fileName: String { name + "_FILE" }

    /// The flag that names a file with the value.
    ///
    /// Only for secrets.
    var fileFlag: String { flag + "-file" }
}

/// One setting: the only place that defines its name, format and default.
struct Setting<Value: Sendable>: Sendable {
    /// Its row in the table.
    let row: SettingRow
    /// Its format.
    let type: SettingType<Value>
    /// Its default value.
    let defaultValue: Value

    /// A setting that always has a value.
    init(
        _ name: String, _ group: SettingGroup, _ type: SettingType<Value>, default defaultValue: Value,
        secret: Bool = false, users: [Command] = [.serve], flag: String? = nil, _ summary: String
    ) {
        self.row = SettingRow(
            name: name, group: group, accepts: type.accepts, defaultText: type.render(defaultValue),
            isSecret: secret, users: users, summary: summary, flag: flag ?? SettingRow.flag(of: name))
        self.type = type
        self.defaultValue = defaultValue
    }

    /// A setting without a default value; `unset` describes what that means.
    init<Wrapped: Sendable>(
        _ name: String, _ group: SettingGroup, optional type: SettingType<Wrapped>, unset: String,
        secret: Bool = false, users: [Command] = [.serve], flag: String? = nil,
        flagRefusal: String? = nil, _ summary: String
    ) where Value == Wrapped? {
        self.row = SettingRow(
            name: name, group: group, accepts: type.accepts, defaultText: unset, isSecret: secret,
            users: users, summary: summary, flag: flag ?? SettingRow.flag(of: name), flagRefusal: flagRefusal)
        self.type = SettingType(
            accepts: type.accepts,
            parse: { text in type.parse(text).map { Optional($0) } },
            render: { value in value.map(type.render) ?? "" })
        self.defaultValue = nil
    }
}

/// Whether a history keeps readable texts.
enum HistoryText: String, CaseIterable, Sendable {
    case on, off
}

/// A setting that is on or off.
enum Switch: String, CaseIterable, Sendable {
    case yes, no
}
