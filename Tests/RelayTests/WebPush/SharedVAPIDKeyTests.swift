import Network
import Storage
import Testing
import WebPush

@testable import Relay

@Suite("The VAPID key in the database", .timeLimit(.minutes(2)))
struct SharedVAPIDKeyTests {
    private let storage = FakeStorage()

    private func hasher(_ pepper: String?, other: String? = nil) throws -> SecretHasher {
        func secret(_ text: String?) -> Secret? { text.map { Secret(String(repeating: $0, count: 32)) } }
        return try #require(SecretHasher(pepper: secret(pepper), other: secret(other)))
    }

    private func load(_ hasher: SecretHasher) async throws -> String? {
        try await SharedVAPIDKey(in: storage, hasher).load(at: 0)?.keyID
    }

    @Test("All relays get the first one's key")
    func shared() async throws {
        let first = try #require(try await load(SecretHasher()))
        #expect(try await load(SecretHasher()) == first)
    }

    @Test("A pepper encrypts it")
    func encrypted() async throws {
        let first = try #require(try await load(hasher("a")))
        #expect(try await load(hasher("a")) == first)
        let text = storage.state.withLock { $0.relayKeys.values.joined() }
        #expect(text.hasPrefix("sealed "))
        // Not the stored key: without the pepper, nothing shows that one is stored.
        #expect(try await load(SecretHasher()) != first)
    }

    @Test("It stays when a pepper is set or changed")
    func changed() async throws {
        let first = try #require(try await load(SecretHasher()))
        func forgetOldest() { storage.state.withLock { $0.relayKeys[oldest] = nil } }
        var oldest = "webpush plain"
        #expect(try await load(hasher("a")) == first)
        forgetOldest()
        oldest = try #require(storage.state.withLock { $0.relayKeys.keys.first })
        #expect(try await load(hasher("b", other: "a")) == first)
        forgetOldest()
        #expect(try await load(hasher("b")) == first)
    }

    @Test("A damaged key is not replaced")
    func damaged() async throws {
        _ = try await load(hasher("a"))
        storage.state.withLock { state in
            for name in state.relayKeys.keys { state.relayKeys[name] = "sealed AAAAAAAAAAAAAAAA AAAA" }
        }
        #expect(try await load(hasher("a")) == nil)
    }
}
