import JSON

/// Decodes the events of 1.x: `/global/event`, with an envelope, and `/event`, without.
enum FirstGeneration {
    static func decode(_ frame: JSON.Value) -> [StreamSignal] {
        let event = frame["payload"] ?? frame
        guard let type = event["type"]?.string else { return [] }
        let properties = event["properties"] ?? [:]
        let directory = frame["payload"] == nil ? nil : frame.identifier("directory")
        switch type {
        case "server.instance.disposed", "global.disposed": return [.stateLost]
        default:
            return [decode(type, properties, directory), ActivityFrame.decode(type, properties)]
                .compactMap { $0.map { .event($0) } }
        }
    }

    private static func decode(_ type: String, _ properties: JSON.Value, _ directory: String?)
        -> BridgeEvent?
    {
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
                .failed($0, name: properties["error"]?["name"]?.string)
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
        let detail: String? =
            switch kind {
            case .permission: permissionDetail(value)
            case .question, .form: value["questions"]?.array?.first?["question"]?.text
            }
        return Request(
            id: id, session: session, kind: kind, directory: directory, detail: detail, digest: value.asked)
    }

    /// `bash: git push origin main`.
    private static func permissionDetail(_ value: JSON.Value) -> String? {
        guard let permission = value["permission"]?.text ?? value["type"]?.text else { return nil }
        let patterns = value.joined("patterns") ?? value.joined("pattern") ?? value["pattern"]?.text
        return patterns.map { "\(permission): \($0)" } ?? permission
    }
}
