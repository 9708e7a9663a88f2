import JSON
import Testing

@Suite("Writing JSON", .timeLimit(.minutes(2)))
struct WriterTests {
    @Test("Members of an object that is written already follow others with a comma, and none if it is empty")
    func membersOfObject() {
        for (object, written) in [
            (#"{"b":[2]}"#, #"{"a":1,"b":[2],"c":3}"#), ("{}", #"{"a":1,"c":3}"#),
        ] {
            var writer = JSON.Writer()
            writer.beginObject()
            writer.member("a", 1)
            writer.members(of: Array(object.utf8))
            writer.member("c", 3)
            writer.endObject()
            #expect(String(decoding: writer.finish(), as: UTF8.self) == written)
        }
    }

    @Test("separators are inserted automatically")
    func structure() {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("sent", 2)
        writer.name("deliveries")
        writer.beginArray()
        for device in ["…d4e5f6a7", "…00112233"] {
            writer.beginObject()
            writer.member("device", device)
            writer.endObject()
        }
        writer.beginArray()
        writer.endArray()
        writer.null()
        writer.endArray()
        writer.name("empty")
        writer.beginObject()
        writer.endObject()
        writer.member("last", "")
        writer.endObject()
        let expected =
            #"{"ok":true,"sent":2,"deliveries":[{"device":"…d4e5f6a7"},{"device":"…00112233"},[],null],"#
            + #""empty":{},"last":""}"#
        #expect(String(decoding: writer.finish(), as: UTF8.self) == expected)
    }

    static let strings: [(String, String)] = [
        ("", #""""#),
        ("plain / text", #""plain / text""#),
        ("\"\\", #""\"\\""#),
        ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#),
        ("\0\u{1}\u{B}\u{E}\u{F}\u{10}\u{1A}\u{1F}", #""\u0000\u0001\u000b\u000e\u000f\u0010\u001a\u001f""#),
        ("\u{7F}\u{80}\u{2028}é😀", "\"\u{7F}\u{80}\u{2028}é😀\""),
        ("a\nb", #""a\nb""#),
    ]

    @Test("only what RFC 8259 requires is escaped", arguments: strings)
    func escapes(text: String, expected: String) {
        let written = JSON.Value.string(text).encoded()
        #expect(written == utf8(expected))
        #expect(JSON.Writer.escapedCount(text) == written.count - 2)
    }

    @Test("integers of any width are written in full")
    func integers() {
        var writer = JSON.Writer()
        writer.beginArray()
        writer.int(0)
        writer.int(-1)
        writer.int(Int64.min)
        writer.int(Int64.max)
        writer.int(UInt64.max)
        writer.int(Int.min)
        writer.endArray()
        let expected =
            "[0,-1,-9223372036854775808,9223372036854775807,18446744073709551615,-9223372036854775808]"
        #expect(writer.finish() == utf8(expected))
    }

    @Test("order and the text of numbers survive a round trip")
    func values() throws {
        let text = #"{"z":[1.0,1e5,-0,null,true,false],"a":{"y":"\"","x":{}},"":[]}"#
        #expect(try parse(utf8(text)).encoded() == utf8(text))
    }

    @Test("every scalar of the first planes survives a round trip")
    func everyScalar() throws {
        var text = String.UnicodeScalarView()
        for code in UInt32(0)..<0x1_2000 {
            if let scalar = Unicode.Scalar(code) { text.append(scalar) }
        }
        let value = JSON.Value.string(String(text))
        #expect(try parse(value.encoded()) == value)
    }

    @Test("an unfinished text traps")
    func unfinished() async {
        await #expect(processExitsWith: .failure) {
            var writer = JSON.Writer()
            writer.beginArray()
            _ = writer.finish()
        }
    }
}
