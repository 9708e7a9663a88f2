import Storage

/// What `relay copy` runs with.
struct CopyConfiguration: Sendable {
    var source: DatabaseURL
    var target: DatabaseURL
    var mayMerge: Bool

    /// Reads the settings of this command; see ``ServeConfiguration``.
    init(_ sources: SettingSources) throws(ConfigurationProblems) {
        var reader = SettingReader(sources)
        let source = reader.read(Settings.copyFrom)
        let target = reader.read(Settings.copyTo)
        mayMerge = reader.read(Settings.copyMerge) == .yes
        reader.noteUnknownNames()
        for row in [Settings.copyFrom.row, Settings.copyTo.row] where !reader.isGiven(row) {
            reader.note(
                "\(row.flag) is not set; relay copy needs \(Settings.copyFrom.row.flag) and \(Settings.copyTo.row.flag)"
            )
        }
        if let source, source == target { reader.note("--from and --to are the same database") }
        guard let source, let target, reader.problems.isEmpty else {
            throw ConfigurationProblems(reader.problems, user: .copy)
        }
        self.source = source
        self.target = target
    }
}

/// A setting that is on or off.
enum Switch: String, CaseIterable, Sendable {
    case yes, no
}

extension Settings {
    // MARK: Copying

    static let copyFrom = Setting(
        "RELAY_COPY_FROM", .copy, optional: .database, unset: "required",
        secret: true, users: [.copy], flag: "--from",
        "The database that is copied. It is only read.")
    static let copyTo = Setting(
        "RELAY_COPY_TO", .copy, optional: .database, unset: "required",
        secret: true, users: [.copy], flag: "--to",
        "The database that it is copied to. Its tables are made where they are missing.")
    static let copyMerge = Setting(
        "RELAY_COPY_MERGE", .copy, .choice, default: Switch.no, users: [.copy], flag: "--merge",
        "Whether the target may have rows of its own. They stay, but for those whose key is in the source, too. The "
            + "flag needs no value.")
}
