internal import Delays
internal import Glibc

/// The result of running a call on a connection.
enum PoolVerdict: Sendable {
    /// The call has an outcome.
    case done
    /// The call's connection was lost; run the call again on another connection, or throw this error if that is
    /// impossible.
    case again(StorageError)
}

/// A call that waits for a connection, runs on the connection's thread, and is answered exactly once.
protocol PoolCall: AnyObject, Sendable {
    /// When the caller started waiting.
    var began: ContinuousClock.Instant { get }
    /// When the caller stops waiting.
    var deadline: ContinuousClock.Instant { get }
    /// Runs the work and stores the outcome.
    func run(_ connection: any ServerConnection) -> PoolVerdict
    /// Answers the caller with the outcome.
    func finish()
    /// Answers the caller with an error, whatever the outcome was.
    func fail(_ error: StorageError)
}

/// The only kind of call: a closure that uses a session, and what to do with its outcome.
///
/// It passes from the caller to one or more threads, but is never used by two at the same time.
final class PendingPoolCall<Output: Sendable>: PoolCall,
    @unchecked Sendable  // why: the line above
{
    typealias Outcome = Result<Output, StorageError>
    typealias Body = (SQLSession, any ServerConnection) throws(SQLFailure) -> Output

    let began: ContinuousClock.Instant
    let deadline: ContinuousClock.Instant
    private let options: ServerOptions
    /// Whether the call changes data, so that the caller must be told of an unconfirmed change.
    private let isChange: Bool
    private let body: Body
    private let completion: @Sendable (Outcome) -> Void
    private var outcome: Outcome?
    private var wasLost = false
    private var mayBeDone = false

    init(
        within timeout: Duration, options: ServerOptions, isChange: Bool, _ body: @escaping Body,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        self.isChange = isChange
        self.completion = completion
        began = .now
        deadline = began + timeout
        self.options = options
        self.body = body
    }

    func run(_ connection: any ServerConnection) -> PoolVerdict {
        connection.deadline = deadline
        let session = SQLSession(connection: connection, deadline: deadline, isRepeated: mayBeDone)
        var attempt = 1
        while true {
            do throws(SQLFailure) {
                outcome = .success(try body(session, connection))
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
                    mayBeDone = mayBeDone || error.mayBeDone
                    outcome = .failure(error.error)
                    return .done
                }
            }
        }
    }

    func finish() {
        switch outcome {
        case .success(let output)?: completion(.success(output))
        case .failure(let error)?: fail(error)
        case nil: fail(.internalFault(logDetail: "a call was not run"))
        }
    }

    func fail(_ error: StorageError) {
        completion(.failure(isChange && mayBeDone ? error.ofUnconfirmedChange : error))
    }

    private func isWorthwhile(_ connection: any ServerConnection) -> Bool {
        connection.isUsable && !connection.isInTransaction && ContinuousClock.now < deadline
    }

    /// Waits for a random time, so that conflicting calls don't collide again; the thread has nothing else to do.
    private func pause(after attempt: Int) {
        let backOff = BackOff(from: options.conflictDelay, to: options.conflictDelay * 16)
        let wait = min(
            backOff.delay(after: attempt) * Double.random(in: 0..<1),
            ContinuousClock.now.duration(to: deadline))
        let (seconds, attoseconds) = max(wait, .zero).components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        unsafe nanosleep(&time, nil)
    }
}
