extension RequestFields {
    /// Whether text is valid as the identifier of a session or a server.
    static func isIdentifier(_ bytes: String.UTF8View) -> Bool {
        (1...Bounds.identifierBytesMax).contains(bytes.count) && !bytes.contains(0)
    }

    /// The actions that replies may choose; empty if the sender specifies none.
    func actions(_ field: RequestField) throws(APIError) -> [String] {
        guard let actions = try texts(field) else { return [] }
        guard (1...Bounds.replyActionsMax).contains(actions.count), Set(actions).count == actions.count,
            actions.allSatisfy({ Self.isAction($0.utf8) })
        else { throw APIError(.invalidField, field: field) }
        return actions
    }

    static func isAction(_ bytes: String.UTF8View) -> Bool {
        (1...Bounds.replyActionCountMax).contains(bytes.count)
            && bytes.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
