import JSON
import Programs
import PushSealing

/// The content of sealed text, for people and for programs.
struct OpenedText {
    private let message: SealedMessage

    init(_ message: SealedMessage) {
        self.message = message
    }

    private var fields: [(name: StaticString, value: String?)] {
        [
            ("title", message.title), ("subtitle", message.properties.subtitle), ("body", message.body),
            ("category", message.properties.category), ("sessionID", message.sessionID),
            ("serverID", message.serverID), ("id", message.id),
            ("sentAt", Timestamp(Int64(message.sentAt) * 1000).text),
        ]
    }

    /// A line for each field that is present.
    var text: String {
        let width = 11
        return fields.compactMap { name, value in
            guard let value else { return nil }
            let blanks = String(repeating: " ", count: width - name.utf8CodeUnitCount)
            // Multi-line text stays in its column.
            let lines = value.split(separator: "\n", omittingEmptySubsequences: false).map {
                TerminalText.safe(String($0))
            }
            return "\(name)" + blanks + lines.joined(separator: "\n" + String(repeating: " ", count: width))
                + "\n"
        }.joined()
    }

    /// The content as one JSON object.
    var json: String {
        var writer = JSON.Writer()
        writer.beginObject()
        for (name, value) in fields {
            if let value { writer.member(name, value) }
        }
        writer.endObject()
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}
