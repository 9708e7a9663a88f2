package import HTTP2
import JSON

/// Encodes responses as APNs does: status, `apns-id`, `apns-unique-id` in the sandbox, and a body unless the status is
/// 200.
package struct AnswerWriter {
    private var accepted = HeaderFields(status: 200)
    private let statusOnly: HeaderFields.Mark

    /// Creates a writer.
    package init() { statusOnly = accepted.mark }

    /// Passes a response's header fields and body to `send`.
    ///
    /// - Parameters:
    ///   - sentID: The text of `id` if the client sent it.
    ///   - date: The value of the `date` header; `nil` omits it.
    package mutating func write<Result>(
        _ answer: ScriptedAnswer, id: MessageID, sentID: ArraySlice<UInt8>?, uniqueID: MessageID?,
        date: String? = nil, send: (_ fields: HeaderFields, _ body: [UInt8]) -> Result
    ) -> Result {
        // The most common response reuses its fields' memory.
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

    /// Appends the identifiers without indexing: they differ in every push, so HPACK's table would gain nothing.
    private static func append(
        _ id: MessageID, _ sentID: ArraySlice<UInt8>?, _ uniqueID: MessageID?, to fields: inout HeaderFields
    ) {
        fields.append("apns-id", sentID ?? id.text[...], indexed: false)
        if let uniqueID { fields.append("apns-unique-id", uniqueID.text, indexed: false) }
    }

    /// The body of a response, in APNs' form.
    static func body(of answer: ScriptedAnswer) -> [UInt8] {
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
