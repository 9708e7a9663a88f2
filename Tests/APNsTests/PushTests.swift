import APNs
import Testing

@Suite("The parts of a push", .timeLimit(.minutes(2)))
struct PushTests {
    @Test("hexadecimal of even length is a device token, in lower case")
    func deviceTokens() {
        #expect(DeviceToken("00Fa")?.text == "00fa")
        #expect(DeviceToken(String(repeating: "0123456789abcdef", count: 25))?.text.utf8.count == 400)
        #expect(DeviceToken("0aF9")?.hashValue == DeviceToken("0AF9")?.hashValue)
    }

    @Test(
        "anything else is not a device token",
        arguments: [
            "", "a", "abc", "0g", "/a", "0 ", "0\0", "a\u{301}b", "\u{FF11}\u{FF12}", "ab\r\n", "%41", "..",
            String(repeating: "0", count: 402),
        ])
    func notDeviceTokens(text: String) {
        #expect(DeviceToken(text) == nil)
    }

    @Test("every character of a device token is validated, whatever its position")
    func strangers() {
        let token = Array("0123456789abcdef0123456789ABCDEF0123456789abcdef".utf8)
        for byte in UInt8.min..<0x80 {
            for place in [0, 7, 8, 15, 16, 31, token.count - 1] {
                var bytes = token
                bytes[place] = byte
                let isHexadecimal = Character(Unicode.Scalar(byte)).isHexDigit
                #expect((DeviceToken(String(decoding: bytes, as: UTF8.self)) != nil) == isHexadecimal)
            }
        }
    }

    @Test("a device token's description shows only its last 8 characters")
    func deviceTokenIsNotPrinted() throws {
        let token = try #require(DeviceToken("0011223344556677d4e5f6a7"))
        var dumped = ""
        dump(token, to: &dumped)
        for text in [
            "\(token)", String(reflecting: token), dumped, "\([token])", "\(Optional(token) as Any)",
        ] {
            #expect(!text.contains("00112233"))
        }
        #expect(token.description == "…d4e5f6a7")
    }

    @Test(
        "bundle identifiers are topics",
        arguments: ["a", "com.example.App-1", String(repeating: "x", count: 155)])
    func topics(text: String) {
        #expect(Topic(text)?.text == text)
    }

    @Test(
        "text that could break a header is not a topic",
        arguments: ["", "a b", "a\r\nb", "a_b", "é", "a\0", String(repeating: "x", count: 156)])
    func notTopics(text: String) {
        #expect(Topic(text) == nil)
    }

    @Test("a collapse identifier has up to 64 printable bytes")
    func collapseIDs() {
        #expect(CollapseID("!~") != nil)
        #expect(CollapseID(String(repeating: "x", count: 64)) != nil)
        for text in ["", String(repeating: "x", count: 65), "a b", "é", "\n"] {
            #expect(CollapseID(text) == nil)
        }
    }

    @Test("each environment is the other of the other")
    func environments() {
        #expect(Environment.sandbox.other == .production)
        #expect(Environment.production.other == .sandbox)
    }

    @Test("a priority's text is its number", arguments: Priority.allCases)
    func priorities(priority: Priority) {
        #expect(priority.text == String(priority.rawValue))
    }
}
