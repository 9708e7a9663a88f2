extension JSON {
    /// Why a text is not the JSON that is read here, and where.
    ///
    /// The description names no part of the text, so it is safe to send and to log.
    package struct ParseError: Error, Hashable, Sendable {
        /// What is wrong.
        package var reason: Reason
        /// The byte at fault, counted from 0; the size of the text where it ends too early.
        package var offset: Int

        /// A reason and its place.
        package init(reason: Reason, offset: Int) {
            self.reason = reason
            self.offset = offset
        }

        /// What can be wrong with a text.
        package enum Reason: String, CaseIterable, Sendable {
            case tooLarge = "the text is larger than allowed"
            case tooDeep = "arrays and objects are nested too deeply"
            case unexpectedEnd = "the text ends too early"
            case unexpectedByte = "this byte can't stand here"
            case trailingBytes = "there is more after the value"
            case invalidNumber = "not a number as JSON writes it"
            case invalidUTF8 = "not valid UTF-8"
            case controlCharacter = "a control character in a string must be escaped"
            case invalidEscape = "not an escape that JSON knows"
            case loneSurrogate = "half of a surrogate pair"
            case duplicateName = "a name occurs twice in an object"
        }
    }
}

extension JSON.ParseError: CustomStringConvertible {
    /// A sentence without any of the text's content.
    package var description: String { "\(reason.rawValue) (at byte \(offset))" }
}
