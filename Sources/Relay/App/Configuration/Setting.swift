/// What a setting's text may be, and how it becomes a value.
///
/// `accepts` completes the sentences "X is …" and "X is not …", so it starts with an article.
struct SettingType<Value: Sendable>: Sendable {
    /// What is accepted, for a person: "a whole number from 0 to 65535".
    let accepts: String
    /// The value of a text, or why it is none.
    let parse: @Sendable (String) -> Result<Value, SettingFault>
    /// The text of a value, such that `parse` gives the value again.
    let render: @Sendable (Value) -> String
}

/// Why a text is no value of a setting.
enum SettingFault: Error, Equatable, Sendable {
    /// It is not what `SettingType.accepts` says.
    case notAccepted
    /// It is not, for this reason: a sentence without the setting's name and without any part of a secret.
    case because(String)
}

/// The chapters of `relay serve --help` and docs/CONFIGURATION.md, in their order.
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
enum SettingUser: String, CaseIterable, Sendable {
    case serve, migrate, copy, devices, deliveries, stats, revoke, check, send, health
}

extension [SettingUser] {
    /// The commands that look into the database for a person.
    static let inspecting: [SettingUser] = [.devices, .deliveries, .stats, .revoke]
}

/// What the table says about one setting, whatever its type.
struct SettingRow: Sendable, Equatable {
    /// The environment variable: `APNS_TEAM_ID`.
    let name: String
    /// The chapter it is listed in.
    let group: SettingGroup
    /// What it accepts; see `SettingType.accepts`.
    let accepts: String
    /// What it is when not set, as text.
    let defaultText: String
    /// Never printed; also read from the file that `<name>_FILE` names.
    let isSecret: Bool
    /// The commands that read it.
    let users: [SettingUser]
    /// What it does: one or two sentences.
    let summary: String

    /// The flag with the same meaning: `--apns-team-id`, unless the command has a shorter word for it.
    let flag: String

    /// Why the flag is refused, and what to do instead: a sentence.
    ///
    /// `nil` where it isn't.
    var flagRefusal: String?

    /// The commands whose command line takes its flag: `relay check` looks at all that `relay serve` reads.
    var flagUsers: [SettingUser] { users.contains(.serve) ? users + [.check] : users }

    /// The flag that an environment variable has.
    static func flag(of name: String) -> String {
        "--" + String(name.map { $0 == "_" ? "-" : Character($0.lowercased()) })
    }

    /// The variable that names a file with the value.
    ///
    /// Only secrets have it.
    var fileName: String { name + "_FILE" }

    /// The flag that names a file with the value.
    ///
    /// Only secrets have it.
    var fileFlag: String { flag + "-file" }
}

/// One setting: the only place that says what it is called, what it accepts and what it is when not set.
struct Setting<Value: Sendable>: Sendable {
    /// What the table says about it.
    let row: SettingRow
    /// How its text becomes a value.
    let type: SettingType<Value>
    /// Its value when not set.
    let defaultValue: Value

    /// A setting that always has a value.
    init(
        _ name: String, _ group: SettingGroup, _ type: SettingType<Value>, default defaultValue: Value,
        secret: Bool = false, users: [SettingUser] = [.serve], flag: String? = nil, _ summary: String
    ) {
        self.row = SettingRow(
            name: name, group: group, accepts: type.accepts, defaultText: type.render(defaultValue),
            isSecret: secret, users: users, summary: summary, flag: flag ?? SettingRow.flag(of: name))
        self.type = type
        self.defaultValue = defaultValue
    }

    /// A setting that may be without a value; `unset` says what that means.
    init<Wrapped: Sendable>(
        _ name: String, _ group: SettingGroup, optional type: SettingType<Wrapped>, unset: String,
        secret: Bool = false, users: [SettingUser] = [.serve], flag: String? = nil,
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
