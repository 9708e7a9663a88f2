import JSON
import PushSealing

/// Decodes the events of 1.x: `/global/event`, with an envelope, and `/event`, without one.
enum FirstGeneration {
    static func decode(_ frame: JSON.Value) -> [StreamSignal] {
        let event = frame["payload"] ?? frame
        guard let type = event["type"]?.string else { return [] }
        let properties = event["properties"] ?? [:]
        let directory = frame["payload"] == nil ? nil : frame.identifier("directory")
        switch type {
        case "server.instance.disposed", "global.disposed": return [.stateLost]
        default:
            let event =
                decode(type, properties, directory, mark: event.identifier("id"))
                ?? NextGeneration.decode(type, properties, directory)
            return [event, ActivityFrame.decode(type, properties)].compactMap { $0.map { .event($0) } }
        }
    }

    private static func decode(
        _ type: String, _ properties: JSON.Value, _ directory: String?, mark: String?
    ) -> BridgeEvent? {
        switch type {
        case "session.status":
            guard let session = properties.sessionID() else { return nil }
            switch properties["status"]?["type"]?.string {
            case "busy", "retry": return .busy(session, directory: directory)
            case "idle": return .settled(session, nil, mark: nil)
            default: return nil
            }
        case "session.idle":
            return properties.sessionID().map { .settled($0, nil, mark: nil) }
        case "session.error":
            return properties.sessionID().map {
                .failed($0, RunError(properties["error"]), mark: mark)
            }
        case "session.created", "session.updated":
            guard let info = properties["info"] else { return nil }
            return FirstGeneration.session(info, directory)
        case "session.deleted":
            return (properties["info"]?.sessionID("id") ?? properties.sessionID()).map { .deleted($0) }
        case "permission.asked", "permission.updated":
            return request(properties, .permission, directory).map { .opened($0) }
        case "question.asked":
            return request(properties, .question, directory).map { .opened($0) }
        case "permission.replied", "question.replied", "question.rejected":
            return (properties.identifier("requestID") ?? properties.identifier("permissionID"))
                .map { .closed($0) }
        default:
            return nil
        }
    }

    /// A session's description, in events and in answers.
    static func session(_ info: JSON.Value, _ directory: String? = nil) -> BridgeEvent? {
        info.sessionID("id").map {
            .session(
                $0, parent: info.sessionID("parentID"),
                directory: directory ?? info.identifier("directory"))
        }
    }

    /// A permission or a question, in events and in lists.
    static func request(_ value: JSON.Value, _ kind: Request.Kind, _ directory: String?) -> Request? {
        guard let id = value.identifier("id"), let session = value.sessionID() else { return nil }
        var request = Request(id: id, session: session, kind: kind, directory: directory)
        request.digest = value.asked
        switch kind {
        case .permission:
            request.action = value["permission"]?.text ?? value["type"]?.text
            request.detail = value.permissionDetail
        case .question, .form:
            request.detail = value.questionDetail
            request.questions =
                SealedMessage.Question.all(in: value["questions"], multiple: "multiple", custom: "custom")
                ?? []
        }
        if let tool = value["tool"], let message = tool.identifier("messageID"),
            let call = tool.identifier("callID")
        {
            request.call = Request.Call(message: message, id: call)
        }
        return request
    }
}

/// Decodes 1.18's events for runs and permissions of the API that it shares with 2.x; they lack a status and have
/// different names.
enum NextGeneration {
    static func decode(_ type: String, _ properties: JSON.Value, _ directory: String?) -> BridgeEvent? {
        switch type {
        case "session.next.prompted", "session.next.step.started":
            return properties.sessionID().map { .busy($0, directory: directory, api: .second) }
        case "session.next.step.ended":
            // After `tool-calls` another step follows.
            guard let finish = properties["finish"]?.string, finish != "tool-calls" else { return nil }
            let mark = properties.identifier("assistantMessageID")
            return properties.sessionID().map { .settled($0, .completed, mark: mark, api: .second) }
        case "session.next.step.failed":
            let mark = properties.identifier("assistantMessageID")
            return properties.sessionID().map {
                .settled($0, .failed(RunError(properties["error"])), mark: mark, api: .second)
            }
        case "permission.v2.asked":
            guard var request = SecondGeneration.permission(properties) else { return nil }
            request.directory = directory
            request.api = .second
            return .opened(request)
        case "permission.v2.replied":
            return properties.identifier("requestID").map { .closed($0) }
        default:
            return nil
        }
    }
}
