import Foundation
import Testing

@testable import PushSealing

@Suite(.timeLimit(.minutes(1)))
struct JSONTests {
    @Test("Values are written as Foundation reads them, and read again")
    func roundTrip() throws {
        let value = JSONValue.object([
            .init("null", .null), .init("yes", .bool(true)), .init("no", .bool(false)),
            .init("whole", .integer(.min)), .init("half", .number(-0.5)), .init("large", .number(1e300)),
            .init("text", .string("a\"\\\n\r\t\u{0}\u{1F}/é👩‍💻\u{2028}")),
            .init("list", .array([.array([]), .object([])])),
        ])
        let read = try #require(JSONValue(parsing: value.text))
        #expect(read == value)
        let object = try JSONSerialization.jsonObject(with: Data(value.text.utf8)) as? [String: Any]
        #expect(object?["text"] as? String == value["text"]?.string)
        #expect(object?.count == 8)
    }

    @Test("Escapes are read, and half of a surrogate pair is replaced")
    func escapes() {
        let texts = [
            #""\"\\\/\b\f\n\r\t""#: "\"\\/\u{8}\u{C}\n\r\t", #""é👩""#: "é👩", #""\ud83d""#: "\u{FFFD}",
            #""\udc69x""#: "\u{FFFD}x", #""\ud83dA""#: "\u{FFFD}A", #""\ud83d\ud83d\udc69""#: "\u{FFFD}👩",
        ]
        for (text, expected) in texts { #expect(JSONValue(parsing: text)?.string == expected, "\(text)") }
    }

    @Test(
        "What isn't JSON is refused",
        arguments: [
            "", " ", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "01", "+1", "1.", ".5", "1e", "-", "NaN",
            "tru",
            "\"", "\"\n\"", #""\x""#, #""\u12g4""#, #""\ud83d\u""#, "1 2", "\u{FEFF}{}", "{\"a\":1,\"a\":2}",
            "1e999",
            String(repeating: "[", count: 18) + String(repeating: "]", count: 18),
        ])
    func refused(text: String) { #expect(JSONValue(parsing: text) == nil) }

    @Test("Invalid UTF-8 is refused")
    func invalidUTF8() {
        for bytes in [[0x22, 0xFF, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0xBC, 0x22]]
            as [[UInt8]]
        {
            #expect(JSONValue(parsing: bytes) == nil)
        }
    }

    @Test("Base64url and hexadecimal have one spelling each")
    func spellings() {
        for count in 0..<66 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
            let text = Base64URL.encode(bytes)
            #expect(Base64URL.decode(text) == bytes)
            let foundation = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing(
                "/", with: "_"
            )
            .replacing("=", with: "")
            #expect(text == foundation)
            #expect(Hexadecimal.bytes(Hexadecimal.text(bytes)) == bytes)
        }
        for text in ["A", "AB", "AAB", "AA==", "AA+A", "AA/A", "AA A", "AAAAA"] {
            #expect(Base64URL.decode(text) == nil, "\(text)")
        }
        for text in ["0", "0g", "é"] { #expect(Hexadecimal.bytes(text) == nil) }
    }
}
