import Glibc

/// A POSIX semaphore for waiting until a thread or a task reaches a certain point.
///
/// Waiting blocks the thread: never wait in a task.
@safe package final class ThreadSemaphore: @unchecked Sendable {  // why: made to be shared
    private let semaphore: UnsafeMutablePointer<sem_t>

    /// Creates an unsignalled semaphore.
    package init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    /// Ends one current or future wait.
    package func signal() { unsafe sem_post(semaphore) }

    /// Waits for a signal.
    package func wait() {
        while unsafe sem_wait(semaphore) != 0 {}
    }
}
