import Storage
import Testing

extension ContractCase {
    static let blocks: [ContractCase] = [
        ContractCase(open: "a secret is blocked once and listed until it is unblocked") {
            storage async throws in
            let first = BlockedSecret(
                secretHash: Samples.key("secret").primary, createdAt: Samples.time, note: "spam 🦊")
            let second = Samples.blocked(Samples.key("Secret"))
            for secret in [first, second] { #expect(try await storage.block(secret, limit: 9) == .blocked) }
            let later = BlockedSecret(
                secretHash: first.secretHash, createdAt: Samples.time + 9, note: "other")
            #expect(try await storage.block(later, limit: 9) == .alreadyBlocked(first))
            let inOrder = [first, second].sorted { $0.secretHash.hex < $1.secretHash.hex }
            #expect(try await storage.blockedSecrets(limit: 9) == inOrder)
            #expect(try await storage.blockedSecrets(limit: 1) == [inOrder[0]])
            #expect(try await storage.unblock(first.secretHash))
            #expect(try await !storage.unblock(first.secretHash))
            #expect(try await storage.blockedSecrets(limit: 9) == [second])
            #expect(try await storage.block(later, limit: 9) == .blocked)
        },

        ContractCase("a block survives closing and opening the storage") { database async throws in
            let first = try await database.open()
            let secret = Samples.blocked(Samples.key("secret"), note: "why")
            #expect(try await first.block(secret, limit: 9) == .blocked)
            await first.close()
            let second = try await database.openReadOnly()
            #expect(try await second.blockedSecrets(limit: 9) == [secret])
            await second.close()
        },

        ContractCase(open: "concurrent callers can't exceed the limit of blocked secrets") {
            storage async throws in
            let results = try await concurrently(8) { number in
                try await storage.block(Samples.blocked(Samples.key("secret \(number)")), limit: 3)
            }
            #expect(results.count { $0 == .blocked } == 3)
            #expect(results.count { $0 == .limitReached } == 5)
            #expect(try await storage.blockedSecrets(limit: 9).count == 3)
        },

        ContractCase(open: "a note that is too long or has a NUL is refused") { storage async throws in
            for note in [String(repeating: "é", count: 128), "a\0b"] {
                await #expect(throws: StorageError.invalidValue(field: "note")) {
                    try await storage.block(Samples.blocked(Samples.key("secret"), note: note), limit: 9)
                }
            }
            let longest = Samples.blocked(Samples.key("secret"), note: String(repeating: "x", count: 255))
            #expect(try await storage.block(longest, limit: 9) == .blocked)
            #expect(try await storage.blockedSecrets(limit: 9) == [longest])
        },

        ContractCase(open: "a block moves with its secret to the peppered hash, also without devices") {
            storage async throws in
            let old = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [1])), legacy: [old.primary])
            #expect(try await storage.block(Samples.blocked(old, note: "why"), limit: 9) == .blocked)
            #expect(try await storage.rehash(key))
            let moved = BlockedSecret(secretHash: key.primary, createdAt: Samples.time, note: "why")
            #expect(try await storage.blockedSecrets(limit: 9) == [moved])
            #expect(try await !storage.rehash(key))
            // A secret blocked under both hashes stays as it is under the primary hash.
            #expect(try await storage.block(Samples.blocked(old, note: "again"), limit: 9) == .blocked)
            #expect(try await storage.rehash(key))
            #expect(try await storage.blockedSecrets(limit: 9) == [moved])
        },
    ]
}
