import CEvent
import Glibc

/// The thread of an ``EventLoop``: runs Swift's jobs, other threads' work and libevent's events in turns.
///
/// A turn runs the ready jobs, then the work deferred to the turn's end, then libevent's events. Other threads submit
/// work through one queue and write to an eventfd only if the queue was empty.
///
/// It is also a task executor: a resumed continuation enqueues its task on the task's preferred executor, which then
/// passes it to the task's actor. A task without a preference goes through the shared pool, which costs two more thread
/// switches.
///
/// `incoming` is behind a lock; only the loop's thread uses the rest.
@safe final class LoopExecutor: SerialExecutor, TaskExecutor, @unchecked Sendable {  // why: the line above
    static let jobsPerTurn = 512
    /// How long postponed work may take per turn: as long as the rest of the turn took, within these bounds.
    ///
    /// The remainder keeps its order and waits for the next turn.
    static let postponedPerTurn = Duration.milliseconds(2)...Duration.milliseconds(20)
    static let readBufferBytes = 64 * 1024

    private enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private struct Incoming {
        var work: [Work] = []
        var isSignalled = false
        var isStopped = false
        var waiters: [CheckedContinuation<Void, Never>] = []
        var thread: pthread_t?
    }

    let label: String
    /// libevent's handle, for registering events on this loop.
    let base: OpaquePointer
    /// The channels' read buffer; its contents are valid only during a handler's call.
    let readBuffer: UnsafeMutableRawBufferPointer

    private let incoming = Lock(Incoming())
    private let wakeDescriptor: Int32
    private var thread: pthread_t
    private var ready: [Work] = []
    private var running: [Work] = []
    private var turnEnd: [() -> Void] = []
    private var nextTurn = Line<() -> Void>()
    private var cachedNow: MonotonicTime?

    init(label: String, timers: TimerPrecision) {
        self.label = label
        let config = unsafe event_config_new()
        defer { unsafe event_config_free(config) }
        unsafe event_config_set_flag(config, Int32(EVENT_BASE_FLAG_NOLOCK.rawValue))
        if timers == .precise {
            unsafe event_config_set_flag(config, Int32(EVENT_BASE_FLAG_PRECISE_TIMER.rawValue))
        }
        guard let base = unsafe event_base_new_with_config(config) else {
            fatalError("libevent can't make an event base: out of memory or file descriptors")
        }
        unsafe self.base = base
        unsafe readBuffer = .allocate(byteCount: Self.readBufferBytes, alignment: 16)
        wakeDescriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        precondition(wakeDescriptor >= 0, "eventfd: \(errno)")
        thread = pthread_self()
        start()
    }

    deinit {
        unsafe event_base_free(base)
        unsafe readBuffer.deallocate()
        Glibc.close(wakeDescriptor)
    }

    private func start() {
        let started = ThreadSemaphore()
        let context = unsafe Unmanaged.passRetained(ThreadStart(executor: self, started: started)).toOpaque()
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, nil, runLoopThread, context)
        precondition(status == 0, "pthread_create: \(status)")
        pthread_detach(thread)
        started.wait()
    }

    // MARK: On the loop's thread

    fileprivate func runThread(_ started: ThreadSemaphore) {
        thread = pthread_self()
        unsafe pthread_setname_np(thread, String(label.prefix(15)))
        // OpenSSL may write to a socket that the peer has closed; that must fail without killing the process.
        var brokenPipe = sigset_t()
        unsafe sigemptyset(&brokenPipe)
        unsafe sigaddset(&brokenPipe, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &brokenPipe, nil)
        let wake = unsafe event_new(
            base, wakeDescriptor, Int16(EV_READ | EV_PERSIST), wakeRead,
            Unmanaged.passUnretained(self).toOpaque())
        unsafe event_add(wake, nil)
        started.signal()
        while runTurn() {}
        unsafe event_free(wake)
        let waiters = incoming.withLock { incoming in
            let waiters = incoming.waiters
            incoming.waiters = []
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Runs one turn; false when the loop is stopped and nothing is left to run.
    private func runTurn() -> Bool {
        cachedNow = nil
        // A turn with postponed work doesn't wait for events, so its whole duration is work.
        let began = nextTurn.isEmpty ? nil : MonotonicTime.current
        var budget = Self.jobsPerTurn
        var isStopped = false
        repeat {
            isStopped = takeIncoming()
            budget -= ready.count
            runReady()
            runTurnEnd()
        } while !ready.isEmpty && budget > 0
        if isStopped && ready.isEmpty { return false }
        let wait = ready.isEmpty && nextTurn.isEmpty && !isStopped
        // Code after the wait must not see the time from before it.
        cachedNow = nil
        unsafe event_base_loop(base, wait ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK)
        runPostponed(since: began)
        return true
    }

    private func takeIncoming() -> Bool {
        incoming.withLock { incoming in
            if !incoming.work.isEmpty {
                ready.append(contentsOf: incoming.work)
                incoming.work.removeAll(keepingCapacity: true)
            }
            incoming.isSignalled = false
            return incoming.isStopped
        }
    }

    private func runReady() {
        swap(&ready, &running)
        for work in running {
            switch work {
            case .job(let job):
                unsafe job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            case .closure(let closure): closure()
            }
        }
        running.removeAll(keepingCapacity: true)
    }

    private func runTurnEnd() {
        while !turnEnd.isEmpty {
            let work = turnEnd
            turnEnd = []
            for item in work { item() }
        }
    }

    private func runPostponed(since began: MonotonicTime?) {
        // Work postponed from now on belongs to the next turn.
        var left = nextTurn.count
        guard left > 0 else { return }
        let now = MonotonicTime.current
        let share = began.map { now.since($0) } ?? .zero
        let bounds = Self.postponedPerTurn
        let end = now + min(max(share, bounds.lowerBound), bounds.upperBound)
        while left > 0, let work = nextTurn.popFirst() {
            work()
            left -= 1
            if MonotonicTime.current >= end { return }
        }
    }

    fileprivate func drainWake() {
        var count: UInt64 = 0
        _ = unsafe Glibc.read(wakeDescriptor, &count, MemoryLayout<UInt64>.size)
    }

    var now: MonotonicTime {
        preconditionOnLoop()
        if let cachedNow { return cachedNow }
        let now = MonotonicTime.current
        cachedNow = now
        return now
    }

    func atTurnEnd(_ work: @escaping () -> Void) {
        preconditionOnLoop()
        turnEnd.append(work)
    }

    func atNextTurn(_ work: @escaping () -> Void) {
        preconditionOnLoop()
        nextTurn.append(work)
    }

    // MARK: From any thread

    // Not inlined: glibc declares pthread_self() const, so an optimiser may reuse its value after a suspension, when
    // the code may be running on another thread.
    @inline(never)
    var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }

    func preconditionOnLoop() {
        precondition(isCurrent, "used outside its event loop")
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            ready.append(.job(job))
        } else {
            hand(.job(job))
        }
    }

    func submit(_ work: @escaping @Sendable () -> Void) {
        if isCurrent {
            ready.append(.closure(work))
        } else {
            hand(.closure(work))
        }
    }

    private func hand(_ work: Work) {
        let mustSignal = incoming.withLock { incoming in
            incoming.work.append(work)
            let mustSignal = !incoming.isSignalled
            incoming.isSignalled = true
            return mustSignal
        }
        if mustSignal { signal() }
    }

    private func signal() {
        var one: UInt64 = 1
        _ = unsafe Glibc.write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
    }

    func stop(_ waiter: CheckedContinuation<Void, Never>?) {
        let isStoppedAlready = incoming.withLock { incoming in
            let was = incoming.isStopped
            incoming.isStopped = true
            if let waiter, !was { incoming.waiters.append(waiter) }
            return was
        }
        if isStoppedAlready {
            waiter?.resume()
        } else {
            signal()
        }
    }

    func checkIsolated() { preconditionOnLoop() }

    func isIsolatingCurrentContext() -> Bool? { isCurrent }
}

private final class ThreadStart {
    let executor: LoopExecutor
    let started: ThreadSemaphore

    init(executor: LoopExecutor, started: ThreadSemaphore) {
        self.executor = executor
        self.started = started
    }
}

private func runLoopThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    let start = unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
    start.executor.runThread(start.started)
    return nil
}

private func wakeRead(_ descriptor: Int32, _ events: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<LoopExecutor>.fromOpaque(context).takeUnretainedValue().drainWake()
}
