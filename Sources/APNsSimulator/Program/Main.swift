import Glibc
import Network
import Programs

/// The entry point of `apns-simulator`.
@main
enum Main {
    static func main() {
        let table = SimulatorCommands.table
        let status = table.run(Array(CommandLine.arguments.dropFirst()), complain: complain) {
            name, _, options in
            do throws(ProgramError) {
                switch name {
                case SimulatorCommands.key.name: try KeyCommands.makeKey(options)
                case SimulatorCommands.token.name: try KeyCommands.makeToken(options)
                default: return serve(try serveOptions(options))
                }
                return .success
            } catch {
                complain(error.sentence)
                return error.status
            }
        }
        exit(status.rawValue)
    }

    private static func serveOptions(_ options: CommandOptions) throws(ProgramError) -> ServeOptions {
        do throws(UsageError) {
            return try ServeOptions(options)
        } catch {
            throw ProgramError(.usage, error.description)
        }
    }

    /// Serves on other threads while the main thread waits for signals.
    ///
    /// It must wait here: Swift's asynchronous `main` parks it with all signals unblocked, even those blocked before.
    private static func serve(_ options: ServeOptions) -> ExitStatus {
        let stop = StopRequest()
        return CommandTask.run {
            stop.make()
            return nil
        } _: {
            do throws(ProgramError) {
                try await ServeCommand.run(options, until: stop)
                return .success
            } catch {
                complain(error.sentence)
                return error.status
            }
        }
    }

    private static func complain(_ text: String) {
        StandardError.message(text, from: SimulatorCommands.table.program)
    }
}
