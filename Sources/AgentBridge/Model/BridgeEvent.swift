import Network
import PushSealing

/// The model's input: decoded frames of either server generation, and the answers to its actions.
enum BridgeEvent: Sendable, Equatable {
    /// A session was created, changed or looked up; `parent` is `nil` for a root.
    case session(SessionID, parent: SessionID?, directory: String?)
    /// A look-up failed: the session counts as a root until the server says otherwise.
    case lookUpFailed(SessionID)
    /// A session was deleted.
    case deleted(SessionID)
    /// A run began or continues; `api` is the API that it uses, `nil` for the server's own.
    case busy(SessionID, directory: String?, api: Generation? = nil)
    /// A run reported an error, before its end (1.x).
    ///
    /// `mark` identifies the error, if the server numbers it.
    case failed(SessionID, RunError, mark: String?)
    /// A run ended; without an outcome, only the session's last message shows how (1.x).
    ///
    /// `mark` identifies the end, if the server numbers it.
    case settled(SessionID, Outcome?, mark: String?, api: Generation? = nil)
    /// A run is waiting before it queries the model again (1.x).
    case retries(SessionID, Retry)
    /// A session's to-do list changed.
    case todos(SessionID, TodoCount)
    /// The agent made a request.
    case opened(Request)
    /// A request was answered or withdrawn.
    case closed(RequestID)
    /// The server's state after connecting.
    case snapshot(Snapshot)
    /// The server's process has ended, and no other has taken its place.
    case serverGone
    /// The state of a previous process: runs that it didn't see end, and requests that rang.
    case resumed([ResumedRun], [Request])
    /// The answer to ``BridgeAction/read(_:_:directory:needsOutcome:api:)``; `nil` if the session can't be read.
    case read(RingID, Reading?)
    /// The answer to ``BridgeAction/check(_:directory:)``.
    case checked(RequestID, Listing)
    /// Time has passed.
    case tick
}

/// A run that a previous process saw begin.
struct ResumedRun: Hashable, Sendable {
    let session: SessionID
    var directory: String?
}

/// A request's state according to the server's list.
enum Listing: Sendable, Equatable {
    case listed, notListed
    /// The server can't produce the list, so only events report requests.
    case unlistable
    /// The server didn't answer.
    case unknown
}

/// A permission, a question or a form that is waiting for a person.
struct Request: Sendable, Equatable {
    enum Kind: String, Sendable, Equatable { case permission, question, form }

    /// The tool call that is waiting for an answer (1.x).
    struct Call: Sendable, Equatable {
        let message: String
        let id: String
    }

    let id: RequestID
    let session: SessionID
    let kind: Kind
    var directory: String?
    /// The kind of permission, such as `bash`.
    var action: String?
    /// The request's content: a permission's command, or a question.
    var detail: String?
    /// The questions that phones can answer; empty for permissions, and if phones can't answer them all.
    var questions: [SealedMessage.Question] = []
    /// The fields of a form, from which its answer is made.
    var fields: [FormField] = []
    /// The MCP server that asks, if no session does.
    var asker: String?
    var call: Call?
    /// The API that the request belongs to, if not the server's own: 1.18 also has the API of 2.x.
    var api: Generation?
    /// A hash of the whole request: an identifier can be reused for a different request.
    var digest = ""

    /// Identifies the request including its content; answers are bound to it.
    var mark: String { digest.isEmpty ? id : "\(id) \(digest)" }

    /// Whether another request with the same identifier asks the same thing.
    func asksSame(as other: Request) -> Bool {
        kind == other.kind && session == other.session && digest == other.digest
    }
}

/// The server's report on all its sessions at one moment.
struct Snapshot: Sendable, Equatable {
    /// When the first request for the snapshot was sent; later events override the snapshot.
    let askedAt: MonotonicTime
    /// The sessions with a run, and their directories if the server has an instance per directory.
    var busy: [SessionID: String?]
    /// The open requests.
    var requests: [Request]
    /// The directories that answered; `nil` means all sessions.
    ///
    /// The empty string is the server's own directory.
    var directories: Set<String>?
    /// Whether the open requests of all covered sessions are listed.
    var hasRequests = true
    /// The directories whose open requests the server can't list (1.x).
    var unlisted: Set<String> = []
    /// The sessions whose open requests the server can't list (2.x).
    var unlistedSessions: Set<SessionID> = []

    /// Whether events may have been missed since an earlier connection.
    var followsGap = false

    /// Whether the snapshot covers a session in this directory.
    func covers(_ directory: String?) -> Bool { directories?.contains(directory ?? "") ?? true }

    /// Whether a session can have open requests: an idle one has none, although 1.x keeps listing them.
    func canAsk(_ session: SessionID) -> Bool { busy[session] != nil || session == .global }

    /// Whether the snapshot shows that a request is no longer open.
    func closes(_ request: Request, in directory: String?) -> Bool {
        guard request.session != .global, covers(directory) else { return false }
        guard canAsk(request.session) else { return true }
        // OpenCode 1.18's lists lack the requests of its second API.
        guard request.api == nil, !unlistedSessions.contains(request.session) else { return false }
        return !unlisted.contains(directory ?? "") && !requests.contains { $0.id == request.id }
    }
}

/// The number of a ring that is being prepared.
typealias RingID = Int

/// A session's title, and information from its last messages.
struct Reading: Sendable, Equatable {
    /// The session's title; `nil` until the session has its own.
    var title: String?
    /// The directory in which the session works.
    var directory: String?
    /// The agent's latest text in the session's last turn.
    var text: String?
    /// The tool that the last message is waiting for.
    var tool: String?
    /// How the last run ended, according to the last message.
    var outcome: Outcome?
    /// Whether the last message is a prompt without an answer, or an unfinished answer.
    var isUnfinished = false
    /// Whether the server recorded that the last run has ended (releases of 2.x).
    var isRecorded = false
    /// The last message's identifier.
    var mark: String?
}

/// The model's output.
enum BridgeAction: Sendable, Equatable {
    /// Find a session's parent; answered by `session` or `lookUpFailed`.
    case lookUp(SessionID, directory: String?)
    /// Read a session's title and last messages; answered by `read`.
    case read(RingID, SessionID, directory: String?, needsOutcome: Bool, api: Generation? = nil)
    /// Ask whether a request is still open; answered by `checked`.
    case check(Request, directory: String?)
    /// Send a notification.
    case ring(Ring)
    /// A run began: record it, so that it survives restarts.
    case began(SessionID, directory: String?)
    /// A run has been handled completely: remove its record.
    case ended(SessionID)
    /// A request that rang was answered or withdrawn.
    case over(RequestID, RequestEnd)
}

/// How a request ended.
enum RequestEnd: Sendable, Equatable {
    /// The server reports an answer, or no longer lists the request.
    case answered
    /// The request's run ended, or its ID is now used for a different request.
    case withdrawn
}

/// A notification to post.
struct Ring: Sendable, Equatable {
    let type: EventType
    /// The root session, which the notification opens.
    let session: SessionID
    /// Identifies the event; unchanged after a restart.
    var key: String
    let title: String
    let body: String
    /// The request that the notification is about, if any.
    var request: Request?
    /// The questions that the phone shows in full so that they can be answered.
    var asked: AskedRequest?
    /// The session's title, its directory's name or the MCP server that asks; `nil` if none is known.
    var name: String?
}
