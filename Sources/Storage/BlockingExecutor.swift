internal import Glibc

/// A serial executor that owns one thread, for actors that call blocking C libraries.
///
/// Its thread takes all queued jobs at once, runs them in order and sleeps only when nothing is left, so that a busy
/// executor is woken only once for many jobs. The queue itself is unbounded: the code that accepts calls must limit
/// them (as `Inbox` does). The executor lives until `shutdown()`; merely releasing it leaves its thread running.
@safe
package final class BlockingExecutor: SerialExecutor, @unchecked Sendable {  // why: state is under mutex
    @safe
    private enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    @safe
    private struct State {
        var queue: [Work] = []
        var sleeping = false
        var stopping = false
        // The thread has run its last job; later jobs run on the thread that queues them.
        var ended = false
        // A kernel thread ID. glibc declares pthread_self() const, so an optimiser may keep its value across a
        // suspension, after which the code may run on another thread.
        var runner: pid_t?
        // A reference to this executor while a caller's thread runs late jobs: such a job may release the actor, which
        // can hold the last reference to the executor.
        var kept: BlockingExecutor?
        var thread: pthread_t?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let label: String
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let wakeUp: UnsafeMutablePointer<pthread_cond_t>
    private var state = State()

    /// Starts the thread and names it `label`; Linux shows only 15 bytes of the name.
    package init(label: String) {
        self.label = label
        unsafe mutex = UnsafeMutablePointer.allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe wakeUp = UnsafeMutablePointer.allocate(capacity: 1)
        unsafe wakeUp.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(wakeUp, nil)
        startThread()
    }

    deinit {
        unsafe pthread_cond_destroy(wakeUp)
        unsafe pthread_mutex_destroy(mutex)
        unsafe wakeUp.deallocate()
        unsafe mutex.deallocate()
    }

    /// Queues a job for the actor that this executor serves.
    package func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    /// Queues a closure after the waiting jobs; cheaper than a task that calls the actor.
    package func submit(_ work: @escaping @Sendable () -> Void) {
        add(.closure(work))
    }

    /// This executor, in the form that actors require.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// Whether the calling thread is this executor's thread.
    package var isCurrent: Bool {
        locked { $0.runner == gettid() }
    }

    /// Called by `assumeIsolated` when none of the actor's jobs is running, as in a submitted closure.
    package func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Traps unless the calling thread is this executor's.
    package func checkIsolated() {
        precondition(isCurrent, "not on the thread of \(label)")
    }

    /// Runs the queued jobs, ends the thread and waits for it to end.
    ///
    /// May be called more than once, but never from the executor's own thread.
    ///
    /// Jobs queued later still run, one at a time on the threads that queue them, so that no caller waits forever; by
    /// then, the actor has no blocking work left.
    package func shutdown() async {
        precondition(!isCurrent, "\(label) can't wait for its own end")
        await withCheckedContinuation { continuation in
            let ended = locked { state in
                guard !state.ended else { return true }
                state.waiters.append(continuation)
                state.stopping = true
                unsafe pthread_cond_signal(wakeUp)
                return false
            }
            if ended { continuation.resume() }
        }
        let thread = locked { state in
            defer { state.thread = nil }
            return state.thread
        }
        if let thread { pthread_join(thread, nil) }
    }

    private func locked<Result>(_ body: (inout State) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    private func add(_ work: Work) {
        let runHere = locked { state in
            state.queue.append(work)
            if state.sleeping {
                state.sleeping = false
                unsafe pthread_cond_signal(wakeUp)
            }
            guard state.ended, state.runner == nil else { return false }
            state.runner = gettid()
            state.kept = self
            return true
        }
        if runHere { runUntilEmpty() }
    }
}

// MARK: - The thread

extension BlockingExecutor {
    private func startThread() {
        // The thread retains the executor until it ends, so that no job runs on a released executor.
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<BlockingExecutor>.fromOpaque(context).takeRetainedValue().runThread()
                return nil
            }, context)
        precondition(status == 0, "the thread \(label) could not be started")
        locked { $0.thread = thread }
    }

    private func runThread() {
        unsafe pthread_setname_np(pthread_self(), String(label.prefix(15)))
        locked { $0.runner = gettid() }
        while waitForWork() { runUntilEmpty() }
        let waiters = locked { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Sleeps until there is work; returns false after `shutdown()` once no work is left.
    private func waitForWork() -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        // Not inside `locked`: other threads change the state during the wait, so it must not be borrowed.
        while state.queue.isEmpty, !state.stopping {
            state.sleeping = true
            unsafe pthread_cond_wait(wakeUp, mutex)
        }
        state.sleeping = false
        guard state.queue.isEmpty else { return true }
        state.ended = true
        state.runner = nil
        return false
    }

    private func runUntilEmpty() {
        var batch: [Work] = []
        var last: BlockingExecutor?
        while takeAll(into: &batch, orLetGo: &last) {
            for work in batch {
                switch work {
                case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
                case .closure(let body): body()
                }
            }
            batch.removeAll(keepingCapacity: true)
        }
    }

    /// Takes the queued jobs; if there are none, moves this executor's reference to itself into `last`, so that the
    /// caller can release that reference once it no longer uses the executor.
    private func takeAll(into batch: inout [Work], orLetGo last: inout BlockingExecutor?) -> Bool {
        locked { state in
            swap(&state.queue, &batch)
            guard batch.isEmpty else { return true }
            if state.ended {
                // This thread has run its late jobs; the next one may be queued by another thread.
                state.runner = nil
                swap(&state.kept, &last)
            }
            return false
        }
    }
}
