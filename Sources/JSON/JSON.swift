/// JSON as RFC 8259 defines it, read strictly and written minimally, without Foundation.
///
/// Strict means: no byte order mark, no invalid UTF-8, no lone surrogate escape unless the caller allows it, no
/// duplicate member name, no bytes after the value; depth and size are bounded. See docs/decisions/0004-json.md.
package enum JSON {
    /// The deepest nesting of arrays and objects that is read unless the caller says otherwise.
    package static let maxDepthDefault = 64

    /// How to read an escape such as `\ud83c` that is half of a surrogate pair.
    ///
    /// It names no character, but JavaScript's `JSON.stringify` writes it for a string that was cut in the middle of an
    /// emoji. It concerns escapes in values: in names, and as bytes (`ED A0 BC`, which isn't UTF-8), it is always refused.
    package enum LoneSurrogates: Sendable {
        /// The text is refused.
        case refused
        /// The value is a ``Value/repairedString(_:)``.
        case replaced
    }

    /// Reads one JSON text.
    ///
    /// - Parameters:
    ///   - bytes: The whole text in UTF-8. White space around the value is allowed.
    ///   - maxBytes: A longer text is refused before anything is read.
    ///   - maxDepth: Arrays and objects inside one another; `[]` has depth 1.
    ///   - loneSurrogates: How to read half of a surrogate pair.
    /// - Throws: ``ParseError`` with the offset of the byte at fault.
    package static func parse(
        _ bytes: RawSpan, maxBytes: Int, maxDepth: Int = maxDepthDefault,
        loneSurrogates: LoneSurrogates = .refused
    ) throws(ParseError) -> Value {
        var scanner = try Scanner(
            size: bytes.byteCount, maxBytes: maxBytes, maxDepth: maxDepth, loneSurrogates: loneSurrogates)
        let value = try scanner.wholeValue(bytes)
        try scanner.end(bytes)
        return value
    }

    /// Reads one JSON text, see ``parse(_:maxBytes:maxDepth:loneSurrogates:)-(RawSpan,_,_,_)``.
    package static func parse(
        _ bytes: [UInt8], maxBytes: Int, maxDepth: Int = maxDepthDefault,
        loneSurrogates: LoneSurrogates = .refused
    ) throws(ParseError) -> Value {
        try parse(
            bytes.span.bytes, maxBytes: maxBytes, maxDepth: maxDepth, loneSurrogates: loneSurrogates)
    }

    /// Reads one JSON text, see ``parse(_:maxBytes:maxDepth:loneSurrogates:)-(RawSpan,_,_,_)``.
    ///
    /// The bytes are copied, not kept.
    package static func parse(
        _ bytes: UnsafeRawBufferPointer, maxBytes: Int, maxDepth: Int = maxDepthDefault
    ) throws(ParseError) -> Value {
        try parse(bytes.bytes, maxBytes: maxBytes, maxDepth: maxDepth)
    }

    /// Checks one JSON text without building anything: accepts what `parse` accepts, lone surrogates refused, with the
    /// same errors.
    package static func validate(
        _ bytes: RawSpan, maxBytes: Int, maxDepth: Int = maxDepthDefault
    ) throws(ParseError) {
        var scanner = try Scanner(size: bytes.byteCount, maxBytes: maxBytes, maxDepth: maxDepth)
        try scanner.skipWholeValue(bytes)
        try scanner.end(bytes)
    }

    /// Checks one JSON text, see ``validate(_:maxBytes:maxDepth:)-(RawSpan,_,_)``.
    package static func validate(
        _ bytes: [UInt8], maxBytes: Int, maxDepth: Int = maxDepthDefault
    ) throws(ParseError) {
        try validate(bytes.span.bytes, maxBytes: maxBytes, maxDepth: maxDepth)
    }

    /// Checks one JSON text, see ``validate(_:maxBytes:maxDepth:)-(RawSpan,_,_)``.
    package static func validate(
        _ bytes: UnsafeRawBufferPointer, maxBytes: Int, maxDepth: Int = maxDepthDefault
    ) throws(ParseError) {
        try validate(bytes.bytes, maxBytes: maxBytes, maxDepth: maxDepth)
    }
}
