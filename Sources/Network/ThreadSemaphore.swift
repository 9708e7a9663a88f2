import Glibc

/// A POSIX semaphore for waiting until a thread or a task has got somewhere.
///
/// Blocks: never wait on it in a task.
@safe package final class ThreadSemaphore: @unchecked Sendable {  // why: made to be shared
    private let semaphore: UnsafeMutablePointer<sem_t>

    /// A semaphore that nothing has signalled.
    package init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    /// Ends one wait.
    package func signal() { unsafe sem_post(semaphore) }

    /// Waits for a signal.
    package func wait() {
        while unsafe sem_wait(semaphore) != 0 {}
    }
}
