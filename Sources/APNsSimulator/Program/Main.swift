import Glibc
import Network
import Programs

/// The entry point of `apns-simulator`.
@main
enum Main {
    static func main() {
        exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    private static func run(_ arguments: [String]) -> ExitStatus {
        do throws(UsageProblems) {
            return run(try Invocation.parse(arguments))
        } catch {
            for sentence in error.sentences { complain(sentence) }
            complain("see apns-simulator --help for usage")
            return .usage
        }
    }

    private static func run(_ invocation: Invocation) -> ExitStatus {
        do throws(ProgramFailure) {
            switch invocation {
            case .serve(let options): return serve(options)
            case .makeKey(let out): try KeyCommands.makeKey(out: out)
            case .makeToken(let options): try KeyCommands.makeToken(options)
            case .help: StandardOutput.write(Array(HelpText.text.utf8))
            case .version: StandardOutput.write(Array("apns-simulator \(Version.current)\n".utf8))
            }
            return .success
        } catch {
            complain(error.sentence)
            return error.status
        }
    }

    /// Serves on other threads while the main thread waits for signals.
    private static func serve(_ options: ServeOptions) -> ExitStatus {
        Signals.block()
        let stop = StopRequest()
        let status = Lock(ExitStatus.success)
        Task {
            do throws(ProgramFailure) {
                try await ServeCommand.run(options, until: stop)
            } catch {
                complain(error.sentence)
                status.withLock { $0 = error.status }
            }
            Signals.wakeMainThread()
        }
        while true {
            switch Signals.wait() {
            case .stop: stop.make()
            case .woken: return status.withLock { $0 }
            }
        }
    }

    private static func complain(_ sentence: String) {
        StandardOutput.write(Array("apns-simulator: \(Printable.line(sentence))\n".utf8), to: STDERR_FILENO)
    }
}
