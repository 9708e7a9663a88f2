/// A strict reader and compact writer of JSON (RFC 8259), without Foundation.
///
/// Strict means: no byte order mark, no invalid UTF-8, no lone surrogate escape unless the caller allows it, no
/// duplicate member name, no bytes after the value; depth and size are bounded. See docs/design/http.md.
///
/// ```swift
/// let value = try JSON.parse(body, maxBytes: 4_096)
/// let title = value["title"]?.string
/// let badge = value["badge"]?.int
/// ```
package enum JSON {
    /// The default maximum nesting of arrays and objects.
    package static let maxDepthDefault = 64

    /// How to read an escape such as `\ud83c` that is half of a surrogate pair.
    ///
    /// Half a pair represents no character, but JavaScript's `JSON.stringify` writes it for a string that was cut
    /// within an emoji. The choice applies only to escapes in values: in names, and as bytes (`ED A0 BC`, invalid
    /// UTF-8), half a pair is always an error.
    package enum LoneSurrogates: Sendable {
        /// The text is rejected.
        case refused
        /// The value is a ``Value/repairedString(_:)``.
        case replaced
    }

    /// Parses one JSON text.
    ///
    /// - Parameters:
    ///   - bytes: The whole text in UTF-8. White space around the value is allowed.
    ///   - maxBytes: The size limit, checked before parsing.
    ///   - maxDepth: The maximum nesting of arrays and objects; `[]` has depth 1.
    ///   - loneSurrogates: How to read half of a surrogate pair.
    /// - Throws: ``ParseError`` with the offset of the offending byte.
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

    /// Parses one JSON text; see ``parse(_:maxBytes:maxDepth:loneSurrogates:)-(RawSpan,_,_,_)``.
    package static func parse(
        _ bytes: [UInt8], maxBytes: Int, maxDepth: Int = maxDepthDefault,
        loneSurrogates: LoneSurrogates = .refused
    ) throws(ParseError) -> Value {
        try parse(
            bytes.span.bytes, maxBytes: maxBytes, maxDepth: maxDepth, loneSurrogates: loneSurrogates)
    }

    /// Parses one JSON text; see ``parse(_:maxBytes:maxDepth:loneSurrogates:)-(RawSpan,_,_,_)``.
    ///
    /// The bytes are copied.
    package static func parse(
        _ bytes: UnsafeRawBufferPointer, maxBytes: Int, maxDepth: Int = maxDepthDefault
    ) throws(ParseError) -> Value {
        try parse(bytes.bytes, maxBytes: maxBytes, maxDepth: maxDepth)
    }

    /// Validates one JSON text without building values, with the same rules and errors as `parse` if lone surrogates
    /// are refused.
    package static func validate(
        _ bytes: RawSpan, maxBytes: Int, maxDepth: Int = maxDepthDefault
    ) throws(ParseError) {
        var scanner = try Scanner(size: bytes.byteCount, maxBytes: maxBytes, maxDepth: maxDepth)
        try scanner.skipWholeValue(bytes)
        try scanner.end(bytes)
    }

    /// Validates one JSON text; see ``validate(_:maxBytes:maxDepth:)-(RawSpan,_,_)``.
    package static func validate(
        _ bytes: [UInt8], maxBytes: Int, maxDepth: Int = maxDepthDefault
    ) throws(ParseError) {
        try validate(bytes.span.bytes, maxBytes: maxBytes, maxDepth: maxDepth)
    }

    /// Validates one JSON text; see ``validate(_:maxBytes:maxDepth:)-(RawSpan,_,_)``.
    package static func validate(
        _ bytes: UnsafeRawBufferPointer, maxBytes: Int, maxDepth: Int = maxDepthDefault
    ) throws(ParseError) {
        try validate(bytes.bytes, maxBytes: maxBytes, maxDepth: maxDepth)
    }
}
