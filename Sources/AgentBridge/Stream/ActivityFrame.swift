import JSON

/// Decodes the parts of events that only Live Activities show, for both generations.
enum ActivityFrame {
    /// The meaning of an event for activities, in addition to its meaning for the rules.
    static func decode(_ type: String, _ data: JSON.Value) -> BridgeEvent? {
        guard let session = data.sessionID() else { return nil }
        switch type {
        case "session.status":
            guard let status = data["status"], status["type"]?.string == "retry" else { return nil }
            return Retry(status).map { .retries(session, $0) }
        case "todo.updated":
            guard let todos = data["todos"]?.array else { return nil }
            let statuses = todos.map { $0["status"]?.string }
            let open = statuses.count { $0 != "completed" && $0 != "cancelled" }
            return .todos(session, TodoCount(done: todos.count - open, total: todos.count))
        default:
            return nil
        }
    }
}
