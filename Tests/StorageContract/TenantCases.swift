import Storage
import Testing

/// More rows than any case has; reading stops at this number if a page repeats.
private let rowsMax = 100

extension Storage {
    /// Every tenant, read in pages.
    fileprivate func allTenants(limit: Int) async throws -> [Tenant] {
        var all: [Tenant] = []
        var start: String? = ""
        while let from = start, all.count < rowsMax {
            let page = try await tenants(after: from, before: "g", limit: limit)
            all += page.tenants
            start = page.next
        }
        return all
    }

    /// The whole queue, read in pages.
    fileprivate func wholeQueue(of hash: SecretHash? = nil, limit: Int) async throws -> [WaitingPush] {
        var all: [WaitingPush] = []
        while all.count < rowsMax {
            let page = try await waitingPushes(of: hash, after: all.last?.cursor, limit: limit)
            all += page
            if page.count < limit { break }
        }
        return all
    }
}

extension ContractCase {
    static let tenants: [ContractCase] = [
        ContractCase(open: "tenants have the same content whatever the size of the pages") {
            storage async throws in
            var expected: [Tenant] = []
            for number in 0..<9 {
                let key = Samples.key("secret \(number)")
                var tenant = Tenant(secretHash: key.primary)
                var devices: [Device] = []
                for index in 0..<(number % 3 + 1) {
                    let time = Samples.time + Int64(10 * number + index)
                    try await storage.register(Samples.registration("a\(index)", at: time), key)
                    tenant.deviceUpdatedAt = time
                }
                devices = try await storage.devices(of: key)
                tenant.devices = devices.count
                for _ in 0..<(number % 4) {
                    _ = try await storage.enqueue(
                        [Samples.pending(devices[0])], lease: nil, limitPerSecret: 9)
                }
                tenant.waiting = number % 4
                if number.isMultiple(of: 2) {
                    try await storage.append([Samples.delivery(key), Samples.delivery(key)])
                    tenant.deliveredAt = Samples.time
                }
                expected.append(tenant)
            }
            expected.sort { $0.secretHash.hex < $1.secretHash.hex }
            for limit in [1, 2, 3, 100] {
                #expect(try await storage.allTenants(limit: limit) == expected, "pages of \(limit)")
            }
            let share = Census.bounds(ofShare: 0xFF)
            let last = try await storage.tenants(after: share.from, before: share.before, limit: 100)
            #expect(last.tenants == expected.filter { $0.secretHash.hex.hasPrefix("ff") })
        },

        ContractCase(open: "a tenant is last used by the later of a registration and a delivery") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa", at: Samples.time + 5), key)
            #expect(try await storage.allTenants(limit: 9).first?.lastUsed == Samples.time + 5)
            let delivery = Delivery(
                id: Samples.id().text, secretHash: key.primary, eventType: "complete", sessionID: "s",
                status: .sent, error: nil, createdAt: Samples.time + 7)
            try await storage.append([Samples.delivery(key), delivery])
            #expect(try await storage.allTenants(limit: 9).first?.lastUsed == Samples.time + 7)
        },

        ContractCase(open: "the queue is listed by due time, of all secrets or of one, in pages") {
            storage async throws in
            var pushes: [WaitingPush] = []
            for number in 0..<12 {
                let device = try await storage.registered("aa", Samples.key("secret \(number % 3)"))
                // Some pushes are due at the same moment.
                let push = Samples.pending(device, dueAt: Samples.time + Int64(number / 4))
                _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 9)
                pushes.append(
                    WaitingPush(
                        secretHash: push.secretHash, id: push.id, deviceID: push.deviceID,
                        eventType: push.eventType, attempts: push.attempts, dueAt: push.dueAt,
                        isLeased: false, createdAt: push.createdAt, expiresAt: push.expiresAt))
            }
            pushes.sort { ($0.dueAt, $0.secretHash.hex, $0.id) < ($1.dueAt, $1.secretHash.hex, $1.id) }
            let one = pushes[0].secretHash
            for limit in [1, 5, 100] {
                #expect(try await storage.wholeQueue(limit: limit) == pushes, "pages of \(limit)")
                #expect(
                    try await storage.wholeQueue(of: one, limit: limit)
                        == pushes.filter { $0.secretHash == one })
            }
            let lease = Samples.lease()
            _ = try await storage.claimPushes(
                dueAt: Samples.time + 9, lease: lease, limit: 1, scope: .everySecret)
            let held = try await storage.wholeQueue(limit: 5).filter(\.isLeased)
            #expect(held.map(\.dueAt) == [lease.until])
        },

        ContractCase(open: "hashes are found by their beginning, in every table") { storage async throws in
            let keys = (0..<4).map { Samples.key("secret \($0)") }
            let device = try await storage.registered("aa", keys[0])
            _ = try await storage.enqueue([Samples.pending(device)], lease: nil, limitPerSecret: 9)
            #expect(try await storage.claim(Samples.claim("event", under: keys[1])) == .claimed)
            try await storage.append([Samples.delivery(keys[2]), Samples.delivery(keys[2])])
            _ = try await storage.block(Samples.blocked(keys[3]), limit: 9)
            for key in keys {
                for count in [SecretHashPrefix.countMin, 12, 64] {
                    let prefix = try #require(SecretHashPrefix(String(key.primary.hex.prefix(count))))
                    let found = try await storage.hashes(
                        beginningWith: prefix, in: .everyTable, limit: 9)
                    #expect(found == [key.primary])
                    let blocked = try await storage.hashes(beginningWith: prefix, in: .blocked, limit: 9)
                    #expect(blocked == (key == keys[3] ? [key.primary] : []))
                }
            }
        },

        ContractCase(open: "hashes with the same beginning are all found in order, up to the limit") {
            storage async throws in
            let zeros = String(repeating: "0", count: 52)
            let ends = ["0a9f9f9f9000", "0a9f9f9fa000", "0a9f9f9ff000", "0a9f9f9ffff0"]
            // Neighbours on both sides that don't have the prefix.
            for end in ends + ["0a9f9f9e0000", "0a9f9fa00000"] {
                let hash = try #require(SecretHash(hex: end + zeros))
                _ = try await storage.registered("aa", SecretKey(primary: hash))
                _ = try await storage.registered("bb", SecretKey(primary: hash))
            }
            let prefix = try #require(SecretHashPrefix("0a9f9f9f"))
            let all = try await storage.hashes(beginningWith: prefix, in: .everyTable, limit: 9)
            #expect(all.map { String($0.hex.prefix(12)) } == ends)
            let some = try await storage.hashes(beginningWith: prefix, in: .everyTable, limit: 2)
            #expect(some == Array(all.prefix(2)))
            let last = try #require(SecretHashPrefix("0a9f9f9ff"))
            #expect(
                try await storage.hashes(beginningWith: last, in: .everyTable, limit: 9)
                    == Array(all.suffix(2)))
        },
    ]
}
