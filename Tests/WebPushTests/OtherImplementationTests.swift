import Cryptography
import Foundation
import HTTP2Testing
import JSON
import Testing

@testable import WebPush

/// Needs Python packages, which `Tests/WebPush/run` installs.
@Suite(
    "Other implementations", .timeLimit(.minutes(2)),
    .enabled(if: ProcessInfo.processInfo.environment["RELAY_TEST_HTTP_ECE"] != nil))
struct OtherImplementationTests {
    @Test("http_ece opens our messages; py_vapid verifies our tokens and reads our keys")
    func python() async throws {
        let texts = [
            [], Array("hello".utf8), [UInt8](repeating: 0xFE, count: MessageEncryption.plaintextBytesMax),
        ]
        let keys = try Fixture.keys()
        let bodies = try (0..<20).map { try MessageEncryption.encrypt(texts[$0 % texts.count], for: keys) }
        let key = VAPIDKey()
        let token = try VAPIDToken(
            origin: "https://push.example:8443", subject: VAPIDSubject("mailto:push@example.com"), key: key,
            now: 1_800_000_000)
        var given = JSON.Writer(capacity: 200_000)
        given.beginObject()
        given.member("privateKey", Base64.urlText(Fixture.agentPrivate))
        given.member("auth", Fixture.auth)
        given.name("bodies")
        given.beginArray()
        for body in bodies { given.string(Base64.urlText(body)) }
        given.endArray()
        given.member("authorization", token.authorization)
        given.member("vapidKey", key.privateKeyText)
        given.endObject()
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../WebPush/open.py").standardizedFileURL.path
        let ran = try await ExternalProgram.python.run([
            script, String(decoding: given.finish(), as: UTF8.self),
        ])
        try #require(ran.status == 0, "\(ran.output)")
        let read = try JSON.parse(Array(ran.output.utf8), maxBytes: 1 << 20)
        let opened = try #require(read["texts"]?.array).map { Fixture.bytes($0.string ?? "?") }
        #expect(opened == (0..<20).map { texts[$0 % texts.count] })
        #expect(read["isValid"]?.bool == true)
        #expect(read["claims"]?["aud"]?.string == "https://push.example:8443")
        #expect(read["claims"]?["exp"]?.int == 1_800_043_200)
        #expect(read["claims"]?["sub"]?.string == "mailto:push@example.com")
        #expect(read["publicKey"]?.string == key.publicKeyText)
    }
}
