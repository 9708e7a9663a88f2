import CEvent

/// The precision of a loop's timers.
package enum TimerPrecision: Sendable {
    /// Up to 5 ms early or late, using a cheap clock: for deadlines.
    case coarse
    /// Never early; costs one more system call per turn.
    case precise
}

/// A reusable one-shot timer.
///
/// Confined to its loop.
@safe package final class Timer {
    private var event: OpaquePointer?
    private let fire: () -> Void
    /// Whether the timer is scheduled and has not fired.
    package private(set) var isScheduled = false

    /// Creates an unscheduled timer that calls `fire` on `loop`.
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

    /// Schedules the timer to fire once after `delay`, replacing an earlier schedule.
    ///
    /// The loop's ``TimerPrecision`` sets the precision.
    package func schedule(after delay: Duration) {
        unsafe relay_event_add_timer(event, UInt((delay.clampedNanoseconds + 999) / 1_000))
        isScheduled = true
    }

    /// Cancels the timer.
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
    // Keep the timer alive while it fires: `fire` may drop the owner's reference to the timer.
    let timer = unsafe Unmanaged<Timer>.fromOpaque(context).takeUnretainedValue()
    timer.expired()
}
