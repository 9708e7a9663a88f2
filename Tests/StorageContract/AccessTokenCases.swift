import Storage
import Testing

extension ContractCase {
    static let accessTokens: [ContractCase] = [
        ContractCase(open: "a token leads to its secret's rows and is listed under the secret only") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let first = Samples.accessToken(key, name: "CI é🦊 ", scope: .read, expiresAt: Samples.time + 5)
            let second = Samples.accessToken(key, at: Samples.time + 1)
            for token in [second, first] {
                #expect(try await storage.create(token, under: key, limit: 2) == .created)
            }
            for token in [first, second] {
                #expect(try await storage.accessToken(token.digest) == token)
            }
            #expect(try await storage.accessTokens(of: key, limit: 9) == [first, second])
            #expect(try await storage.accessTokens(of: key, limit: 1) == [first])
            #expect(try await storage.accessTokens(of: Samples.key("Secret"), limit: 9) == [])
            #expect(try await storage.accessToken(Digest256(of: [1])) == nil)
            #expect(first.isValid(at: Samples.time + 4) && !first.isValid(at: Samples.time + 5))
        },

        ContractCase(open: "a token is refused over the limit, without a device, and with a bad name") {
            storage async throws in
            let key = Samples.key("secret")
            let token = Samples.accessToken(key)
            #expect(try await storage.create(token, under: key, limit: 1) == .noDevices)
            #expect(try await storage.accessToken(token.digest) == nil)
            try await storage.register(Samples.registration("aa"), key)
            #expect(try await storage.create(token, under: key, limit: 1) == .created)
            let other = Samples.accessToken(key)
            #expect(try await storage.create(other, under: key, limit: 1) == .limitReached)
            #expect(try await storage.accessToken(other.digest) == nil)
            for name in ["a\0", String(repeating: "a", count: 129)] {
                await #expect(throws: StorageError.invalidValue(field: "name")) {
                    try await storage.create(Samples.accessToken(key, name: name), under: key, limit: 9)
                }
            }
        },

        ContractCase(open: "a revoked token admits nobody, and other secrets can't revoke it") {
            storage async throws in
            let keys = ["secret", "Secret"].map(Samples.key)
            for key in keys { try await storage.register(Samples.registration("aa"), key) }
            let tokens = [Samples.accessToken(keys[0]), Samples.accessToken(keys[0])]
            for token in tokens { _ = try await storage.create(token, under: keys[0], limit: 9) }
            #expect(try await storage.revokeAccessToken(tokens[0].id, of: keys[1]) == false)
            #expect(try await storage.accessToken(tokens[0].digest) == tokens[0])
            #expect(try await storage.revokeAccessToken(tokens[0].id, of: keys[0]))
            #expect(try await storage.revokeAccessToken(tokens[0].id, of: keys[0]) == false)
            #expect(try await storage.accessToken(tokens[0].digest) == nil)
            #expect(try await storage.accessTokens(of: keys[0], limit: 9) == [tokens[1]])
            #expect(try await storage.accessToken(tokens[1].digest) == tokens[1])
        },

        ContractCase(open: "a token's last use is in the list and in the look-up") { storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let tokens = [Samples.accessToken(key), Samples.accessToken(key, at: Samples.time + 1)]
            for token in tokens { _ = try await storage.create(token, under: key, limit: 9) }
            try await storage.noteUse(of: tokens[0], at: Samples.time + 7)
            let listed = try await storage.accessTokens(of: key, limit: 9)
            #expect(listed.map(\.usedAt) == [Samples.time + 7, nil])
            #expect(try await storage.accessToken(tokens[0].digest) == listed[0])
        },

        ContractCase("tokens are removed with the last device, by revoking the secret, and when they expire")
        {
            database async throws in
            let storage = try await database.open()
            let keys = ["left", "revoked", "old"].map(Samples.key)
            var tokens: [AccessToken] = []
            for (index, key) in keys.enumerated() {
                try await storage.register(Samples.registration("aa"), key)
                tokens.append(
                    Samples.accessToken(key, expiresAt: index == 2 ? Samples.time + 5 : nil))
                _ = try await storage.create(tokens[index], under: key, limit: 9)
                #expect(try await database.count(of: "access_token") == 2 * index + 2)
            }
            _ = try await storage.unregister(token: "aa", under: keys[0], at: Samples.time)
            #expect(try await storage.accessToken(tokens[0].digest) == nil)
            let all = Holdings(devices: 1, accessTokens: 1)
            #expect(try await storage.holdings(of: keys[1]) == all)
            #expect(try await storage.revoke(keys[1], limit: 10) == all)
            #expect(try await storage.accessToken(tokens[1].digest) == nil)
            #expect(try await storage.prune(.accessTokens, before: Samples.time + 5, limit: 10) == 0)
            #expect(try await storage.accessToken(tokens[2].digest) != nil)
            #expect(try await storage.prune(.accessTokens, before: Samples.time + 6, limit: 10) == 2)
            #expect(try await database.count(of: "access_token") == 0)
            await storage.close()
        },

        ContractCase(open: "a token without devices follows a change of the pepper, too") {
            storage async throws in
            let hashes = (0..<2).map { SecretHash(Digest256(of: [UInt8($0)])) }
            let old = SecretKey(primary: hashes[0])
            try await storage.register(Samples.registration("aa"), old)
            let token = Samples.accessToken(old)
            _ = try await storage.create(token, under: old, limit: 9)
            let device = try #require(try await storage.devices(of: old).first)
            // A push service reported the device as gone; its owner didn't unregister it.
            #expect(try await storage.remove(device, ifNotUpdatedAfter: device.updatedAt))
            #expect(try await storage.accessToken(token.digest) == token)
            let key = SecretKey(primary: hashes[1], legacy: [hashes[0]])
            #expect(try await storage.rehash(key))
            #expect(try await storage.accessToken(token.digest)?.secretHash == hashes[1])
            #expect(try await storage.revokeAccessToken(token.id, of: SecretKey(primary: hashes[1])))
        },

        ContractCase(open: "a token leads to its secret's new hash after every change of the pepper") {
            storage async throws in
            let hashes = (0..<3).map { SecretHash(Digest256(of: [UInt8($0)])) }
            var key = SecretKey(primary: hashes[0])
            try await storage.register(Samples.registration("aa"), key)
            let token = Samples.accessToken(key)
            _ = try await storage.create(token, under: key, limit: 9)
            for index in 1..<3 {
                key = SecretKey(primary: hashes[index], legacy: [hashes[index - 1]])
                #expect(try await storage.accessTokens(of: key, limit: 9).map(\.id) == [token.id])
                #expect(try await storage.rehash(key))
                #expect(try await storage.accessToken(token.digest)?.secretHash == hashes[index])
            }
            let last = SecretKey(primary: hashes[2])
            let added = Samples.accessToken(last, at: Samples.time + 1)
            // Stored immediately under the new hash.
            let next = SecretKey(primary: SecretHash(Digest256(of: [9])), legacy: [hashes[2]])
            #expect(try await storage.create(added, under: next, limit: 9) == .created)
            #expect(try await storage.accessToken(added.digest)?.secretHash == next.primary)
            #expect(try await storage.accessToken(token.digest)?.secretHash == next.primary)
            #expect(try await storage.revokeAccessToken(token.id, of: next))
            #expect(try await storage.accessToken(token.digest) == nil)
        },
    ]
}
