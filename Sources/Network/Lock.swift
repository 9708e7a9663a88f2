import Glibc

/// A value protected by a POSIX mutex, for state shared by threads outside an actor.
///
/// Not `Synchronization.Mutex`, because ThreadSanitizer doesn't recognise its futex and reports false races.
@safe package final class Lock<Value>: @unchecked Sendable {  // why: the mutex guards it
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    /// Protects `value` with a new mutex.
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

    /// Runs `body` with exclusive access to the value.
    ///
    /// Keep `body` short: it must not wait.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
