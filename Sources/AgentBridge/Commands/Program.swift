import Programs

/// The program's entry point, called by `main.swift`.
enum Program {
    /// Runs a command.
    static func run(_ arguments: [String], _ environment: [String: String]) -> ExitStatus {
        let table = BridgeCommand.table
        // A hook must not disturb its agent, whatever arguments it receives.
        let isHook = arguments.first == BridgeCommand.hook.syntax.name
        if isHook, !HookInstallCommand.isMeant(arguments.dropFirst().prefix(2)),
            (try? table.parse(arguments)) == nil
        {
            return .success
        }
        let complain = { (text: String) in StandardError.message(text, from: table.program) }
        return table.run(arguments, complain: complain) { name, flags, options in
            guard let command = BridgeCommand.all.first(where: { $0.syntax.name == name }) else {
                return .software
            }
            do throws(ConfigurationError) {
                return try command.run(
                    CommandCall(name: name, flags: flags, options: options, environment: environment))
            } catch {
                for problem in error.problems { complain(problem) }
                return .configuration
            }
        }
    }
}
