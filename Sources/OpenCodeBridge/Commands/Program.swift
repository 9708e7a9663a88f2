import Programs

/// The program's entry point, called by `main.swift`.
enum Program {
    /// Runs a command.
    static func run(_ arguments: [String], _ environment: [String: String]) -> ExitStatus {
        let console = Console()
        let invocation: Invocation
        do throws(Invocation.Problem) {
            invocation = try Invocation(arguments)
        } catch {
            // A hook must not disturb its agent.
            if arguments.first == Command.hook.rawValue,
                !HookInstallCommand.isMeant(arguments.dropFirst().prefix(2))
            {
                return .success
            }
            console.note("\(error.sentence). Try `opencode-bridge help`.")
            return .usage
        }
        do throws(SettingProblems) {
            switch invocation.command {
            case .help:
                console.print(invocation.helpTopic == .hook ? HelpText.hook : HelpText.text)
                return .success
            case .version:
                console.print("opencode-bridge \(Version.current)")
                return .success
            case .completion:
                guard let script = invocation.operands.first.flatMap(CompletionScript.init) else {
                    console.note("expected bash, zsh or fish after completion")
                    return .usage
                }
                console.print(script.text)
                return .success
            case .man:
                console.print(ManualPage.text)
                return .success
            case .hook:
                if let installation = try HookInstallCommand(invocation, environment) {
                    return try installation.run(console)
                }
                HookCommand.run(invocation, environment) { () throws(SettingProblems) in
                    try settings(invocation, environment)
                }
                return .success
            case .serve: return try ServeCommand.run(try settings(invocation, environment), environment)
            case .check:
                return try CheckCommand.run(try settings(invocation, environment), environment, console)
            case .pair:
                return try PairCommand.run(
                    try settings(invocation, environment), invocation.pairing, environment, console)
            case .test: return try TestCommand.run(try settings(invocation, environment), console)
            }
        } catch {
            for sentence in error.sentences { console.note(sentence) }
            return .configuration
        }
    }

    private static func settings(_ invocation: Invocation, _ environment: [String: String])
        throws(SettingProblems) -> Configuration
    {
        let values = try SettingValues(
            flags: invocation.flags, environment: environment, prefersFile: invocation.command == .hook
        ) { (path, isRequired) throws(SettingProblems) in
            do throws(SmallFile.Fault) {
                return try SmallFile.read(path, bytesMax: Bounds.settingFileBytesMax)
            } catch {
                if error.isMissing, !isRequired { return nil }
                throw SettingProblems(["the configuration file \(path) can't be read: \(error)"])
            }
        }
        return try Configuration(values, environment)
    }
}
