/// The identifier of an OpenCode session: 1 to 255 bytes without NUL, as the relay requires.
struct SessionID: Hashable, Sendable {
    /// The identifier as OpenCode writes it, such as `ses_1`.
    let text: String

    /// Checks an identifier; `nil` if the relay would refuse it.
    init?(_ text: String?) {
        guard let text, (1...Bounds.identifierBytesMax).contains(text.utf8.count), !text.utf8.contains(0)
        else { return nil }
        self.text = text
    }
}

extension SessionID {
    /// The ID in requests without a session, which 2.x uses for questions from MCP servers.
    static let global = SessionID(verbatim: "global")

    private init(verbatim text: String) { self.text = text }
}

extension SessionID: CustomStringConvertible {
    var description: String { text }
}

/// The identifier of a permission, a question or a form.
typealias RequestID = String
