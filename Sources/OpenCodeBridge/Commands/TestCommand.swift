/// `opencode-bridge test`.
enum TestCommand {
    /// Rings the phones once and explains the relay's answer.
    static func run(_ configuration: Configuration, _ console: Console) throws(SettingProblems)
        -> ExitStatus
    {
        let relay = RelayClient(
            address: try configuration.requireRelay(), secret: try SecretFile.read(configuration),
            caFile: configuration.relayCAFile)
        guard let session = SessionID("opencode-bridge-test") else { return .failed }
        let event = QueuedEvent(
            id: "oc-test-\(SystemTime.now)", at: SystemTime.now, type: .permission, session: session,
            title: "Test of the bridge", body: "If you can read this, permissions ring on this phone.")
        return CommandTask.run {
            switch await relay.post(event) {
            case .accepted(let summary):
                console.print(summary)
                return summary.hasPrefix("sent") ? .success : .failed
            case .refused(let reason):
                console.print("the relay refuses the event: \(reason)")
            case .later(let reason, _):
                console.print("the relay can't take the event: \(reason)")
            case .unreachable(let reason):
                console.print("no relay answers: \(reason)")
                return .unavailable
            }
            return .failed
        }
    }
}
