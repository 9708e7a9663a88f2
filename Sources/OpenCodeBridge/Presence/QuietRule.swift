/// Whether the end of a run rings while somebody works at this machine.
struct QuietRule: Sendable {
    /// How recently somebody must have typed; zero for a rule that silences nothing.
    let time: Duration
    /// When somebody last typed.
    var lastInput: @Sendable () -> EpochMilliseconds? = { TerminalActivity.lastInput() }

    /// Whether a ring of this type is left out.
    ///
    /// Only `complete` ever is: permissions and errors need somebody.
    func silences(_ type: EventType, now: EpochMilliseconds = SystemTime.now) -> Bool {
        guard type == .complete, time > .zero, let last = lastInput() else { return false }
        return now - last < time.milliseconds
    }
}
