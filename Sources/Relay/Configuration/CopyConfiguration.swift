import Programs
import Storage

/// The configuration of `relay copy`.
struct CopyConfiguration: Sendable {
    var source: DatabaseURL
    var target: DatabaseURL

    /// Reads the settings of this command; see ``ServeConfiguration``.
    init(_ sources: SettingSources) throws(ConfigurationError) {
        var reader = SettingReader(sources)
        let source = reader.read(Settings.copyFrom)
        let target = reader.read(Settings.copyTo)
        reader.noteUnknownNames()
        for row in [Settings.copyFrom.row, Settings.copyTo.row] where !reader.isGiven(row) {
            reader.note(
                "\(row.flag) is not set; relay copy needs \(Settings.copyFrom.row.flag) and \(Settings.copyTo.row.flag)"
            )
        }
        if let source, source == target { reader.note("--from and --to are the same database") }
        guard let source, let target, reader.problems.isEmpty else {
            throw ConfigurationError(reader.problems, command: "relay copy")
        }
        self.source = source
        self.target = target
    }
}

extension Settings {
    // MARK: Copying

    static let copyFrom = Setting(
        "RELAY_COPY_FROM", .copy, optional: .database, unset: "required",
        secret: true, flag: "--from",
        "The database to copy. It is only read.")
    static let copyTo = Setting(
        "RELAY_COPY_TO", .copy, optional: .database, unset: "required",
        secret: true, flag: "--to",
        "The database to copy into. Missing tables are created.")
}
