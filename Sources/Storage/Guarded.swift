internal import Glibc

/// A value behind a pthread mutex, for short critical sections.
///
/// Not `Synchronization.Mutex`: ThreadSanitizer doesn't understand it and reports false races.
package struct Guarded<Value: Sendable>: Sendable {
    @usableFromInline
    final class Box: @unchecked Sendable {  // why: `value` is touched only while `mutex` is held
        @usableFromInline var value: Value
        @usableFromInline let mutex = PthreadMutex()

        init(_ value: Value) {
            self.value = value
        }
    }

    @usableFromInline let box: Box

    /// Creates a value that is only accessible under its lock.
    package init(_ value: Value) {
        box = Box(value)
    }

    /// Calls `body` with exclusive access to the value.
    ///
    /// `body` must be short and must not wait for anything.
    @inlinable
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        box.mutex.lock()
        defer { box.mutex.unlock() }
        return try body(&box.value)
    }
}

/// A pthread mutex with a stable address.
@safe
@usableFromInline
final class PthreadMutex: @unchecked Sendable {  // why: a mutex is for several threads
    private let handle: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        unsafe handle = UnsafeMutablePointer.allocate(capacity: 1)
        unsafe handle.initialize(to: pthread_mutex_t())
        let status = unsafe pthread_mutex_init(handle, nil)
        precondition(status == 0, "a mutex could not be made")
    }

    deinit {
        unsafe pthread_mutex_destroy(handle)
        unsafe handle.deallocate()
    }

    @usableFromInline
    func lock() {
        unsafe pthread_mutex_lock(handle)
    }

    @usableFromInline
    func unlock() {
        unsafe pthread_mutex_unlock(handle)
    }
}
