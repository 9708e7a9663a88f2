import Programs

enum TestCommand {
    /// Rings the phones once and explains the relay's response.
    static func run(_ call: CommandCall) throws(ConfigurationError) -> ExitStatus {
        let (configuration, console) = (try call.configuration(), call.console)
        let access = try RelayAccess(configuration)
        if let warning = access.warning { console.note("warning: \(warning)") }
        guard let session = SessionID("agent-bridge-test") else { return .failed }
        let now = WallClock.system.now
        let readable = QueuedEvent(
            id: "oc-test-\(now)", at: now, type: .permission, session: session,
            text: .readable(
                title: "Test of the bridge", body: "If you can read this, permissions ring on this phone."))
        let event = access.sealer?.sealed(readable, at: now) ?? readable
        return CommandTask.run {
            switch await access.relay.post(event) {
            case .accepted(let summary):
                console.print(summary)
                guard summary.hasPrefix("sent") else { return .failed }
                if access.sealer != nil {
                    console.print("the text is sealed: apps that can't open it show a general one")
                }
                return .success
            case .refused(let reason):
                console.print("the relay refused the event: \(reason)")
            case .later(let reason, _):
                console.print("the relay can't accept the event now: \(reason)")
            case .unreachable(let reason):
                console.print("the relay doesn't answer: \(reason)")
                return .unavailable
            }
            return .failed
        }
    }
}

extension BridgeCommand {
    static let test = BridgeCommand("test", "Ring the phones once and explain the result.") {
        call throws(ConfigurationError) in
        try TestCommand.run(call)
    }
}
