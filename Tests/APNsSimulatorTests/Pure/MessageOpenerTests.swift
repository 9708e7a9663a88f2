import APNsSimulator
import Cryptography
import JSON
import PushSealing
import Testing

@Suite("Messages of Web Push", .timeLimit(.minutes(2)))
struct MessageOpenerTests {
    private let push: WebPushFixture

    init() throws { push = try WebPushFixture() }

    private func opened(_ change: (inout [UInt8]) -> Void) -> Result<[UInt8], Undecryptable> {
        var body = push.body
        change(&body)
        return Result { () throws(Undecryptable) in
            try MessageOpener.open(body, for: push.subscription)
        }
    }

    @Test("The message of RFC 8291, appendix A, opens with its subscription")
    func vector() throws {
        #expect(push.body.count == 144)
        #expect(push.subscription.publicKey == Base64URL.decode(WebPushFixture.publicKey))
        #expect(opened { _ in } == .success(Array(WebPushFixture.text.utf8)))
    }

    @Test("Messages of the relay open, from empty to the largest", arguments: [0, 1, 2_912, 3_993])
    func sizes(count: Int) throws {
        let text = String(repeating: "x", count: count)
        let body = try WebPushFixture.encrypted(text)
        #expect(opened { $0 = body } == .success(Array(text.utf8)))
    }

    @Test("Padding is removed")
    func padding() throws {
        #expect(try sealed(Array("a\0".utf8) + [2, 0, 0, 0]) == .success(Array("a\0".utf8)))
        #expect(try sealed([1]) == .failure(.padding))
        #expect(try sealed([0, 0]) == .failure(.padding))
    }

    @Test("Each damage is recognised")
    func damage() {
        #expect(opened { $0 = [] } == .failure(.empty))
        #expect(opened { $0 += [UInt8](repeating: 0, count: 4_000) } == .failure(.tooLarge))
        #expect(opened { $0.removeLast($0.count - 21) } == .failure(.header))
        #expect(opened { $0.removeLast($0.count - 102) } == .failure(.header))
        #expect(opened { $0[20] = 64 } == .failure(.header))
        #expect(opened { ($0[18], $0[19]) = (0, 17) } == .failure(.header))
        #expect(opened { ($0[18], $0[19]) = (0, 57) } == .failure(.severalRecords))
        #expect(opened { $0[30] ^= 1 } == .failure(.senderKey))
        #expect(opened { $0[0] ^= 1 } == .failure(.notAuthentic))
        #expect(opened { $0[$0.count - 1] ^= 1 } == .failure(.notAuthentic))
    }

    @Test("A message for another subscription doesn't open")
    func otherSubscription() throws {
        let other = try WebPushSubscription([:])
        #expect(throws: Undecryptable.notAuthentic) { try MessageOpener.open(push.body, for: other) }
    }

    /// Seals a record with any delimiter and padding, using the test vector's keys, and opens it.
    private func sealed(_ record: [UInt8]) throws -> Result<[UInt8], Undecryptable> {
        let key = try #require(Base64URL.decode("oIhVW04MRdy2XN9CiKLxTg"))
        let nonce = try #require(Base64URL.decode("4h_95klXJ5E_qnoN"))
        var body = Array(push.body[..<86])
        #expect(AES128GCM.seal(record, key: key, nonce: nonce, to: &body))
        return opened { $0 = body }
    }
}
