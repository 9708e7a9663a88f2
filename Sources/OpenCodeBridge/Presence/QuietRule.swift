import Programs

/// Whether the end of a run rings while someone works at this machine.
struct QuietRule: Sendable {
    /// How recently someone must have typed to silence a ring; zero silences nothing.
    let time: Duration
    /// When someone last typed.
    var lastInput: @Sendable () -> EpochMilliseconds? = { TerminalActivity.lastInput() }

    /// Whether a ring of this type is suppressed.
    ///
    /// Only `complete` can be suppressed: permissions and errors need attention.
    func silences(_ type: EventType, now: EpochMilliseconds = WallClock.system.now) -> Bool {
        guard type == .complete, time > .zero, let last = lastInput() else { return false }
        return now - last < time.inMilliseconds
    }
}
