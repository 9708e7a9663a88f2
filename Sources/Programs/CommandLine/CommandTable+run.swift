extension CommandTable {
    /// Runs a command line and returns the exit status.
    ///
    /// - Parameters:
    ///   - complain: Prints a message to standard error.
    ///   - run: Runs a command, given its name, the flags for its settings and its options.
    package func run(
        _ arguments: [String], complain: (String) -> Void,
        _ run: (String, [String: String], CommandOptions) -> ExitStatus
    ) -> ExitStatus {
        var status = ExitStatus.success
        do throws(UsageError) {
            switch try parse(arguments) {
            case .run(let command, let flags, let options): status = run(command, flags, options)
            case .help(let command): StandardOutput.write(help(command))
            case .version: StandardOutput.write("\(program) \(Version.current)\n")
            case .completion(let shell): StandardOutput.write(script(for: shell))
            case .manual: StandardOutput.write(manualPage)
            }
        } catch {
            let command = arguments.first.flatMap(self.command)?.name
            let end = error.problems.count > 1 ? "\n" : " "
            complain(error.description + end + hint(command))
            return .usage
        }
        guard let fault = StandardOutput.fault else { return status }
        complain("cannot write the output: \(fault.reason)")
        return status == .success ? .output : status
    }
}
