import Glibc

/// A POSIX semaphore, to wait for a thread's start.
///
/// Blocks: never wait on it from a task.
@safe final class ThreadSemaphore: @unchecked Sendable {  // why: made to be shared
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    func signal() { unsafe sem_post(semaphore) }

    func wait() {
        while unsafe sem_wait(semaphore) != 0 {}
    }
}
