package import HTTP2
import JSON

/// An answer as APNs words it on the wire.
package struct AnswerMessage: Sendable {
    package let fields: HeaderFields
    package let body: [UInt8]

    /// The message for an answer: status, `apns-id`, in the sandbox `apns-unique-id`, and a body unless it is 200.
    package init(_ answer: ScriptedAnswer, id: MessageID, uniqueID: MessageID?) {
        var fields = HeaderFields(status: answer.status)
        // The identifiers differ from push to push, so HPACK's table would gain nothing from them.
        fields.append("apns-id", id.text, indexed: false)
        if let uniqueID { fields.append("apns-unique-id", uniqueID.text, indexed: false) }
        if let seconds = answer.retryAfter { fields.append("retry-after", String(seconds)) }
        self.fields = fields
        body = Self.body(of: answer)
    }

    private static func body(of answer: ScriptedAnswer) -> [UInt8] {
        switch answer.body {
        case .none: return []
        case .text(let text): return Array(text.utf8)
        case .reason:
            guard answer.reason != nil || answer.timestamp != nil else { return [] }
            var writer = JSON.Writer()
            writer.beginObject()
            if let reason = answer.reason { writer.member("reason", reason) }
            if let timestamp = answer.timestamp { writer.member("timestamp", timestamp) }
            writer.endObject()
            return writer.finish()
        }
    }
}
