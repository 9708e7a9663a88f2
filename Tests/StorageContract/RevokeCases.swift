import Storage
import Testing

extension ContractCase {
    static let revocation: [ContractCase] = [
        ContractCase(
            open: "a revoked secret has no devices, pushes or receipts, and other secrets keep theirs"
        ) {
            storage async throws in
            let key = Samples.key("secret")
            let other = Samples.key("Secret")
            for key in [key, other] {
                for token in ["aa", "bb"] {
                    let device = try await storage.registered(token, key)
                    _ = try await storage.enqueue(
                        [Samples.pending(device)], lease: nil, limitPerSecret: 9)
                }
                #expect(try await storage.claim(Samples.claim("event", under: key)) == .claimed)
                try await storage.append([Samples.delivery(key)])
            }
            let whole = Holdings(devices: 2, pushes: 2, receipts: 1)
            #expect(try await storage.holdings(of: key) == whole)
            #expect(try await storage.revoke(key, limit: 100) == whole)
            #expect(try await storage.holdings(of: key).isEmpty)
            #expect(try await storage.devices(of: key) == [])
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .claimed)
            #expect(try await storage.holdings(of: other) == whole)
            #expect(try await storage.devices(of: other).count == 2)
            // The delivery log is kept.
            #expect(try await storage.deliveries(of: key, before: nil, limit: 9).count == 1)
        },

        ContractCase(open: "revoking works in steps, and again if nothing is left") {
            storage async throws in
            let key = Samples.key("secret")
            for number in 0..<5 { try await storage.register(Samples.registration("a\(number)"), key) }
            let counts = [2, 2, 1, 0, 0]
            for count in counts {
                #expect(try await storage.revoke(key, limit: 2) == Holdings(devices: count))
            }
            #expect(try await storage.register(Samples.registration("a0"), key) == .created)
        },

        ContractCase(open: "revoking reaches a secret's rows under every hash") { storage async throws in
            let plain = Samples.key("secret")
            let old = SecretKey(primary: SecretHash(Digest256(of: [1])))
            let key = SecretKey(
                primary: SecretHash(Digest256(of: [2])), legacy: [old.primary, plain.primary])
            for (index, key) in [plain, old, SecretKey(primary: key.primary)].enumerated() {
                let device = try await storage.registered("a\(index)", key)
                _ = try await storage.enqueue([Samples.pending(device)], lease: nil, limitPerSecret: 9)
                #expect(try await storage.claim(Samples.claim("event", under: key)) == .claimed)
            }
            #expect(try await storage.holdings(of: key) == Holdings(devices: 3, pushes: 3, receipts: 3))
            #expect(
                try await storage.revoke(key, limit: 100) == Holdings(devices: 3, pushes: 3, receipts: 3))
            for key in [plain, old, key] { #expect(try await storage.devices(of: key) == []) }
        },

        ContractCase(open: "a push in flight when its secret was revoked is no longer leased") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let push = Samples.pending(device)
            let lease = Samples.lease()
            _ = try await storage.enqueue([push], lease: lease, limitPerSecret: 9)
            _ = try await storage.revoke(key, limit: 100)
            #expect(try await storage.settle([Samples.over(push, lease.owner)]) == [false])
            #expect(try await storage.enqueue([push], lease: nil, limitPerSecret: 9) == [.deviceGone])
        },
    ]

    static let tallies: [ContractCase] = [
        ContractCase(open: "a tally counts pushes that ended in a period, by result") {
            storage async throws in
            let key = Samples.key("secret")
            let other = Samples.key("other")
            let start = Samples.time
            func rows(_ key: SecretKey, _ error: String?, _ offset: Int64, _ count: Int) -> [Delivery] {
                (0..<count).map { _ in
                    Samples.delivery(
                        key, status: error == nil ? .sent : .failed, error: error, at: start + offset)
                }
            }
            try await storage.append(
                rows(key, nil, -1, 1) + rows(key, nil, 0, 3) + rows(key, "BadTopic", 0, 2)
                    + rows(key, "Expired", 5, 1) + rows(other, "BadTopic", 5, 1) + rows(key, nil, 10, 1))
            let all = try await storage.tally(of: nil, from: start, before: start + 10, limit: 100)
            #expect(
                all
                    == DeliveryTally(
                        events: 3, sent: 3, failed: ["BadTopic": 3, "Expired": 1], end: start + 10))
            let one = try await storage.tally(
                of: key.primary, from: start, before: start + 10, limit: 100)
            #expect(
                one
                    == DeliveryTally(
                        events: 2, sent: 3, failed: ["BadTopic": 2, "Expired": 1], end: start + 10))
            let none = try await storage.tally(
                of: nil, from: start + 20, before: start + 30, limit: 100)
            #expect(none == DeliveryTally(end: start + 30))
        },

        ContractCase(open: "a tally in steps counts every row once, and never more than asked for at once") {
            storage async throws in
            let key = Samples.key("secret")
            let start = Samples.time
            // Three rows at each of twenty moments.
            for moment in 0..<Int64(20) {
                try await storage.append((0..<3).map { _ in Samples.delivery(key, at: start + 7 * moment) })
            }
            for hash in [nil, key.primary] {
                var sent = 0
                var events = 0
                var steps = 0
                var from = start
                while from < start + 1_000 {
                    let tally = try await storage.tally(of: hash, from: from, before: start + 1_000, limit: 4)
                    #expect(tally.sent <= 6 && tally.end > from && tally.end <= start + 1_000)
                    sent += tally.sent
                    events += tally.events
                    steps += 1
                    from = tally.end
                }
                #expect(sent == 60 && events == 20)
                #expect(steps >= 10)
            }
        },

        ContractCase(open: "a census counts secrets, devices and waiting pushes, each once") {
            storage async throws in
            for number in 0..<40 {
                let key = Samples.key("secret \(number)")
                let device = try await storage.registered("aa", key)
                try await storage.register(Samples.registration("bb"), key)
                if number < 3 {
                    let pushes = [Samples.pending(device), Samples.pending(device)]
                    _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
                }
            }
            #expect(try await storage.census() == Census(secrets: 40, devices: 80, waiting: 6))
        },

        ContractCase(open: "every hash is in one share of the census") { storage async throws in
            let keys = ["00", "0f", "10", "9f", "a0", "fe", "ff"].compactMap { digits in
                SecretHash(hex: digits + String(repeating: "f", count: 62)).map { SecretKey(primary: $0) }
            }
            for key in keys { try await storage.register(Samples.registration("aa"), key) }
            #expect(try await storage.census() == Census(secrets: 7, devices: 7, waiting: 0))
            #expect(try await storage.census(ofShare: 0xFF).devices == 1)
            #expect(try await storage.census(ofShare: 0x0F).devices == 1)
        },
    ]
}
