import Network
import Programs

/// `relay serve`: the main thread waits for signals while tasks and event loops do the work.
enum ServeCommand {
    /// Runs the relay until a signal or an error ends it.
    static func run(_ configuration: ServeConfiguration) -> ExitStatus {
        Signals.prepare()
        if configuration.log.allowsCoreDumps { CoreDumps.allow() }
        let (requests, continuation) = AsyncStream.makeStream(of: SignalRequest.self)
        let end = Lock<ExitStatus?>(nil)
        let stopWasAsked = Lock(false)
        Task {
            let status = await Application.run(configuration, requests: requests) {
                stopWasAsked.withLock { $0 }
            }
            end.withLock { $0 = status }
            Signals.wakeMainThread()
        }
        let endDeadline = configuration.server.shutdownDeadline + Bounds.closingDeadline
        var isStopping = false
        while true {
            switch Signals.wait(atMost: isStopping ? endDeadline : nil) {
            case .request(.stop) where isStopping:
                StandardError.message("stopped immediately: second signal received")
                return .interrupted
            case .request(let request):
                if case .stop = request {
                    isStopping = true
                    stopWasAsked.withLock { $0 = true }
                }
                continuation.yield(request)
            case .woken:
                if let status = end.withLock({ $0 }) { return status }
            case .timeout:
                StandardError.message("the shutdown timed out; open connections were cut off")
                return .software
            }
        }
    }
}

extension RelayCommand {
    static let serve = RelayCommand(
        "serve", "Serve the HTTP API until SIGTERM or SIGINT.",
        about: """
            Serves the HTTP API until SIGTERM or SIGINT. SIGHUP reloads the TLS certificate and the apps file.
            """,
        settings: Settings.served
    ) { call throws(ConfigurationError) in
        ServeCommand.run(try ServeConfiguration(call.sources))
    }
}
