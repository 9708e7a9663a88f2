extension JSON {
    /// Why the text isn't accepted as JSON, and where.
    ///
    /// The description contains no part of the text, so it is safe to send and to log.
    package struct ParseError: Error, Hashable, Sendable {
        /// What is wrong.
        package var reason: Reason
        /// The offset of the offending byte; the size of the text if the text ends too early.
        package var offset: Int

        /// Creates an error from a reason and an offset.
        package init(reason: Reason, offset: Int) {
            self.reason = reason
            self.offset = offset
        }

        /// The kinds of errors.
        package enum Reason: String, CaseIterable, Sendable {
            case tooLarge = "the text is larger than allowed"
            case tooDeep = "arrays and objects are nested too deeply"
            case unexpectedEnd = "the text ends too early"
            case unexpectedByte = "unexpected byte"
            case trailingBytes = "unexpected data after the value"
            case invalidNumber = "invalid number"
            case invalidUTF8 = "invalid UTF-8"
            case controlCharacter = "a control character in a string must be escaped"
            case invalidEscape = "invalid escape sequence"
            case loneSurrogate = "half of a surrogate pair"
            case duplicateName = "a name occurs twice in an object"
        }
    }
}

extension JSON.ParseError: CustomStringConvertible {
    /// A description without any of the text's content.
    package var description: String { "\(reason.rawValue) (at byte \(offset))" }
}
