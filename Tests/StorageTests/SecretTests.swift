import Storage
import Testing

@Suite("Secrets and their hashes", .timeLimit(.minutes(2)))
struct SecretTests {
    private struct Holder {
        let name = "holder"
        let secret: Secret
    }

    @Test("a secret shows itself in no way that values are described")
    func neverPrinted() {
        let text = "correct horse battery staple"
        let secret = Secret(text)
        let holder = Holder(secret: secret)
        var dumped = ""
        dump(secret, to: &dumped)
        dump(holder, to: &dumped)
        dump([secret], to: &dumped)
        let bytes = Array(text.utf8)
        let shown = [
            "\(secret)", "\(holder)", "\([secret])", "\(Optional(secret) as Any)", String(describing: secret),
            String(reflecting: secret), String(reflecting: holder), secret.description,
            secret.debugDescription, dumped, "\(Mirror(reflecting: secret).children.map { $0 })",
        ]
        for output in shown {
            #expect(!output.contains("horse"))
            #expect(!output.contains("\(bytes[0]), \(bytes[1])"))
        }
        #expect(Mirror(reflecting: secret).children.isEmpty)
        #expect(dumped.contains("<secret>"))
    }

    @Test("hashes are in the order of their texts")
    func order() {
        let hashes = (0..<100).map { SecretHash(Digest256(of: [$0])) }
        #expect(hashes.sorted().map(\.hex) == hashes.map(\.hex).sorted())
        let pairs = zip("0000000000000000", "fedcba9876543210")
        for position in 0..<Digest256.hexCount {
            let texts = pairs.map { low, high in
                let zeros = String(repeating: "0", count: Digest256.hexCount - 1 - position)
                return [low, high].map { String(repeating: "7", count: position) + String($0) + zeros }
            }
            for text in texts {
                let (low, high) = (SecretHash(hex: text[0]), SecretHash(hex: text[1]))
                #expect(low.flatMap { low in high.map { low < $0 } } == (text[0] < text[1]))
            }
        }
    }

    @Test("secrets are equal when all their bytes are")
    func equality() {
        #expect(Secret("abc") == Secret([0x61, 0x62, 0x63]))
        #expect(Secret("abc") != Secret("abd"))
        #expect(Secret("abc") != Secret("abcd"))
        #expect(Secret("") == Secret([]))
        #expect(Secret("é") != Secret("e\u{301}"))
    }

    @Test("a digest is SHA-256 (FIPS 180-4)")
    func sha256() {
        #expect(
            Digest256(of: []).hex == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            Digest256(of: Array("abc".utf8)).hex
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test("a keyed digest is HMAC-SHA-256 (RFC 4231, test cases 1 and 6)")
    func hmac() {
        let first = Digest256(
            of: Array("Hi There".utf8), authenticatedBy: [UInt8](repeating: 0x0b, count: 20))
        #expect(first.hex == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        let sixth = Digest256(
            of: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            authenticatedBy: [UInt8](repeating: 0xaa, count: 131))
        #expect(sixth.hex == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    @Test("a digest and its text stand for each other")
    func hexadecimal() {
        let text = "0123456789abcdef00112233445566778899aabbccddeefffedcba9876543210"
        #expect(Digest256(hex: text.utf8)?.hex == text)
        #expect(Digest256(hex: text.uppercased().utf8) == nil)
        #expect(Digest256(hex: text.dropLast().utf8) == nil)
        #expect(Digest256(hex: (text + "0").utf8) == nil)
        #expect(Digest256(hex: (text.dropLast() + "g").utf8) == nil)
        #expect(Digest256(hex: "".utf8) == nil)
    }

    @Test("a secret's hash shows its first 12 characters only")
    func prefix() throws {
        let hash = SecretHasher().key(of: Secret("abc")).primary
        #expect(hash.hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect("\(hash)" == "ba7816bf8f01…")
        #expect(hash.prefix == "ba7816bf8f01")
        #expect(SecretHash(hex: hash.hex) == hash)
        #expect(SecretHash(hex: hash.prefix) == nil)
    }

    @Test("without a pepper a key is the plain hash alone")
    func plain() {
        let key = SecretHasher().key(of: Secret("abc"))
        #expect(key.primary.digest == Digest256(of: Array("abc".utf8)))
        #expect(key.legacy.isEmpty)
    }

    @Test("with a pepper a key is the keyed hash, and the plain one for older rows")
    func peppered() throws {
        let pepper = Secret([UInt8](0..<32))
        let key = try #require(SecretHasher(pepper: pepper)).key(of: Secret("abc"))
        #expect(
            key.primary.digest == Digest256(of: Array("abc".utf8), authenticatedBy: pepper.bytes))
        #expect(key.legacy == [SecretHasher().key(of: Secret("abc")).primary])
        #expect(!key.legacy.contains(key.primary))
    }

    @Test("with a second pepper a key has its hash too, and the two peppers of a rotation find the same rows")
    func otherPepper() throws {
        let secret = Secret("abc")
        let (old, new) = (Secret([UInt8](0..<32)), Secret([UInt8](32..<64)))
        func key(_ pepper: Secret?, _ other: Secret? = nil) throws -> SecretKey {
            try #require(SecretHasher(pepper: pepper, other: other)).key(of: secret)
        }
        let plain = SecretHasher().key(of: secret).primary
        let (before, after) = try (key(old, new), key(new, old))
        #expect(try before.hashes == [key(old).primary, key(new).primary, plain])
        #expect(try after.hashes == [key(new).primary, key(old).primary, plain])
        #expect(Set(before.hashesPadded) == Set(after.hashesPadded))
        // A pepper that is given up, and a pepper that is set twice.
        #expect(try key(nil, old).hashes == [plain, key(old).primary])
        #expect(try key(old, old) == key(old))
        #expect(
            try [key(old), key(old, new)].allSatisfy { $0.hashesPadded.count == SecretKey.legacyMax + 1 })
        #expect(SecretHasher(pepper: old, other: Secret("short")) == nil)
    }

    @Test("a pepper of fewer than 32 bytes is refused")
    func shortPepper() {
        #expect(SecretHasher(pepper: Secret([UInt8](repeating: 1, count: 31))) == nil)
        #expect(SecretHasher(pepper: Secret([UInt8](repeating: 1, count: 32))) != nil)
    }
}
