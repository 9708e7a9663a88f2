import Glibc
import Programs

/// The program's entry point, called by `main.swift`.
enum Program {
    /// Runs the command line's command and returns the exit status.
    static func run(arguments: [String], environment: [String: String]) -> ExitStatus {
        // `relay --port 1` is serve, too.
        let user = arguments.first.map { $0.hasPrefix("-") ? .serve : Command(rawValue: $0) } ?? .serve
        StandardError.use(.of(user, logFormat: environment[Settings.logFormat.row.name]))
        let status = runCommand(arguments, environment)
        guard let fault = StandardOutput.fault else { return status }
        StandardError.message("cannot write the output: \(fault.reason)")
        return status == .success ? .output : status
    }

    private static func runCommand(_ arguments: [String], _ environment: [String: String]) -> ExitStatus {
        do throws(UsageProblem) {
            switch try Invocation.parse(arguments) {
            case .version:
                StandardOutput.write("relay \(Version.current)\n")
            case .help(let user):
                StandardOutput.write(HelpText.text(about: user))
            case .completion(let shell):
                StandardOutput.write(shell.script)
            case .manual:
                StandardOutput.write(ManualPage.text)
            case .run(let user, let flags, let options):
                let sources = Self.sources(user, flags, environment)
                StandardError.use(.of(user, logFormat: sources.value(of: Settings.logFormat.row.name)))
                return run(user, sources, options)
            }
            return .success
        } catch {
            let end = error.description.hasSuffix("?") ? "" : "."
            let user = arguments.first.flatMap(Command.init)
            StandardError.message("\(error.description)\(end) \(HelpText.hint(user))")
            return .usage
        }
    }

    private static func sources(
        _ user: Command, _ flags: [String: String], _ environment: [String: String]
    ) -> SettingSources {
        var sources = SettingSources(
            flags: flags, environment: ProxyVariables.inUpperCase(environment), readFile: SettingFile.read)
        sources.file = SettingsFile.load(
            given: sources.value(of: Settings.envFile.row.name), for: user, reading: SettingFile.read)
        return sources
    }

    private static func run(
        _ user: Command, _ sources: SettingSources, _ options: CommandOptions
    ) -> ExitStatus {
        let style = OutputStyle.standardOutput(sources.environment)
        func inspection() throws(ConfigurationProblems) -> InspectionConfiguration {
            let configuration = try InspectionConfiguration(sources, user: user)
            try DatabaseOwner.become([configuration.database], for: user)
            return configuration
        }
        do throws(ConfigurationProblems) {
            switch user {
            case .serve: return ServeCommand.run(try ServeConfiguration(sources))
            case .migrate:
                let configuration = try MigrateConfiguration(sources)
                try DatabaseOwner.become([configuration.database], for: user)
                return MigrateCommand.run(configuration, options)
            case .copy:
                let configuration = try CopyConfiguration(sources)
                try DatabaseOwner.become([configuration.source, configuration.target], for: user)
                return CopyCommand.run(configuration)
            case .devices:
                return DevicesCommand.run(try inspection(), options, style)
            case .deliveries:
                return DeliveriesCommand.run(try inspection(), options, style)
            case .stats:
                return StatsCommand.run(try inspection(), options, style)
            case .tenants:
                return TenantsCommand.run(try inspection(), options, style)
            case .queue:
                return QueueCommand.run(try inspection(), options, style)
            case .schedules:
                return SchedulesCommand.run(try inspection(), options, style)
            case .block:
                return BlockCommand.block(try inspection(), options, style)
            case .unblock:
                return BlockCommand.unblock(try inspection(), options)
            case .revoke:
                return RevokeCommand.run(try inspection(), options)
            case .check: return CheckCommand.run(sources, options, style)
            case .send: return SendCommand.run(try SendConfiguration(sources, options), options, style)
            case .pair: return PairCommand.run(options)
            case .seal: return SealCommand.run(sources, options)
            case .open: return OpenCommand.run(sources, options)
            case .health: return HealthCommand.run(try HealthConfiguration(sources))
            }
        } catch {
            StandardError.messages(error.problems, summary: error.description)
            return .configuration
        }
    }
}
