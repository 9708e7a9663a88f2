import CEvent

/// How exactly a loop's timers fire.
package enum TimerPrecision: Sendable {
    /// Up to 5 ms early or late, by a clock that costs next to nothing: for deadlines.
    case coarse
    /// Never early, and late by what the machine needs; one system call more a turn.
    case precise
}

/// A one-shot timer that can be set again and again.
///
/// Confined to its loop.
@safe package final class Timer {
    private var event: OpaquePointer?
    private let fire: () -> Void
    /// Whether the timer is set and has not fired.
    package private(set) var isScheduled = false

    /// A timer that calls `fire` on `loop`; not set yet.
    ///
    /// `fire` should hold its owner weakly.
    package init(on loop: EventLoop, _ fire: @escaping () -> Void) {
        loop.reactor.preconditionOnLoop()
        self.fire = fire
        unsafe event = event_new(
            loop.reactor.base, -1, 0, timerFired, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        if let event = unsafe event { unsafe event_free(event) }
    }

    /// Sets the timer to fire once, `delay` from now; a time set before is replaced.
    ///
    /// How exactly, its loop's ``TimerPrecision`` says.
    package func schedule(after delay: Duration) {
        unsafe relay_event_add_timer(event, UInt((delay.clampedNanoseconds + 999) / 1_000))
        isScheduled = true
    }

    /// Takes the set time back.
    package func cancel() {
        guard isScheduled else { return }
        unsafe event_del(event)
        isScheduled = false
    }

    fileprivate func expired() {
        isScheduled = false
        fire()
    }
}

private func timerFired(_ descriptor: Int32, _ events: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    // The timer stays alive while it fires, though `fire` may drop its owner's reference to it.
    let timer = unsafe Unmanaged<Timer>.fromOpaque(context).takeUnretainedValue()
    timer.expired()
}
