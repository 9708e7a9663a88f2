import JSON

/// A session's state in a Live Activity: the `contentState` of an event (docs/guide/opencode.md).
///
/// All members are always written, because iOS drops a state that lacks a member that the app's type requires.
struct ContentState: Sendable, Equatable {
    enum Status: String, Sendable, CaseIterable { case working, retry, permission, complete, error }

    var status: Status
    /// The session's title; empty if it has none.
    var title = ""
    /// The beginning of the agent's last text; empty if there is none.
    var text = ""
    /// Why the run is waiting before it queries the model again.
    var retry: Retry?
    /// The name of the running tool.
    var tool: String?
    var todos: TodoCount?

    /// The state without text from a person or an agent.
    var withoutText: ContentState { ContentState(status: status) }
}

/// A run's pause before it queries the model again.
struct Retry: Sendable, Equatable {
    /// The attempt's number, counted from 1.
    var attempt: Int
    /// The model provider's message.
    var message: String
    /// When the run continues, in milliseconds since 1970.
    var next: EpochMilliseconds?
}

/// How much of a session's to-do list is done.
struct TodoCount: Sendable, Equatable {
    var done: Int
    var total: Int
}

extension ContentState {
    /// The state for a ring, with other known details of the session.
    init(_ ring: Ring, showing known: ContentState?) {
        let status: Status =
            switch ring.type {
            case .complete: .complete
            case .permission: .permission
            case .error: .error
            }
        self.init(
            status: status, title: NotificationText.name(ring.name),
            text: NotificationText.excerpt(ring.body, bytes: Bounds.stateTextBytesMax), todos: known?.todos)
    }

    /// Writes the object; its first four members are named as in OpenCode's own plan.
    func write(to writer: inout JSON.Writer) {
        writer.beginObject()
        writer.member("status", status.rawValue)
        writer.member("sessionTitle", title)
        writer.member("lastMessage", text)
        writer.name("retryInfo")
        if let retry {
            writer.beginObject()
            writer.member("attempt", retry.attempt)
            writer.member("message", retry.message)
            if let next = retry.next { writer.member("next", next) }
            writer.endObject()
        } else {
            writer.null()
        }
        writer.name("tool")
        if let tool { writer.string(tool) } else { writer.null() }
        writer.name("todos")
        if let todos {
            writer.beginObject()
            writer.member("done", todos.done)
            writer.member("total", todos.total)
            writer.endObject()
        } else {
            writer.null()
        }
        writer.endObject()
    }

    /// Reads what ``write(to:)`` wrote.
    init?(_ object: JSON.Value?) {
        guard let object, let status = object["status"]?.string.flatMap(Status.init) else { return nil }
        self.status = status
        title = object["sessionTitle"]?.string ?? ""
        text = object["lastMessage"]?.string ?? ""
        retry = object["retryInfo"].flatMap { Retry($0) }
        tool = object["tool"]?.string
        if let done = object["todos"]?["done"]?.int, let total = object["todos"]?["total"]?.int {
            todos = TodoCount(done: done, total: total)
        }
    }
}

extension Retry {
    /// Reads a session's status in 1.x, or its stored form.
    init?(_ status: JSON.Value) {
        guard let attempt = status["attempt"]?.int else { return nil }
        self.init(
            attempt: attempt,
            message: NotificationText.excerpt(status["message"]?.text, bytes: Bounds.stateTitleBytesMax),
            next: status["next"]?.int.map { EpochMilliseconds($0) })
    }
}
