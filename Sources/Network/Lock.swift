import Glibc

/// A value behind a POSIX mutex, for the few things that threads share outside an actor.
///
/// `Synchronization.Mutex` would do, but ThreadSanitizer doesn't see its futex and reports races that are none.
@safe package final class Lock<Value>: @unchecked Sendable {  // why: the mutex guards it
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    /// Puts `value` behind a new mutex.
    package init(_ value: sending Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        self.value = value
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs `body` with the value while no other thread has it.
    ///
    /// Keep `body` short: it must not wait for anything.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
