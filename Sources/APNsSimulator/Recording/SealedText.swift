import JSON
import PushSealing

/// A sealed notification as a phone with the given keys would show it (docs/reference/encryption.md).
///
/// It doesn't reject repeated notifications, since tests and retries repeat pushes.
struct SealedText {
    private enum Content {
        case opened(SealedMessage)
        case refused(PushSealing.Refusal)
    }

    private let content: Content
    private let keyID: String?
    private let length: Int

    /// Opens the payload's `sealed`; `nil` if it has none.
    init?(_ payload: JSON.Object, keys: [NotificationKey]) {
        guard let sealed = payload["sealed"]?.string else { return nil }
        length = sealed.count
        keyID = Envelope.keyID(of: sealed)
        let type = payload["eventType"]?.string ?? payload["kind"]?.string ?? Envelope.defaultType
        do throws(PushSealing.Refusal) {
            content = .opened(try Envelope.open(sealed, type: type, with: keys))
        } catch {
            content = .refused(error)
        }
    }

    /// The lines of a card, without the frame.
    var lines: [String] {
        let key = keyID.map { " under key \($0)" } ?? ""
        switch content {
        case .refused(.unknownKey): return ["sealed\(key): \(length) characters"]
        case .refused(let refusal): return ["sealed\(key), can't be opened: \(refusal.rawValue)"]
        case .opened(let message):
            let texts = [message.title, message.properties.subtitle, message.body].compactMap(\.self)
            let paragraphs = texts.flatMap { text in
                text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            }
            return ["sealed\(key), opened:"] + paragraphs.map { "  " + $0 }
                + ["  " + facts(message).map { "\($0) \($1)" }.joined(separator: ", ")]
        }
    }

    /// The members for `GET /pushes`: the opened text, or why it wasn't opened.
    var json: JSON.Value {
        switch content {
        case .refused(let refusal): return ["refused": .string(refusal.rawValue)]
        case .opened(let message):
            var object = JSON.Object()
            object["title"] = message.title.map { .string($0) }
            object["subtitle"] = message.properties.subtitle.map { .string($0) }
            object["body"] = message.body.map { .string($0) }
            for (name, text) in facts(message) { object[name] = .string(text) }
            return .object(object)
        }
    }

    private func facts(_ message: SealedMessage) -> [(name: String, text: String)] {
        [
            ("sessionID", message.sessionID), ("serverID", message.serverID),
            ("category", message.properties.category), ("id", message.id),
        ].compactMap { name, text in text.map { (name, $0) } }
    }
}
