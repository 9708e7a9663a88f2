import JSON
import Testing

/// The bytes of a string.
func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Parses text with a limit that no test reaches.
func parse(_ bytes: [UInt8]) throws(JSON.ParseError) -> JSON.Value {
    try JSON.parse(bytes, maxBytes: 1 << 20)
}

/// Nested arrays.
func arrays(depth: Int) -> [UInt8] {
    utf8(String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
}

@Suite("Parsing JSON", .timeLimit(.minutes(2)))
struct ParseTests {
    static let accepted: [(String, JSON.Value)] = [
        ("null", nil),
        ("true", true),
        ("false", false),
        (" \t\r\n 0 \n", 0),
        ("-0", .number(number("-0"))),
        ("-1", -1),
        ("9223372036854775808", .number(number("9223372036854775808"))),
        ("1.0", .number(number("1.0"))),
        ("-0.5E-7", .number(number("-0.5E-7"))),
        ("1e+400", .number(number("1e+400"))),
        ("123456789012345678901234567890", .number(number("123456789012345678901234567890"))),
        (#""""#, ""),
        (#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{C}\n\r\tz"),
        (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""\u0000""#, "\0"),
        (#""\ud83d\ude00 and 😀""#, "😀 and 😀"),
        (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
        (#""\uFFFF\u2028""#, "\u{FFFF}\u{2028}"),
        (
            "\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\u{2028}\"",
            "\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\u{2028}"
        ),
        ("[]", []),
        ("[ ]", []),
        ("[1,[2 , null],{}]", [1, [2, nil], [:]]),
        ("{}", [:]),
        (#"{"a":1,"b":{"a":2},"":[]}"#, ["a": 1, "b": ["a": 2], "": []]),
        (
            #"{ "a" : "long enough to leave the eight byte path" }"#,
            ["a": "long enough to leave the eight byte path"]
        ),
        // Names that differ only in normalisation are two names.
        (
            "{\"\u{E9}\":1,\"e\u{301}\":2,\"K\":3,\"\u{212A}\":4}",
            ["\u{E9}": 1, "e\u{301}": 2, "K": 3, "\u{212A}": 4]
        ),
    ]

    @Test("valid JSON is parsed to its value", arguments: accepted)
    func accepts(text: String, value: JSON.Value) throws {
        #expect(try parse(utf8(text)) == value)
        try JSON.validate(utf8(text), maxBytes: text.utf8.count)
    }

    static let refused: [(String, JSON.ParseError.Reason, Int)] = [
        ("", .unexpectedEnd, 0),
        (" ", .unexpectedEnd, 1),
        ("\u{FEFF}{}", .unexpectedByte, 0),
        ("nul", .unexpectedEnd, 3),
        ("nulL", .unexpectedByte, 3),
        ("True", .unexpectedByte, 0),
        ("truex", .trailingBytes, 4),
        ("NaN", .unexpectedByte, 0),
        ("Infinity", .unexpectedByte, 0),
        ("undefined", .unexpectedByte, 0),
        ("'a'", .unexpectedByte, 0),
        ("1 2", .trailingBytes, 2),
        ("{}{}", .trailingBytes, 2),
        ("{} // note", .trailingBytes, 3),
        ("/* note */ 1", .unexpectedByte, 0),
        ("\u{A0}1", .unexpectedByte, 0),
        ("\u{B}1", .unexpectedByte, 0),
        ("1\0", .trailingBytes, 1),
        ("01", .invalidNumber, 1),
        ("-", .unexpectedEnd, 1),
        ("-a", .invalidNumber, 1),
        ("--1", .invalidNumber, 1),
        ("+1", .unexpectedByte, 0),
        (".5", .unexpectedByte, 0),
        ("1.", .unexpectedEnd, 2),
        ("1.e5", .invalidNumber, 2),
        ("[1.]", .invalidNumber, 3),
        ("1e", .unexpectedEnd, 2),
        ("1e+", .unexpectedEnd, 3),
        ("1ex", .invalidNumber, 2),
        ("1.2.3", .invalidNumber, 3),
        ("0x10", .invalidNumber, 1),
        ("1_000", .trailingBytes, 1),
        ("-Infinity", .invalidNumber, 1),
        ("\u{661}", .unexpectedByte, 0),
        ("\"", .unexpectedEnd, 1),
        ("\"abc", .unexpectedEnd, 4),
        ("\"a\nb\"", .controlCharacter, 2),
        ("\"01234567\u{1F}\"", .controlCharacter, 9),
        ("\"\t\"", .controlCharacter, 1),
        ("\"\0\"", .controlCharacter, 1),
        (#""\"#, .unexpectedEnd, 2),
        (#""\a""#, .invalidEscape, 1),
        (#""\x41""#, .invalidEscape, 1),
        (#""\'""#, .invalidEscape, 1),
        (#""\U0041""#, .invalidEscape, 1),
        (#""\u004""#, .invalidEscape, 1),
        (#""\u00g1""#, .invalidEscape, 1),
        (#""\u+041""#, .invalidEscape, 1),
        (#""ab\ud800""#, .loneSurrogate, 3),
        (#""\ud800x""#, .loneSurrogate, 1),
        (#""\udc00""#, .loneSurrogate, 1),
        (#""\ud800\n""#, .loneSurrogate, 1),
        (#""\ud800\ud800""#, .loneSurrogate, 1),
        (#""\ud800\u0041""#, .loneSurrogate, 1),
        (#""\udc00\ud800""#, .loneSurrogate, 1),
        (#""\ud800\u12""#, .invalidEscape, 7),
        ("[", .unexpectedEnd, 1),
        ("[1", .unexpectedEnd, 2),
        ("[1,", .unexpectedEnd, 3),
        ("[1,]", .unexpectedByte, 3),
        ("[,1]", .unexpectedByte, 1),
        ("[1 2]", .unexpectedByte, 3),
        ("[1}", .unexpectedByte, 2),
        ("]", .unexpectedByte, 0),
        ("{", .unexpectedEnd, 1),
        ("{1:2}", .unexpectedByte, 1),
        ("{a:2}", .unexpectedByte, 1),
        (#"{"a"}"#, .unexpectedByte, 4),
        (#"{"a":}"#, .unexpectedByte, 5),
        (#"{"a":1,}"#, .unexpectedByte, 7),
        (#"{"a":1 "b":2}"#, .unexpectedByte, 7),
        (#"{"a" 1}"#, .unexpectedByte, 5),
        (#"{"a":1]"#, .unexpectedByte, 6),
        (#"{"a":1,"b":2,"a":3}"#, .duplicateName, 13),
        (#"{"secret":1,"s\u0065cret":2}"#, .duplicateName, 12),
        (#"{"x":{"a":1,"b":[{"c":1}],"a":2}}"#, .duplicateName, 26),
    ]

    @Test("invalid JSON is rejected at the offending byte", arguments: refused)
    func refuses(text: String, reason: JSON.ParseError.Reason, offset: Int) {
        let expected = JSON.ParseError(reason: reason, offset: offset)
        #expect(throws: expected) { try parse(utf8(text)) }
        #expect(throws: expected) { try JSON.validate(utf8(text), maxBytes: 1000) }
    }

    static let invalidUTF8: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80],
        [0xE0, 0x9F, 0xBF],
        [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
        [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x98, 0x28],
        [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xFF, 0xFE, 0x31, 0x00],
    ]

    @Test("invalid UTF-8 is refused in strings and names", arguments: invalidUTF8)
    func refusesInvalidUTF8(bytes: [UInt8]) {
        let value = utf8(#"{"plain text":"more of it "#) + bytes + utf8(#""}"#)
        #expect(throws: JSON.ParseError(reason: .invalidUTF8, offset: 26)) { try parse(value) }
        #expect(throws: JSON.ParseError(reason: .invalidUTF8, offset: 26)) {
            try JSON.validate(value, maxBytes: 100)
        }
        let name = utf8(#"{""#) + bytes + utf8(#"":1}"#)
        #expect(throws: JSON.ParseError(reason: .invalidUTF8, offset: 2)) { try parse(name) }
        // Cut off by the end of the input.
        #expect(throws: JSON.ParseError.self) { try parse(utf8("\"") + bytes) }
    }

    @Test("nesting is accepted up to the limit and rejected one level deeper")
    func depth() throws {
        _ = try parse(arrays(depth: JSON.maxDepthDefault))
        let tooDeep = JSON.ParseError(reason: .tooDeep, offset: 64)
        #expect(throws: tooDeep) { try parse(arrays(depth: 65)) }
        #expect(throws: tooDeep) { try JSON.validate(arrays(depth: 65), maxBytes: 1000) }
        #expect(throws: tooDeep) { try parse(arrays(depth: 100_000)) }
        // Siblings don't add depth.
        _ = try JSON.parse(utf8("[[],[],{},[[]]]"), maxBytes: 100, maxDepth: 3)
        #expect(throws: JSON.ParseError(reason: .tooDeep, offset: 1)) {
            try JSON.parse(utf8(#"[{"a":1}]"#), maxBytes: 100, maxDepth: 1)
        }
        _ = try JSON.parse(utf8("1"), maxBytes: 100, maxDepth: 0)
    }

    @Test("a text of the maximum size is accepted and a larger one rejected")
    func size() throws {
        _ = try JSON.parse(utf8("[10]"), maxBytes: 4)
        #expect(throws: JSON.ParseError(reason: .tooLarge, offset: 3)) {
            try JSON.parse(utf8("[10]"), maxBytes: 3)
        }
        #expect(throws: JSON.ParseError(reason: .tooLarge, offset: 3)) {
            try JSON.validate(utf8("[10]"), maxBytes: 3)
        }
    }

    @Test(
        "duplicate names are detected in objects of any size, escaped or not",
        arguments: [1, 2, 15, 16, 17, 18, 500])
    func duplicatesInLargeObjects(count: Int) throws {
        let members = (0..<count).map { "\"name\($0)\":{\"name0\":[{}]}" }
        let object = "{" + members.joined(separator: ",")
        #expect(try parse(utf8(object + "}")).object?.members.count == count)
        try JSON.validate(utf8(object + "}"), maxBytes: 1 << 20)
        for name in ["name0", "name\(count - 1)", "n\\u0061me\(count / 2)"] {
            let expected = JSON.ParseError(reason: .duplicateName, offset: object.utf8.count + 1)
            let text = object + ",\"\(name)\":null}"
            #expect(throws: expected) { try parse(utf8(text)) }
            #expect(throws: expected) { try JSON.validate(utf8(text), maxBytes: 1 << 20) }
        }
    }

    @Test("checking an object of 100,000 names takes less than quadratic time")
    func manyNames() throws {
        let text = utf8("{" + (0..<100_000).map { "\"\($0)\":0" }.joined(separator: ",") + "}")
        let clock = ContinuousClock()
        let taken = try clock.measure { try JSON.validate(text, maxBytes: text.count) }
        #expect(taken < .seconds(20))  // comparing each with each takes minutes in a debug build
    }

    @Test("borrowed memory can be parsed")
    func borrowedMemory() throws {
        try utf8("[1]").withUnsafeBytes { buffer in
            #expect(try JSON.parse(buffer, maxBytes: 10) == [1])
            try JSON.validate(buffer, maxBytes: 10)
        }
        #expect(throws: JSON.ParseError(reason: .unexpectedEnd, offset: 0)) {
            try JSON.parse(UnsafeRawBufferPointer(start: nil, count: 0), maxBytes: 10)
        }
    }

    @Test("an error's description contains nothing of the text")
    func description() {
        let error = #expect(throws: JSON.ParseError.self) { try parse(utf8(#"{"secret":"hunter2}"#)) }
        #expect(error?.description == "the text ends too early (at byte 19)")
    }
}

/// A number with this text.
private func number(_ text: String) -> JSON.Number {
    guard let number = try? parse(utf8(text)).number else {
        Issue.record("\(text) was not read as a number")
        return JSON.Number(0)
    }
    #expect(number.text == text)
    return number
}
