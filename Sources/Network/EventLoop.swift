/// One thread that waits for sockets and timers, and the actor whose code runs there.
///
/// What belongs to a loop is either isolated to this actor (`isolated EventLoop`) or a plain class that is made
/// and used on the loop's thread alone, as channels, timers and connections are.
package actor EventLoop {
    private nonisolated let executor: LoopExecutor

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Starts the loop's thread, named `label` (at most 15 bytes show in `top -H`).
    package init(label: String, timers: TimerPrecision = .coarse) {
        executor = LoopExecutor(label: label, timers: timers)
    }

    deinit {
        executor.stop(nil)
    }

    /// Whether the caller runs on this loop's thread.
    package nonisolated var isCurrent: Bool { executor.isCurrent }

    /// The present moment as of the first look in this turn of the loop.
    ///
    /// Only on the loop.
    package nonisolated var now: MonotonicTime { executor.now }

    /// The thread's name.
    package nonisolated var label: String { executor.label }

    /// libevent's handle and the buffers that channels of this loop share.
    ///
    /// Only on the loop.
    nonisolated var reactor: LoopExecutor { executor }

    /// Runs `work` on the loop, soon.
    ///
    /// From any thread; after ``stop()`` nothing runs any more.
    package nonisolated func submit(_ work: @escaping @Sendable () -> Void) {
        executor.submit(work)
    }

    /// Starts a task on the loop.
    ///
    /// Only on the loop, so `work` may use what is confined to it.
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

    /// Runs `work` once, after the events of this turn: for one flush a turn.
    ///
    /// Only on the loop.
    package nonisolated func atTurnEnd(_ work: @escaping () -> Void) {
        executor.atTurnEnd(work)
    }

    /// Runs `work` once, after all that has an event now has had its turn.
    ///
    /// For what one connection wants beyond its share: such work is done in its order, for a bounded time in each turn of the
    /// loop. Only on the loop.
    package nonisolated func atNextTurn(_ work: @escaping () -> Void) {
        executor.atNextTurn(work)
    }

    /// Runs `body` on the loop and returns what it returned.
    package func run<Result: Sendable, Failure: Error>(
        _ body: @Sendable (isolated EventLoop) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await body(self)
    }

    /// Ends the thread when what is already submitted has run.
    ///
    /// Not from the loop itself.
    ///
    /// Whoever stops a loop has closed its channels and awaited its tasks: a task left on it never goes on.
    package nonisolated func stop() async {
        await withCheckedContinuation { continuation in
            executor.stop(continuation)
        }
    }
}
