import Programs

/// Whether the end of a run rings while someone is working at this machine.
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

    /// Whether someone has typed at this machine within the rule's time, or within two minutes if it has none.
    func isSomeoneHere(now: EpochMilliseconds = WallClock.system.now) -> Bool {
        guard let last = lastInput() else { return false }
        return now - last < (time > .zero ? time : Bounds.deskTime).inMilliseconds
    }
}
