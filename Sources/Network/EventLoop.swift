/// A thread that waits for sockets and timers, and the actor whose code runs on it.
///
/// State that belongs to a loop is isolated to this actor (`isolated EventLoop`) or is a plain class used only on the
/// loop's thread, such as channels, timers and connections.
///
/// ```swift
/// let loop = EventLoop(label: "example")
/// let waited = await loop.run { loop in
///     let start = loop.now
///     var timer: Timer?
///     await withCheckedContinuation { continuation in
///         timer = Timer(on: loop) { continuation.resume() }
///         timer?.schedule(after: .milliseconds(20))
///     }
///     timer = nil
///     return loop.now.since(start)
/// }
/// await loop.stop()
/// ```
package actor EventLoop {
    private nonisolated let executor: LoopExecutor

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Starts the loop's thread, named `label` (`top -H` shows at most 15 bytes).
    package init(label: String, timers: TimerPrecision = .coarse) {
        executor = LoopExecutor(label: label, timers: timers)
    }

    deinit {
        executor.stop(nil)
    }

    /// Whether the caller is running on this loop's thread.
    package nonisolated var isCurrent: Bool { executor.isCurrent }

    /// The time, read once per turn of the loop.
    ///
    /// Use it only on the loop.
    package nonisolated var now: MonotonicTime { executor.now }

    /// The thread's name.
    package nonisolated var label: String { executor.label }

    /// libevent's handle and the buffers shared by the channels of this loop.
    ///
    /// Use it only on the loop.
    nonisolated var reactor: LoopExecutor { executor }

    /// Schedules `work` to run on the loop.
    ///
    /// Callable from any thread; work submitted after ``stop()`` never runs.
    package nonisolated func submit(_ work: @escaping @Sendable () -> Void) {
        executor.submit(work)
    }

    /// Starts a task on the loop.
    ///
    /// Call it only on the loop, so that `work` may use state confined to it.
    @discardableResult
    package nonisolated func spawn(
        _ work: @escaping (isolated EventLoop) async -> Void
    ) -> Task<Void, Never> {
        executor.preconditionOnLoop()
        nonisolated(unsafe) let work = work  // why: stays on the loop's thread
        return Task(executorPreference: executor) {
            await unsafe work(self)
        }
    }

    /// Runs `work` once, after the events of this turn, for example to flush once per turn.
    ///
    /// Call it only on the loop.
    package nonisolated func atTurnEnd(_ work: @escaping () -> Void) {
        executor.atTurnEnd(work)
    }

    /// Runs `work` once in the next turn, after all current events.
    ///
    /// For work that exceeds one connection's share of a turn. Such work runs in order, for a bounded time per turn.
    ///
    /// Call it only on the loop.
    package nonisolated func atNextTurn(_ work: @escaping () -> Void) {
        executor.atNextTurn(work)
    }

    /// Runs `body` on the loop and returns its result.
    package func run<Result: Sendable, Failure: Error>(
        _ body: @Sendable (isolated EventLoop) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await body(self)
    }

    /// Stops the thread after the submitted work has run.
    ///
    /// Not callable from the loop itself. The caller must have closed the loop's channels and awaited its tasks: a task
    /// left on the loop never resumes.
    package nonisolated func stop() async {
        await withCheckedContinuation { continuation in
            executor.stop(continuation)
        }
    }
}
