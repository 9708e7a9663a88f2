package import HTTP2
import JSON

/// Answers as APNs words them on the wire: status, `apns-id`, in the sandbox `apns-unique-id`, and a body unless it is 200.
package struct AnswerWriter {
    private var accepted = HeaderFields(status: 200)
    private let statusOnly: HeaderFields.Mark

    /// A writer that has written nothing.
    package init() { statusOnly = accepted.mark }

    /// Hands an answer's header fields and body to `send`.
    ///
    /// - Parameters:
    ///   - sentID: The text of `id` where the client sent it.
    ///   - date: A `date` header's text; `nil` sends none.
    package mutating func write<Result>(
        _ answer: ScriptedAnswer, id: MessageID, sentID: ArraySlice<UInt8>?, uniqueID: MessageID?,
        date: String? = nil, send: (_ fields: HeaderFields, _ body: [UInt8]) -> Result
    ) -> Result {
        // Nearly every answer is this one, so its fields keep their memory.
        if answer == .accepted, date == nil {
            accepted.rewind(to: statusOnly)
            Self.append(id, sentID, uniqueID, to: &accepted)
            return send(accepted, [])
        }
        var fields = HeaderFields(status: answer.status)
        Self.append(id, sentID, uniqueID, to: &fields)
        if let date { fields.append("date", date) }
        if let seconds = answer.retryAfter { fields.append("retry-after", String(seconds)) }
        return send(fields, Self.body(of: answer))
    }

    /// The identifiers differ from push to push, so HPACK's table would gain nothing from them.
    private static func append(
        _ id: MessageID, _ sentID: ArraySlice<UInt8>?, _ uniqueID: MessageID?, to fields: inout HeaderFields
    ) {
        fields.append("apns-id", sentID ?? id.text[...], indexed: false)
        if let uniqueID { fields.append("apns-unique-id", uniqueID.text, indexed: false) }
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
