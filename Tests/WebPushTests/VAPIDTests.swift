import COpenSSL
import Cryptography
import JSON
import Network
import Testing

@testable import WebPush

@Suite("VAPID", .timeLimit(.minutes(1)))
struct VAPIDTests {
    private static func error(_ text: String) -> VAPIDKeyError? {
        do throws(VAPIDKeyError) {
            _ = try VAPIDKey(text)
            return nil
        } catch { return error }
    }

    @Test("the example of RFC 8292, section 2.4: its signature verifies, and our token has its claims")
    func example() throws {
        let input =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1Mj"
            + "M3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0"
        let signature =
            "i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
        let publicKey =
            "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        #expect(
            Fixture.verifies(
                Fixture.bytes(signature), of: Array(input.utf8), publicKey: Fixture.bytes(publicKey)))
        let key = VAPIDKey()
        let token = try VAPIDToken(
            origin: "https://push.example.net", subject: VAPIDSubject("mailto:push@example.com"), key: key,
            now: 1_453_523_768 - VAPIDToken.lifetime)
        let ours = try #require(token.authorization.split(separator: ",").first).dropFirst("vapid t=".count)
        #expect(ours.hasPrefix(input + "."))
        #expect(
            Fixture.verifies(
                Fixture.bytes(String(ours.dropFirst(input.count + 1))), of: Array(input.utf8),
                publicKey: key.publicKey))
        #expect(token.authorization.hasSuffix(", k=\(key.publicKeyText)"))
    }

    @Test("a key is the same after being stored, and in every form")
    func forms() throws {
        let key = VAPIDKey()
        #expect(key.publicKey.count == 65)
        #expect(key.publicKeyText.count == 87)
        #expect(key.keyID.count == 16)
        let stored = try VAPIDKey(key.privateKeyText)
        #expect(stored.publicKey == key.publicKey)
        #expect(stored.keyID == key.keyID)
        let pem = String(decoding: try SelfSignedCertificate().privateKey, as: UTF8.self)
        let read = try VAPIDKey(pem)
        #expect(try VAPIDKey(read.privateKeyText).publicKey == read.publicKey)
        #expect(try VAPIDKey(pem.split(separator: "\n").joined(separator: "\\n")).publicKey == read.publicKey)
        let known = try VAPIDKey(Base64.urlText(Fixture.senderPrivate))
        #expect(known.publicKeyText == Fixture.senderPublic)
        #expect(VAPIDKey().keyID != key.keyID)
    }

    @Test("a text that isn't a key is refused, and the refusal shows nothing of it")
    func badKeys() throws {
        #expect(Self.error("") == .format)
        #expect(Self.error("hunter2") == .format)
        #expect(Self.error(Base64.urlText([UInt8](repeating: 0, count: 32))) == .outOfRange)
        #expect(Self.error(Base64.urlText([UInt8](repeating: 0xFF, count: 32))) == .outOfRange)
        #expect(
            Self.error("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") == .notPrivateKey)
        #expect(Self.error("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n") == .unreadable)
        #expect(Set(VAPIDKeyError.allCases.map(\.description)).count == VAPIDKeyError.allCases.count)
    }

    @Test("keys and tokens don't print their secrets")
    func secrecy() throws {
        let key = VAPIDKey()
        let token = try VAPIDToken(
            origin: "https://a.example", subject: VAPIDSubject("mailto:a@example.com"), key: key, now: 0)
        var text = "\(key) \(String(reflecting: key)) \(token) \(String(reflecting: token))"
        dump(key, to: &text)
        dump(token, to: &text)
        #expect(text.contains(key.keyID))
        #expect(!text.contains(key.privateKeyText))
        #expect(!text.contains("eyJ"))
    }

    @Test(
        "subjects that Apple refuses are refused",
        arguments: [
            ("push@example.com", .scheme), ("MAILTO:push@example.com", .scheme),
            ("http://example.com", .scheme),
            ("", .scheme), ("mailto:<push@example.com>", .characters),
            ("mailto: push@example.com", .characters),
            ("mailto:push@example.com ", .characters), ("mailto:püsh@example.com", .characters),
            ("mailto:example.com", .mailAddress), ("mailto:@example.com", .mailAddress),
            ("mailto:a@example.com@example.com", .mailAddress), ("mailto:push@localhost", .domain),
            ("mailto:push@relay.invalid", .domain), ("mailto:push@relay.localhost", .domain),
            ("mailto:push@printer.local", .domain), ("mailto:push@", .domain), ("https://localhost", .domain),
            ("https://localhost:8443/", .domain), ("https://127.0.0.1/", .domain), ("https://", .domain),
            ("mailto:push@example.com,b.example", .domain),
        ] as [(String, VAPIDSubjectError)])
    func badSubjects(_ text: String, _ expected: VAPIDSubjectError) {
        #expect(throws: expected) { try VAPIDSubject(text) }
    }

    @Test("mail addresses and pages are subjects")
    func subjects() throws {
        for text in [
            "mailto:push@example.com", "mailto:a.b+c@mail.example.co.uk", "https://example.com",
            "https://example.com/contact?x=1", "https://example.com:8443/",
        ] {
            #expect(try VAPIDSubject(text).text == text)
        }
    }
}

@Suite("VAPID tokens that are kept", .timeLimit(.minutes(1)))
struct VAPIDTokenSourceTests {
    private static let hour: Int64 = 3_600

    private static func source() throws -> VAPIDTokenSource {
        VAPIDTokenSource(subject: try VAPIDSubject("mailto:push@example.com"))
    }

    @Test("a token serves one key and origin until half of its life is over")
    func reuse() throws {
        let (source, key, other) = (try Self.source(), VAPIDKey(), VAPIDKey())
        let start: Int64 = 1_800_000_000
        func token(_ origin: String, _ key: VAPIDKey, after hours: Int64) throws -> String {
            try source.authorization(for: origin, key: key, at: start + hours * Self.hour)
        }
        let first = try token("https://a.example", key, after: 0)
        #expect(try token("https://a.example", key, after: 6) == first)
        #expect(try token("https://b.example", key, after: 0) != first)
        #expect(try token("https://a.example", other, after: 0) != first)
        #expect(source.count == 3)
        #expect(
            try source.authorization(for: "https://a.example", key: key, at: start + 6 * Self.hour + 1)
                != first)
    }

    @Test("a token signed while the clock was ahead is replaced")
    func clock() throws {
        let (source, key) = (try Self.source(), VAPIDKey())
        let wrong = try source.authorization(for: "https://a.example", key: key, at: 1_800_000_000)
        let right = try source.authorization(for: "https://a.example", key: key, at: 1_799_000_000)
        #expect(right != wrong)
        #expect(try source.authorization(for: "https://a.example", key: key, at: 1_799_000_000) == right)
    }

    @Test("the number of kept tokens is bounded, and the newest stay")
    func bound() throws {
        let (source, key) = (try Self.source(), VAPIDKey())
        var last = ""
        for number in 0..<(VAPIDTokenSource.keptMax + 10) {
            last = try source.authorization(
                for: "https://\(number).example", key: key, at: 1_800_000_000 + Int64(number))
            #expect(source.count <= VAPIDTokenSource.keptMax)
        }
        let number = VAPIDTokenSource.keptMax + 9
        #expect(
            try source.authorization(for: "https://\(number).example", key: key, at: 1_800_000_600) == last)
    }
}
