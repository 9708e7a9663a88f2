import Programs
import Storage

/// `relay migrate`: upgrades the database schema and prints what it did.
enum MigrateCommand {
    /// Migrates; a second run has nothing to do.
    ///
    /// A dry run prints the SQL and changes nothing.
    static func run(_ configuration: MigrateConfiguration, _ options: CommandOptions) -> ExitStatus {
        let database = configuration.database
        let isDryRun = options.has(.dryRun)
        if let sharding = options.text(.shards).flatMap(Sharding.init) {
            guard isDryRun else {
                StandardError.message(
                    "--shards needs --dry-run: run the printed SQL on the database yourself")
                return .usage
            }
            StandardOutput.write(sql(for: sharding))
            return .success
        }
        return CommandTask.run { isDryRun ? await show(database) : await migrate(database) }
    }

    /// The statements for a new database that shards by secret; independent of the configured database.
    static func sql(for sharding: Sharding) -> String {
        "-- SQL for a new database on \(sharding.rawValue)\n\n"
            + OpenStorage.statements(for: sharding).map { $0 + ";\n" }.joined()
    }

    private static func migrate(_ database: DatabaseURL) async -> ExitStatus {
        let place = OpenStorage.description(of: database)
        do throws(StorageError) {
            // A running relay is its file's only writer; if no step is pending, the relay need not stop.
            var steps = try await OpenStorage.pendingSteps(of: database).map(\.step)
            if !steps.isEmpty {
                let opened = try await OpenStorage.open(database)
                await opened.0.close()
                steps = opened.1
            }
            for step in steps { StandardOutput.write("\(step.rawValue)  \(step.summary)\n") }
            let version = "version \(SchemaStep.current)"
            StandardOutput.write(
                steps.isEmpty ? "\(place) is up to date (\(version))\n" : "\(place) is now at \(version)\n")
            return .success
        } catch {
            StandardError.message("\(place): \(error.logDetail)")
            return .unavailable
        }
    }

    private static func show(_ database: DatabaseURL) async -> ExitStatus {
        let place = OpenStorage.description(of: database)
        do throws(StorageError) {
            StandardOutput.write(sql(of: try await OpenStorage.pendingSteps(of: database), place: place))
            return .success
        } catch {
            StandardError.message("\(place): \(error.logDetail)")
            return .unavailable
        }
    }

    /// The output of a dry run: SQL with explanatory comments.
    static func sql(of steps: [PendingStep], place: String) -> String {
        guard !steps.isEmpty else { return "-- \(place) is up to date (version \(SchemaStep.current))\n" }
        var text = "-- \(place): SQL that relay migrate would run\n"
        for pending in steps {
            text += "\n-- \(pending.step.rawValue)  \(pending.step.summary)\n"
            for statement in pending.statements { text += statement + ";\n" }
            text += pending.step.insertion + ";\n"
        }
        return text
    }
}

extension RelayCommand {
    static let migrate = RelayCommand(
        "migrate", "Upgrade the database schema and exit. serve also does this at startup.",
        about: """
            Upgrades the database schema and exits. It deletes no rows, and a second run changes nothing.
            With --dry-run it prints the SQL that it would run, and changes nothing. With --shards it prints
            all SQL for a new database that Vitess or Citus shards by secret, without reading the database.
            """,
        usages: ["[--dry-run [--shards vitess|citus]] [--SETTING VALUE]..."],
        options: [.dryRun, .shards],
        settings: [Settings.databaseURL.row, Settings.logLevel.row, Settings.logFormat.row]
    ) { call throws(ConfigurationError) in
        let configuration = try MigrateConfiguration(call.sources)
        try DatabaseOwner.become([configuration.database], for: call.command.name)
        return MigrateCommand.run(configuration, call.options)
    }
}

extension CommandOption {
    static let dryRun = CommandOption("--dry-run", "Print the SQL without running it.")
    static let shards = CommandOption(
        "--shards", .word(Sharding.allCases.map(\.rawValue)),
        "With --dry-run: print the SQL for a new database that shards by secret.")
}
