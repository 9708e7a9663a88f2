import Glibc
import Programs
import Storage
import StorageSQLite

/// `relay backup` and `relay restore`: save a SQLite database as one file, and restore it.
enum BackupCommand {
    /// Writes a backup, even while a relay is running.
    static func backUp(
        _ database: DatabaseURL, to path: String, isReplacing: Bool
    ) -> ExitStatus {
        guard let location = location(of: database) else { return .configuration }
        do throws(SQLiteBackup.Failure) {
            let summary = try SQLiteBackup.make(of: location, at: path, isReplacing: isReplacing)
            StandardOutput.write(
                "Backed up \(location.path) to \(TerminalText.safe(path)): \(text(summary))\n")
            return .success
        } catch {
            return report(
                error, reading: location.path, writing: path)
        }
    }

    /// Restores the database from a backup.
    ///
    /// - Parameter prepare: Called once the backup is open; gives new files the database's owner.
    static func restore(
        _ database: DatabaseURL, from path: String, isReplacing: Bool,
        prepare: () throws(ConfigurationError) -> Void
    ) throws(ConfigurationError) -> ExitStatus {
        guard let location = location(of: database) else { return .configuration }
        let backup = open(path, O_RDONLY | O_CLOEXEC)
        guard backup >= 0 else {
            StandardError.message("can't read \(TerminalText.safe(path)): \(FileError(errno: errno).reason)")
            return .noInput
        }
        defer { close(backup) }
        // Without its log, the file is outdated or damaged.
        var log = stat()
        if stat(path + "-wal", &log) == 0, log.st_size > 0 {
            StandardError.message(
                "\(TerminalText.safe(path)) is in use, or a copy without its log: restore from a file made "
                    + "by relay backup"
            )
            return .data
        }
        try prepare()
        do throws(SQLiteBackup.Failure) {
            let summary = try SQLiteBackup.restore(from: backup, to: location, isReplacing: isReplacing)
            StandardOutput.write(
                "Restored \(location.path) from \(TerminalText.safe(path)): \(text(summary))\n")
            return .success
        } catch {
            return report(
                error, reading: path, writing: location.path)
        }
    }

    private static func location(of database: DatabaseURL) -> SQLiteLocation? {
        if database.engine == .sqlite, let location = try? SQLiteLocation(url: database.text) {
            return location
        }
        let tools = database.engine == .mysql ? "mariadb-dump and mariadb" : "pg_dump and pg_restore"
        StandardError.message(
            "\(OpenStorage.description(of: database)) is not a SQLite file: use \(tools)")
        return nil
    }

    private static func text(_ summary: SQLiteBackup.Summary) -> String {
        "\(summary.devices) device\(summary.devices == 1 ? "" : "s"), schema version \(summary.version), "
            + "\((summary.bytes + 999) / 1_000) kB"
    }

    private static func report(
        _ failure: SQLiteBackup.Failure, reading source: String, writing target: String
    ) -> ExitStatus {
        switch failure {
        case .exists:
            StandardError.message("\(TerminalText.safe(target)) exists: pass --replace to replace it")
            return .cantCreate
        case .reading(let error):
            StandardError.message("\(TerminalText.safe(source)): \(TerminalText.safe(error.logDetail))")
            return error.isTransient ? .unavailable : .data
        case .writing(let error):
            var text = "\(TerminalText.safe(target)): \(TerminalText.safe(error.logDetail))"
            if case .inUse = error { text += "\nStop the relay first." }
            StandardError.message(text)
            return .unavailable
        }
    }
}

extension RelayCommand {
    static let backup = RelayCommand(
        "backup", "Write the SQLite database to a file, even while the relay is running.",
        about: """
            Writes everything in the SQLite database, as it is when the command starts, to a new file, checks
            it, and prints what it holds. The relay may go on. Protect the file like the database: it has
            device tokens. The file is only there if it is complete; with --replace, an earlier one stays
            until then. Run by root, the command writes as root: use a directory of root's.

            Exit statuses: 0 written, 65 the database is damaged or another program's, 69 it can't be read or
            the file can't be written, 73 the file exists, 78 the database isn't a SQLite file.
            """,
        usages: ["FILE [--replace] [--SETTING VALUE]..."],
        arguments: [.backupFile], options: [.replace],
        settings: [Settings.databaseURL.row, Settings.logLevel.row, Settings.logFormat.row]
    ) { call throws(ConfigurationError) in
        let configuration = try MigrateConfiguration(call.sources, command: call.command.name)
        guard let path = call.options.text(.backupFile) else { return Self.missingFile(call) }
        let isReplacing = call.options.has(.replace)
        return CommandTask.run {
            BackupCommand.backUp(configuration.database, to: path, isReplacing: isReplacing)
        }
    }

    static let restore = RelayCommand(
        "restore",
        "Restore the SQLite database from a file made by relay backup, while the relay is stopped.",
        about: """
            Checks a backup and makes it the SQLite database. Stop the relay first. An existing database is
            only replaced with --replace, and stays as it is if the backup can't be used. The relay upgrades
            the backup of an older version when it starts.

            Exit statuses: 0 restored, 65 the file is damaged or not a backup, 66 it can't be read, 69 the
            database can't be written or a relay uses it, 73 the database exists, 78 it isn't a SQLite file.
            """,
        usages: ["FILE [--replace] [--SETTING VALUE]..."],
        arguments: [.backupFile], options: [.replace],
        settings: [Settings.databaseURL.row, Settings.logLevel.row, Settings.logFormat.row]
    ) { call throws(ConfigurationError) in
        let configuration = try MigrateConfiguration(call.sources, command: call.command.name)
        guard let path = call.options.text(.backupFile) else { return Self.missingFile(call) }
        return try BackupCommand.restore(
            configuration.database, from: path, isReplacing: call.options.has(.replace)
        ) { () throws(ConfigurationError) in
            // Called after the backup was opened as root, so that the command creates no file that the service can't
            // open.
            try DatabaseOwner.become([configuration.database], for: call.command.name)
        }
    }

    private static func missingFile(_ call: CommandCall) -> ExitStatus {
        StandardError.message("relay \(call.command.name) needs a FILE")
        return .usage
    }
}

extension CommandOption {
    fileprivate static let backupFile = CommandOption("FILE", .path, "The backup.")
    fileprivate static let replace = CommandOption("--replace", "Replace an existing file.")
}
