import Cryptography
import HTTPServer
import Testing

@testable import Relay

@Suite("Bodies compressed with gzip", .timeLimit(.minutes(2)))
struct GzipTests {
    // Made with zlib.
    private static let fixedCode =
        "H4sIAAAAAAAAA6tWKslXslJyrSjIz0vNKwkoLc4Iyc9OzYuuiFXSUUrKT6kEymak5uTkK0DI8vyinBQdhVEhOgkp1QIAYlYd86MBAAA="
    private static let ownCode = """
        H4sIAAAAAAAAA3VUCc6rIBC+ylwNERTZFFDA0z/KNu2fvKQxCJ3h20amHHvUe4O0wBTzDljiAbSE9JhglgWECzmD5UYfwsJj
        L/bGVcBGz5vyfnrGlC3buP1asfvrhfLrtc5tFl5vQobbKbUpMFYtY/3yFK4DGNVMpJQroLG2q40nT+rTdNciJsIFXIwTnqwE
        kUNDjf/3ggsCinB2xhveyysDh9jjmUH4ePjJbrV0WeL9CNAH10mewX/BrvgGdSM1AR3w3o1eYmEgt+gJrNz6+0GkndUg+ql9
        CFn9R+IPYJPY/uossR15mL7zSxxuPYIaZIUIEbW9lxVIXqIK4IWUi4Asd1EkKnZ2a5vkTYTacYLsFY2Bu3aPsEaXCbrlgkjJ
        aDJ8niMUjIbWXP6KXvI04YzKnqDxKmIvpMt+EsxfzwU/Hhrop1Ff/SVR6kdJ30Fo6CgS+E8+ca/JVi6sKcD9rja6MRhIZr07
        Cum9jtNIX/W+NSsH1TC0NNJbGMdWcCqsvGBHJD1ex/GbQMHdM3u38Vuszcdu6HC6Pqc+E1YXbr634unL6NnvHWJW9ihba44o
        /86cTafOw3bPcyJkKNYNL4r245mtflJEK7854IN2D8Tw/Xe3jWi7uw8bDtIQtQWrPWvB/DJUNsNALMTo4KqVlw9AT2Qx5tvx
        c313FL2LOADM2Zij3TPaAZxqt5n8A9pde0mNBQAA
        """
    private static let stored = "H4sIAAAAAAAAAwEDAPz/YWJjwkEkNQMAAAA="
    private static let allFields = "H4sIHgAAAAAAAwMAeHl6bmFtZQBjb21tZW50AKS7S0xKBgDCQSQ1AwAAAA=="
    private static let empty = "H4sIAAAAAAAAAwMAAAAAAAAAAAA="
    /// 200,000 zeros.
    private static let zeros =
        "H4sIAAAAAAAAA+3BMQEAAADCoPVPbQZ/o" + String(repeating: "A", count: 257) + "CA1wB7WOBcQA0DAA=="

    private static func bytes(_ text: String) throws -> [UInt8] {
        try #require(Base64.decode(Array(text.utf8)))
    }

    private static func content(of body: [UInt8], bytesMax: Int = 65_536) -> [UInt8]? {
        Request(method: .post, target: "/", headers: [("Content-Encoding", "gzip")], body: body)
            .body(unzippedUpTo: bytesMax)
    }

    private static func content(_ text: String, bytesMax: Int = 65_536) throws -> String? {
        content(of: try bytes(text), bytesMax: bytesMax).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("Every kind of block and every field of the header is read")
    func members() throws {
        let hello = String(repeating: "hello hello world, ", count: 20)
        #expect(
            try Self.content(Self.fixedCode) == #"{"to":"ExponentPushToken[x]","body":""# + hello + #""}"#)
        // The checksum was compared.
        let words = try #require(try Self.content(Self.ownCode))
        #expect(words.utf8.count == 1421 && words.allSatisfy { $0 == " " || ("a"..."z").contains($0) })
        #expect(try Self.content(Self.stored) == "abc")
        #expect(try Self.content(Self.allFields) == "abc")
        #expect(try Self.content(Self.empty)?.isEmpty == true)
    }

    @Test("Nothing larger than allowed is decoded")
    func large() throws {
        #expect(try Self.content(Self.zeros, bytesMax: 199_999) == nil)
        #expect(try Self.content(Self.zeros, bytesMax: 200_000)?.utf8.count == 200_000)
        #expect(try Self.content(Self.stored, bytesMax: 2) == nil)
        #expect(try Self.content(Self.fixedCode, bytesMax: 417) == nil)
    }

    @Test("A body that was cut, extended or changed anywhere is refused, and never read beyond its end")
    func damaged() throws {
        for text in [Self.fixedCode, Self.ownCode, Self.stored, Self.allFields] {
            let good = try Self.bytes(text)
            let content = Self.content(of: good)
            for count in 0..<good.count {
                #expect(Self.content(of: Array(good.prefix(count))) == nil)
            }
            #expect(Self.content(of: good + [0]) == nil)
            for place in good.indices {
                var bad = good
                bad[place] ^= 1 << UInt8(place % 8)
                // The fields for the time, the system and people may differ.
                let found = Self.content(of: bad)
                #expect(found == nil || found == content)
            }
        }
        #expect(Self.content(of: Array("{}".utf8)) == nil)
    }
}
