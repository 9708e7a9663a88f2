internal import Glibc

/// What became of a call on a connection.
enum PoolVerdict: Sendable {
    /// It has an outcome.
    case done
    /// Its connection was lost, and it is to be run once more on another; the error is for when that can't be.
    case again(StorageError)
}

/// A call that waits for a connection, is run on its thread, and then answered once.
protocol PoolCall<Connection>: AnyObject, Sendable {
    associatedtype Connection: SQLConnection

    /// When its caller began to wait.
    var began: ContinuousClock.Instant { get }
    /// When its caller stops waiting.
    var deadline: ContinuousClock.Instant { get }
    /// Does the work and keeps its outcome.
    func run(_ connection: Connection) -> PoolVerdict
    /// Answers the caller with the outcome.
    func finish()
    /// Answers the caller with an error, whatever the outcome was.
    func fail(_ error: StorageError)
}

/// The one kind of call: a closure over a session, and the continuation of whoever waits for it.
///
/// It is handed from the caller to a thread and perhaps to another, and never used by two at once.
final class PendingPoolCall<Connection: SQLConnection, Output: Sendable>: PoolCall,
    @unchecked Sendable  // why: the line above
{
    typealias Outcome = Result<Output, StorageError>
    typealias Body = (ServerSession<Connection>) throws(SQLFailure) -> Output

    let began: ContinuousClock.Instant
    let deadline: ContinuousClock.Instant
    private let options: ServerOptions
    private let body: Body
    private let continuation: CheckedContinuation<Outcome, Never>
    private var outcome: Outcome?
    private var wasLost = false
    private var mayBeDone = false

    init(
        _ continuation: CheckedContinuation<Outcome, Never>, within timeout: Duration,
        options: ServerOptions, _ body: @escaping Body
    ) {
        self.continuation = continuation
        began = .now
        deadline = began + timeout
        self.options = options
        self.body = body
    }

    func run(_ connection: Connection) -> PoolVerdict {
        connection.deadline = deadline
        let session = ServerSession(connection: connection, deadline: deadline, isRepeated: mayBeDone)
        var attempt = 1
        while true {
            do throws(SQLFailure) {
                outcome = .success(try body(session))
                return .done
            } catch {
                switch error.kind {
                case .conflict where attempt < options.conflictAttemptsMax && isWorthwhile(connection):
                    pause(after: attempt)
                    attempt += 1
                case .connectionLost where !wasLost:
                    wasLost = true
                    mayBeDone = error.mayBeDone
                    outcome = .failure(error.error)
                    return .again(error.error)
                case .connectionLost, .conflict, .duplicateKey, .alreadyExists, .other:
                    outcome = .failure(error.error)
                    return .done
                }
            }
        }
    }

    func finish() {
        continuation.resume(
            returning: outcome ?? .failure(.internalFault(logDetail: "a call was not run")))
    }

    func fail(_ error: StorageError) {
        continuation.resume(returning: .failure(error))
    }

    private func isWorthwhile(_ connection: Connection) -> Bool {
        connection.isUsable && !connection.isInTransaction && ContinuousClock.now < deadline
    }

    /// Waits a random while, so that those who met don't meet again; the thread has nothing else to do.
    private func pause(after attempt: Int) {
        let longest = options.conflictDelay * (1 << min(attempt - 1, 4))
        let wait = min(longest * Double.random(in: 0..<1), ContinuousClock.now.duration(to: deadline))
        let (seconds, attoseconds) = max(wait, .zero).components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        unsafe nanosleep(&time, nil)
    }
}
