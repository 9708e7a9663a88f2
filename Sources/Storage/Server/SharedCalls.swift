/// Batches waiting calls of one kind into few statements, because each statement is a round trip.
///
/// A call starts immediately unless the maximum number of statements is running; if so, the call waits for the next
/// statement. A statement begins after all of its calls were made, so each call sees what was committed before it.
final class SharedCalls<Input: Sendable, Output: Sendable>: Sendable {
    typealias Outcome = Result<Output, StorageError>
    /// Returns an outcome for each input, in order.
    ///
    /// It may run again with the same inputs, as described in `ConnectionPool`.
    typealias Body = @Sendable (SQLSession, [Input]) throws(SQLFailure) -> [Outcome]

    /// An input and its caller.
    private struct Call: Sendable {
        let input: Input
        let began: ContinuousClock.Instant
        let continuation: CheckedContinuation<Outcome, Never>
    }

    /// The action for a new call.
    private enum Step { case start, wait, refuse }

    private struct State {
        var waiting: [Call] = []
        var running = 0
    }

    /// The calls that share one statement, and their outcomes; used by one thread at a time.
    private final class Batch: @unchecked Sendable {  // why: the line above
        var calls: [Call]?
        var outcomes: [Outcome] = []
    }

    private let pool: ConnectionPool
    private let options: ServerOptions
    private let isChange: Bool
    private let now: @Sendable () -> ContinuousClock.Instant
    private let body: Body
    private let state = Guarded(State())

    /// - Parameter isChange: Whether to throw `unconfirmed` if `body` fails but may have changed something.
    init(
        pool: ConnectionPool, options: ServerOptions, isChange: Bool,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, _ body: @escaping Body
    ) {
        self.pool = pool
        self.options = options
        self.isChange = isChange
        self.now = now
        self.body = body
    }

    /// The number of calls waiting for a statement.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// The output for an input, computed alone or together with others.
    func perform(_ input: Input) async throws(StorageError) -> Output {
        try await withCheckedContinuation { continuation in
            add(Call(input: input, began: now(), continuation: continuation))
        }.get()
    }

    private func add(_ call: Call) {
        let step: Step = state.withLock { state in
            guard state.waiting.count < options.waitingCallsMax else { return .refuse }
            state.waiting.append(call)
            guard state.running < options.sharedStatementsMax else { return .wait }
            state.running += 1
            return .start
        }
        switch step {
        case .start: start()
        case .wait: break
        case .refuse:
            let detail = "\(options.waitingCallsMax) calls are already waiting"
            call.continuation.resume(returning: .failure(.unavailable(logDetail: detail)))
        }
    }

    /// Runs a statement for the waiting calls as soon as a connection is free.
    private func start() {
        let batch = Batch()
        pool.start(within: options.callTimeout, isChange: isChange) {
            session, connection throws(SQLFailure) in
            if batch.calls == nil { batch.calls = self.takeInTime() }
            try self.answer(batch, session, connection)
        } completion: { result in
            self.finish(batch, result)
        }
    }

    /// The calls for the next statement.
    ///
    /// A call that has waited for half of its time fails instead: with little time left, it would make the others time
    /// out and cost a connection.
    private func takeInTime() -> [Call] {
        let latest = now() - options.callTimeout / 2
        while true {
            let taken = take(options.callsPerSharedStatementMax)
            let calls = taken.filter { $0.began > latest }
            for call in taken where call.began <= latest {
                let detail = "no connection to the database was free in time"
                call.continuation.resume(returning: .failure(.timeout(logDetail: detail)))
            }
            if !calls.isEmpty || taken.isEmpty { return calls }
        }
    }

    private func take(_ limit: Int) -> [Call] {
        state.withLock { state in
            let calls = Array(state.waiting.prefix(limit))
            state.waiting.removeFirst(calls.count)
            return calls
        }
    }

    private func answer(
        _ batch: Batch, _ session: SQLSession, _ connection: any ServerConnection
    ) throws(SQLFailure) {
        guard let calls = batch.calls, let oldest = calls.first else { return }
        // Limited so that even the oldest call meets its deadline.
        connection.deadline = min(connection.deadline, oldest.began + options.callTimeout)
        let inputs = calls.map(\.input)
        do throws(SQLFailure) {
            batch.outcomes = try body(session, inputs)
        } catch {
            // One call's failure must not make the others fail.
            guard inputs.count > 1, error.kind == .other, connection.isUsable else { throw error }
            batch.outcomes = []
            for input in inputs { batch.outcomes.append(try outcome(of: input, session)) }
        }
    }

    private func outcome(of input: Input, _ session: SQLSession) throws(SQLFailure) -> Outcome {
        do throws(SQLFailure) {
            return try body(session, [input]).first
                ?? .failure(.internalFault(logDetail: "a call has no outcome"))
        } catch {
            guard error.kind == .other else { throw error }
            return .failure(isChange ? error.errorOfChange : error.error)
        }
    }

    /// Answers all callers together, so that an event loop is woken only once, and continues with the waiting calls.
    private func finish(_ batch: Batch, _ result: Result<Void, StorageError>) {
        // Without a connection, no calls were taken, and all waiting calls fail with the same error.
        let calls = batch.calls ?? take(.max)
        switch result {
        case .success:
            for (call, outcome) in zip(calls, batch.outcomes) {
                call.continuation.resume(returning: outcome)
            }
        case .failure(let error):
            for call in calls { call.continuation.resume(returning: .failure(error)) }
        }
        let goesOn = state.withLock { state in
            if state.waiting.isEmpty { state.running -= 1 }
            return !state.waiting.isEmpty
        }
        if goesOn { start() }
    }
}
