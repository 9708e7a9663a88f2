internal import Storage

/// A call waiting in an inbox for the thread that runs it.
///
/// The thread runs the call, repeats it if its transaction was lost, and answers it exactly once. The call passes from
/// the caller to the thread and is never used by both at the same time.
final class SQLiteCall<Session>: @unchecked Sendable {  // why: handed over
    private let body: (Session) throws(StorageError) -> Void
    private let continuation: CheckedContinuation<StorageError?, Never>
    private var error: StorageError? = .internalFault(logDetail: "a call was not run")

    fileprivate init(
        _ continuation: CheckedContinuation<StorageError?, Never>,
        _ body: @escaping (Session) throws(StorageError) -> Void
    ) {
        self.body = body
        self.continuation = continuation
    }

    /// Does the work and returns the error, if it failed.
    func run(_ session: Session) -> StorageError? {
        do throws(StorageError) {
            try body(session)
            error = nil
        } catch {
            self.error = error
        }
        return error
    }

    /// Answers the caller with the outcome.
    func finish() {
        continuation.resume(returning: error)
    }

    /// Answers the caller with an error, whatever the outcome was.
    func fail(_ error: StorageError) {
        continuation.resume(returning: error)
    }
}

/// Stores a call's result, so that all calls have the same type.
final class CallOutput<Value: Sendable>: @unchecked Sendable {  // why: read only when the call was answered
    var value: Value?

    /// The call's result; set once the call has been answered without an error.
    func get() throws(StorageError) -> Value {
        guard let value else { throw .internalFault(logDetail: "a call came to nothing") }
        return value
    }
}

extension Inbox {
    /// Queues a call for the thread, wakes the thread with `wake` if it sleeps, and waits for the call to end.
    ///
    /// Not an actor method, because that would return to the caller through the actor's thread.
    func perform<Session>(
        _ body: @escaping @Sendable (Session) throws(StorageError) -> Void, wake: () -> Void
    ) async throws(StorageError) where Element == SQLiteCall<Session> {
        let error = await withCheckedContinuation { continuation in
            let call = SQLiteCall<Session>(continuation, body)
            do throws(StorageError) {
                if try put(call) { wake() }
            } catch {
                call.fail(error)
            }
        }
        if let error { throw error }
    }
}
