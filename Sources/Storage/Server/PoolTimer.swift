internal import Glibc

/// A thread that calls a function at given times; the function returns the time of the next call.
///
/// Each pool has a timer, because callers wait without blocking a thread, so nothing else would notice when their
/// deadlines pass.
@safe
final class PoolTimer: @unchecked Sendable {  // why: state is under mutex
    private let tick: @Sendable () -> ContinuousClock.Instant?
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let wakeUp: UnsafeMutablePointer<pthread_cond_t>
    private var next: ContinuousClock.Instant?
    private var isEnded = false

    /// Starts the thread, which sleeps until `wake(by:)`; `tick` returns when to call it next.
    init(tick: @escaping @Sendable () -> ContinuousClock.Instant?) {
        self.tick = tick
        unsafe mutex = UnsafeMutablePointer.allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe wakeUp = UnsafeMutablePointer.allocate(capacity: 1)
        unsafe wakeUp.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // A monotonic clock, because the system clock may be set back while a call waits.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(wakeUp, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
        start()
    }

    deinit {
        unsafe pthread_cond_destroy(wakeUp)
        unsafe pthread_mutex_destroy(mutex)
        unsafe wakeUp.deallocate()
        unsafe mutex.deallocate()
    }

    /// Ensures that `tick` is called no later than the given time; nil changes nothing.
    func wake(by time: ContinuousClock.Instant?) {
        guard let time else { return }
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        if let next, next <= time { return }
        next = time
        unsafe pthread_cond_signal(wakeUp)
    }

    /// Tells the thread to end, without waiting for it.
    func end() {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        isEnded = true
        unsafe pthread_cond_signal(wakeUp)
    }

    private func start() {
        // The thread owns the timer until it ends.
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<PoolTimer>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        precondition(status == 0, "the thread of a pool's timer could not be started")
        pthread_detach(thread)
    }

    private func run() {
        unsafe pthread_setname_np(pthread_self(), "relay.pool")
        while waitUntilDue() {
            wake(by: tick())
        }
    }

    /// Sleeps until `tick` is due; returns false after `end()`.
    private func waitUntilDue() -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while !isEnded {
            guard let due = next else {
                unsafe pthread_cond_wait(wakeUp, mutex)
                continue
            }
            let wait = ContinuousClock.now.duration(to: due)
            guard wait > .zero else {
                next = nil
                return true
            }
            var time = timespec()
            unsafe clock_gettime(CLOCK_MONOTONIC, &time)
            let (seconds, attoseconds) = wait.components
            let nanoseconds = time.tv_nsec + Int(attoseconds / 1_000_000_000) + 1
            time.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
            time.tv_nsec = nanoseconds % 1_000_000_000
            _ = unsafe pthread_cond_timedwait(wakeUp, mutex, &time)
        }
        return false
    }
}
