import JSON

/// Decodes the events of 2.x, `/api/event`.
///
/// Previews of 2.x differ from its releases in names and structures; both are supported.
enum SecondGeneration {
    static func decode(_ frame: JSON.Value) -> [StreamSignal] {
        guard let type = frame["type"]?.string else { return [] }
        let data = frame["data"] ?? frame["properties"] ?? [:]
        let meaning = event(type, data, mark: frame.identifier("id")) ?? ActivityFrame.decode(type, data)
        guard var event = meaning else { return [] }
        if let location = frame["location"]?.identifier("directory") {
            switch event {
            case .opened(var request):
                request.directory = location
                event = .opened(request)
            case .session(let session, let parent, nil):
                event = .session(session, parent: parent, directory: location)
            default: break
            }
        }
        guard let durable = frame["durable"], let number = durable["seq"]?.int,
            let session = durable.sessionID("aggregateID")
        else { return [.event(event)] }
        return [.event(event), .position(session, number)]
    }

    /// The meaning of an event, from the stream or from a session's log.
    static func event(_ type: String, _ data: JSON.Value, mark: String?) -> BridgeEvent? {
        switch type {
        case "session.execution.started":
            return data.sessionID().map { .busy($0, directory: nil) }
        case "session.execution.succeeded":
            return data.sessionID().map { .settled($0, .completed, mark: mark) }
        case "session.execution.failed":
            return data.sessionID().map { .settled($0, .failed(RunError(data["error"])), mark: mark) }
        case "session.execution.interrupted":
            let outcome: Outcome = data["reason"]?.string == "shutdown" ? .stopped : .interrupted
            return data.sessionID().map { .settled($0, outcome, mark: mark) }
        case "session.created":
            let session = data.sessionID() ?? data["info"]?.sessionID("id")
            let parent = data.sessionID("parentID") ?? data["info"]?.sessionID("parentID")
            return session.map { .session($0, parent: parent, directory: nil) }
        case "session.forked":
            // `parentID` is the copied session, not an agent's parent.
            return data.sessionID().map { .session($0, parent: nil, directory: nil) }
        case "session.deleted", "session.removed":
            return (data.sessionID() ?? data["info"]?.sessionID("id")).map { .deleted($0) }
        case "permission.asked", "permission.v2.asked":
            return permission(data).map { .opened($0) }
        case "permission.replied", "permission.v2.replied":
            return data.identifier("requestID").map { .closed($0) }
        case "form.created":
            return form(data["form"] ?? data).map { .opened($0) }
        case "form.replied", "form.cancelled":
            return data.identifier("id").map { .closed($0) }
        case "question.v2.asked":
            return question(data).map { .opened($0) }
        case "question.v2.replied", "question.v2.rejected":
            return data.identifier("requestID").map { .closed($0) }
        default:
            return nil
        }
    }

    /// A permission, in events and in lists.
    static func permission(_ value: JSON.Value) -> Request? {
        guard let id = value.identifier("id"), let session = value.sessionID() else { return nil }
        var request = Request(id: id, session: session, kind: .permission)
        request.digest = value.asked
        request.action = value["action"]?.text ?? value["permission"]?.text
        request.detail = value.permissionDetail
        return request
    }

    /// A form, in events and in lists.
    static func form(_ value: JSON.Value) -> Request? {
        guard let id = value.identifier("id"), let session = value.sessionID() else { return nil }
        let isQuestion = value["metadata"]?["kind"]?.string == "question"
        var request = Request(id: id, session: session, kind: isQuestion ? .question : .form)
        request.digest = value.asked
        request.detail = value.formDetail
        // A form from an MCP server without a session isn't listed by session, so it can't be compared.
        if session != .global, let fields = FormField.all(of: value) {
            request.fields = fields
            request.questions = fields.map(\.question)
        }
        if session == .global { request.asker = value["metadata"]?["server"]?.text ?? "OpenCode" }
        return request
    }

    private static func question(_ value: JSON.Value) -> Request? {
        guard let id = value.identifier("id"), let session = value.sessionID() else { return nil }
        var request = Request(id: id, session: session, kind: .question)
        request.digest = value.asked
        request.detail = value.questionDetail
        return request
    }
}
