internal import Glibc

/// A value behind a pthread mutex: for a few instructions that several threads share.
///
/// `Synchronization.Mutex` would do, but ThreadSanitizer doesn't understand it and reports races that aren't there.
package struct Guarded<Value: Sendable>: Sendable {
    @safe
    private final class Storage: @unchecked Sendable {  // why: `value` is touched only while `mutex` is held
        var value: Value
        let mutex: UnsafeMutablePointer<pthread_mutex_t>

        init(_ value: Value) {
            self.value = value
            unsafe mutex = UnsafeMutablePointer.allocate(capacity: 1)
            unsafe mutex.initialize(to: pthread_mutex_t())
            let status = unsafe pthread_mutex_init(mutex, nil)
            precondition(status == 0, "a mutex could not be made")
        }

        deinit {
            unsafe pthread_mutex_destroy(mutex)
            unsafe mutex.deallocate()
        }
    }

    private let storage: Storage

    /// A value that is reached under its lock from now on.
    package init(_ value: Value) {
        storage = Storage(value)
    }

    /// Calls `body` with the value while nobody else has it.
    ///
    /// `body` must be short and must not wait for anything.
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        unsafe pthread_mutex_lock(storage.mutex)
        defer { unsafe pthread_mutex_unlock(storage.mutex) }
        return try body(&storage.value)
    }
}
