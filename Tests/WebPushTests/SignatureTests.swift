import Cryptography
import Testing

/// Verifies signatures from other implementations; Node's WebCrypto made the valid one.
@Suite("Signatures on P-256", .timeLimit(.minutes(1)))
struct SignatureTests {
    private static let message = Array(
        "1800000000000.abababababababababababababababababababababababababababababababab.ios".utf8)
    private static let signature = Fixture.bytes(
        "2ibsC5HpmrDU3Q7xAwQzNBs_chPFPZgl8OLx_hMk6TjlcV6K_uEeZ5tssJMKCqtnMJSFa1AlZy9Ka_rUJbnx1g")
    private static let x = Fixture.bytes("hGoIjewQMlTW9YQu1HzJFOdhaJHxrsLyV0wlWsnjQhg")
    private static let y = Fixture.bytes("1HFTk0RGUKmwMCg1GLpnMe_cKDHOHp7qFYLAG0ddhHM")
    private static let order = Fixture.bytes("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE")

    private func verifies(
        _ signature: [UInt8] = Self.signature, _ message: [UInt8] = Self.message,
        _ key: [UInt8] = [4] + Self.x + Self.y
    ) -> Bool { P256.verifies(signature, of: message, by: key) }

    @Test("a signature of another implementation verifies, and with any changed bit none does")
    func bits() {
        #expect(verifies())
        for bit in 0..<512 {
            var changed = Self.signature
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!verifies(changed), "bit \(bit)")
        }
        #expect(!verifies(Self.signature, Self.message + [0]))
        #expect(!verifies(Self.signature, []))
    }

    @Test("numbers out of range, other forms and lengths verify nothing")
    func forms() throws {
        let (r, s) = (Array(Self.signature[..<32]), Array(Self.signature[32...]))
        let (zero, all) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32))
        let one: [UInt8] = zero.dropLast() + [1]
        let der: [UInt8] = [0x30, 0x46, 0x02, 0x21, 0x00] + r + [0x02, 0x21, 0x00] + s
        // The DER form is correct, because r and s both begin with a set bit.
        #expect(r[0] >= 0x80 && s[0] >= 0x80)
        let wrongs: [[UInt8]] = [
            zero + s, r + zero, zero + zero, one + one, Self.order + s, r + Self.order, all + all, s + r,
            der, Array(der.dropLast(8)), r, r + s.dropLast(), r + s + [0], [], zero + r + s,
        ]
        for wrong in wrongs { #expect(!verifies(wrong), "\(wrong)") }
    }

    @Test("a key that isn't a point of the curve verifies nothing")
    func keys() {
        let (zero, all) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32))
        var off = Self.y
        off[31] ^= 1
        let wrongs: [[UInt8]] = [
            [4] + Self.x + off, [4] + Self.y + Self.x, [4] + zero + zero, [4] + all + all, [0],
            [2] + Self.x, [3] + Self.x, [6] + Self.x + Self.y, Self.x + Self.y, [4] + Self.x + Self.y + [0],
            [],
        ]
        for wrong in wrongs { #expect(!verifies(Self.signature, Self.message, wrong), "\(wrong)") }
    }

    @Test("our own signatures verify, whatever the leading zeros of r and s")
    func own() throws {
        let key = try #require(P256PrivateKey(scalar: Fixture.agentPrivate))
        let point = try #require(P256.publicKey(of: Fixture.agentPrivate))
        var short = 0
        for number in 0..<3_000 {
            let message = Array("\(number)".utf8)
            let signature = try #require(key.sign(message))
            if signature[0] == 0 || signature[32] == 0 { short += 1 }
            #expect(P256.verifies(signature, of: message, by: point))
        }
        // The probability that none of 3,000 signatures is short is less than 1 in 10,000,000,000.
        #expect(short > 0)
    }
}
