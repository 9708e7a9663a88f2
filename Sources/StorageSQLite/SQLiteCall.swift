internal import Storage

/// A call that waits in an inbox for its thread: run there, again if its transaction was lost, then answered once.
protocol SQLiteCall<Session>: AnyObject, Sendable {
    associatedtype Session

    /// Does the work, keeps its outcome and returns the error, if it failed.
    func run(_ session: Session) -> StorageError?
    /// Answers the caller with the outcome.
    func finish()
    /// Answers the caller with an error, whatever the outcome was.
    func fail(_ error: StorageError)
}

/// The one kind of call: a closure over a thread's session, and the continuation of whoever waits for it.
///
/// It is handed from the caller to the thread and never used by both at once.
final class PendingCall<Session, Output: Sendable>: SQLiteCall, @unchecked Sendable {  // why: handed over
    typealias Outcome = Result<Output, StorageError>

    private let body: (Session) throws(StorageError) -> Output
    private let continuation: CheckedContinuation<Outcome, Never>
    private var outcome: Outcome?

    init(
        _ continuation: CheckedContinuation<Outcome, Never>,
        _ body: @escaping (Session) throws(StorageError) -> Output
    ) {
        self.body = body
        self.continuation = continuation
    }

    func run(_ session: Session) -> StorageError? {
        do throws(StorageError) {
            outcome = .success(try body(session))
            return nil
        } catch {
            outcome = .failure(error)
            return error
        }
    }

    func finish() {
        continuation.resume(
            returning: outcome ?? .failure(.internalFault(logDetail: "a call was not run")))
    }

    func fail(_ error: StorageError) {
        continuation.resume(returning: .failure(error))
    }
}

extension Inbox {
    /// Leaves a call for the thread, waking it with `wake` if it sleeps, and waits for the outcome.
    ///
    /// It isn't an actor's method, because that would come back to the caller by way of the actor's thread.
    func perform<Session, Output: Sendable>(
        _ body: @escaping @Sendable (Session) throws(StorageError) -> Output, wake: () -> Void
    ) async throws(StorageError) -> Output where Element == any SQLiteCall<Session> {
        let outcome = await withCheckedContinuation { continuation in
            let call = PendingCall<Session, Output>(continuation, body)
            do throws(StorageError) {
                if try put(call) { wake() }
            } catch {
                call.fail(error)
            }
        }
        return try outcome.get()
    }
}
