import JSON
import Testing

/// Parses text whose strings may contain lone surrogates.
private func repaired(_ text: String) throws(JSON.ParseError) -> JSON.Value {
    try JSON.parse(utf8(text), maxBytes: 1 << 20, loneSurrogates: .replaced)
}

@Suite("Lone surrogates", .timeLimit(.minutes(2)))
struct LoneSurrogateTests {
    static let texts: [(String, String)] = [
        (#""\ud83c""#, "\u{FFFD}"),
        (#""\uDF89""#, "\u{FFFD}"),
        (#""cut\ud83c…""#, "cut\u{FFFD}…"),
        (#""\ud83c\ud83c""#, "\u{FFFD}\u{FFFD}"),
        (#""\udf89\ud83c""#, "\u{FFFD}\u{FFFD}"),
        (#""\udf89\udf89\udf89""#, "\u{FFFD}\u{FFFD}\u{FFFD}"),
        // The second of the three surrogates forms a pair with the third.
        (#""\ud83c\ud83c\udf89""#, "\u{FFFD}🎉"),
        (#""\ud83c\udf89\udf89""#, "🎉\u{FFFD}"),
        (#""\ud83cx\udf89""#, "\u{FFFD}x\u{FFFD}"),
        (#""\ud83c\u0041""#, "\u{FFFD}A"),
        (#""\ud83c\n\"\\\udf89\/""#, "\u{FFFD}\n\"\\\u{FFFD}/"),
        (#""\ud83cu1234""#, "\u{FFFD}u1234"),
        (#""\udbff""#, "\u{FFFD}"),
        (#""\ud83c🎉\ud83c\udf89""#, "\u{FFFD}🎉🎉"),
    ]

    @Test("each becomes U+FFFD if the caller allows it and is rejected otherwise", arguments: texts)
    func replaced(text: String, expected: String) throws {
        let value = try repaired(text)
        #expect(value == .repairedString(expected))
        #expect(value.text.map { Array($0.utf8) } == utf8(expected))
        #expect(value.string == nil, "what was sent is not what was read")
        #expect(try parse(value.encoded()) == .string(expected))
        let error = #expect(throws: JSON.ParseError.self) { try parse(utf8(text)) }
        #expect(error?.reason == .loneSurrogate)
    }

    @Test("a string without lone surrogates is parsed normally", arguments: ParseTests.accepted)
    func others(text: String, value: JSON.Value) throws {
        #expect(try repaired(text) == value)
        #expect(value.text == value.string)
    }

    @Test("a text rejected for another reason is still rejected", arguments: ParseTests.refused)
    func refused(text: String, reason: JSON.ParseError.Reason, offset: Int) throws {
        guard reason != .loneSurrogate else { return }
        #expect(throws: JSON.ParseError(reason: reason, offset: offset)) { try repaired(text) }
    }

    @Test("only strings with lone surrogates are marked")
    func marks() throws {
        let value = try repaired(#"{"a":"\ud83c","b":["x",{"c":"\udf89"}],"d":"\ud83c\udf89"}"#)
        let expected: JSON.Value = [
            "a": .repairedString("\u{FFFD}"), "b": ["x", ["c": .repairedString("\u{FFFD}")]], "d": "🎉",
        ]
        #expect(value == expected)
        #expect(value != ["a": "\u{FFFD}", "b": ["x", ["c": "\u{FFFD}"]], "d": "🎉"])
    }

    @Test(
        "a name is never repaired",
        arguments: [
            (#"{"\ud83c":1}"#, 2), (#"{"ab\udf89":1}"#, 4), (#"[{"a":{"x\ud83c\ud83c":1}}]"#, 9),
            (#"{"\ud83c":1,"\ud83d":2}"#, 2),
        ])
    func names(text: String, offset: Int) {
        #expect(throws: JSON.ParseError(reason: .loneSurrogate, offset: offset)) { try repaired(text) }
    }

    @Test(
        "encoded surrogates are invalid UTF-8, alone or as CESU-8 pairs",
        arguments: [
            [0xED, 0xA0, 0xBC], [0xED, 0xBE, 0x89], [0xED, 0xA0, 0xBC, 0xED, 0xBE, 0x89],
        ] as [[UInt8]])
    func bytes(bytes: [UInt8]) {
        let text = utf8("\"") + bytes + utf8("\"")
        #expect(throws: JSON.ParseError(reason: .invalidUTF8, offset: 1)) {
            try JSON.parse(text, maxBytes: 100, loneSurrogates: .replaced)
        }
    }

    @Test(
        "a text cut between any two UTF-16 units is repaired like the standard library does",
        arguments: 0..<50)
    func everyCut(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        let alphabet: [UInt16] = [
            0x41, 0x22, 0x5C, 0x0A, 0xE9, 0x20AC, 0xFFFD, 0xD83C, 0xDF89, 0xD800, 0xDFFF,
        ]
        var units: [UInt16] = []
        for _ in 0..<40 { units.append(alphabet.randomElement(using: &generator) ?? 0) }
        for start in units.indices {
            let part = units[start...]
            let escapes = part.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
            let value = try repaired("\"" + escapes.joined() + "\"")
            #expect(value.text == String(decoding: part, as: UTF16.self))
            #expect((value.string == nil) == (String(validating: part, as: UTF16.self) == nil))
        }
    }
}
