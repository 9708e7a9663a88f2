import Glibc

/// The program: what `main.swift` calls.
enum Program {
    /// Runs what the command line asks for and says how the process shall end.
    static func run(arguments: [String], environment: [String: String]) -> ExitStatus {
        let status = runCommand(arguments, environment)
        guard let fault = StandardOutput.fault else { return status }
        StandardError.message("what was asked for can't be printed: \(fault.reason)")
        return status == .success ? .output : status
    }

    private static func runCommand(_ arguments: [String], _ environment: [String: String]) -> ExitStatus {
        do throws(UsageProblem) {
            switch try Invocation.parse(arguments) {
            case .version:
                StandardOutput.write("relay \(Version.current)\n")
            case .help(let user):
                StandardOutput.write(HelpText.text(about: user))
            case .run(let user, let flags, let options):
                return run(user, Self.sources(flags, environment), options)
            }
            return .success
        } catch {
            let end = error.description.hasSuffix("?") ? "" : "."
            let user = arguments.first.flatMap(SettingUser.init)
            StandardError.message("\(error.description)\(end) \(HelpText.hint(user))")
            return .usage
        }
    }

    private static func sources(_ flags: [String: String], _ environment: [String: String]) -> SettingSources
    {
        SettingSources(flags: flags, environment: environment, readFile: SettingFile.read)
    }

    private static func run(
        _ user: SettingUser, _ sources: SettingSources, _ options: CommandOptions
    ) -> ExitStatus {
        let style = OutputStyle.standardOutput(sources.environment)
        func inspection() throws(ConfigurationProblems) -> InspectionConfiguration {
            try InspectionConfiguration(sources, user: user)
        }
        do throws(ConfigurationProblems) {
            switch user {
            case .serve: return ServeCommand.run(try ServeConfiguration(sources))
            case .migrate:
                return MigrateCommand.run(
                    try MigrateConfiguration(sources), isDryRun: options.has(.dryRun))
            case .copy: return CopyCommand.run(try CopyConfiguration(sources))
            case .devices:
                return DevicesCommand.run(try inspection(), options, style)
            case .deliveries:
                return DeliveriesCommand.run(try inspection(), options, style)
            case .stats:
                return StatsCommand.run(try inspection(), options, style)
            case .revoke:
                return RevokeCommand.run(try inspection(), options)
            case .check: return CheckCommand.run(sources, options, style)
            case .send: return SendCommand.run(try SendConfiguration(sources, options), options, style)
            case .health: return HealthCommand.run(try HealthConfiguration(sources))
            }
        } catch {
            StandardError.message(error.description)
            return .configuration
        }
    }
}
