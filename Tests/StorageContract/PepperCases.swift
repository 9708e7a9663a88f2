import Storage
import Testing

/// The keys of one secret before and after a pepper was set.
private enum Peppered {
    static let before = Samples.key("secret")
    static let after = SecretKey(
        primary: SecretHash(Digest256(of: Array("peppered".utf8))), legacy: [before.primary])
    static let onlyAfter = SecretKey(primary: after.primary)
    /// The keys of the same secret with the next pepper, before and after it replaced the previous one.
    static let announced = SecretKey(
        primary: after.primary, legacy: [SecretHash(Digest256(of: Array("next".utf8))), before.primary])
    static let next = SecretKey(primary: announced.legacy[0], legacy: [after.primary, before.primary])
    static let onlyNext = SecretKey(primary: next.primary)
}

extension ContractCase {
    static let pepper: [ContractCase] = [
        ContractCase(open: "devices from before the pepper are found with it") { storage async throws in
            try await storage.register(Samples.registration("aa"), Peppered.before)
            let devices = try await storage.devices(of: Peppered.after)
            #expect(devices.map(\.token) == ["aa"])
            #expect(devices.map(\.secretHash) == [Peppered.before.primary])
            #expect(try await storage.devices(of: Peppered.onlyAfter) == [])
        },

        ContractCase(open: "the next registration moves a secret's devices under the pepper") {
            storage async throws in
            let old = Samples.registration("aa")
            try await storage.register(old, Peppered.before)
            try await storage.register(Samples.registration("bb", at: Samples.time + 1), Peppered.before)
            let new = Samples.registration("aa", environment: .sandbox, at: Samples.time + 5)
            #expect(try await storage.register(new, Peppered.after) == .updated)
            #expect(try await storage.devices(of: Peppered.before) == [])
            let devices = try await storage.devices(of: Peppered.onlyAfter)
            #expect(devices.map(\.token) == ["aa", "bb"])
            #expect(devices.map(\.id).first == old.newID.text)
            #expect(devices.map(\.createdAt) == [Samples.time, Samples.time + 1])
            #expect(devices.map(\.updatedAt) == [Samples.time + 5, Samples.time + 1])
        },

        ContractCase(open: "the device limit counts devices from before the pepper") { storage async throws in
            for token in ["aa", "bb"] {
                try await storage.register(Samples.registration(token), Peppered.before)
            }
            let refused = try await storage.register(
                Samples.registration("cc"), under: Peppered.after, deviceLimit: 2)
            #expect(refused == .limitReached)
            let known = try await storage.register(
                Samples.registration("bb"), under: Peppered.after, deviceLimit: 2)
            #expect(known == .updated)
        },

        ContractCase(open: "a token with both hashes is one device, the peppered one") {
            storage async throws in
            try await storage.register(Samples.registration("aa", bundleID: "new"), Peppered.after)
            // A process that doesn't know the pepper registers the device again.
            try await storage.register(Samples.registration("aa", bundleID: "old"), Peppered.before)
            #expect(try await storage.devices(of: Peppered.after).map(\.bundleID) == ["new"])
            try await storage.register(Samples.registration("bb", at: Samples.time + 1), Peppered.after)
            #expect(
                try await storage.devices(of: Peppered.onlyAfter).map(\.bundleID) == [
                    "new", "com.example.app",
                ])
            #expect(try await storage.devices(of: Peppered.before) == [])
        },

        ContractCase(open: "unregistering removes a token under both hashes") { storage async throws in
            try await storage.register(Samples.registration("aa"), Peppered.after)
            try await storage.register(Samples.registration("aa"), Peppered.before)
            #expect(try await storage.unregister(token: "aa", under: Peppered.after))
            #expect(try await storage.devices(of: Peppered.after) == [])
            #expect(try await storage.devices(of: Peppered.before) == [])
        },

        ContractCase(open: "a device from before the pepper can be changed and removed") {
            storage async throws in
            try await storage.register(Samples.registration("aa"), Peppered.before)
            let device = try #require(try await storage.devices(of: Peppered.after).first)
            #expect(try await storage.setEnvironment(.sandbox, of: device))
            #expect(try await storage.devices(of: Peppered.after).map(\.environment) == [.sandbox])
            #expect(try await storage.remove(device, ifNotUpdatedAfter: .max))
            #expect(try await storage.devices(of: Peppered.after) == [])
        },

        ContractCase(open: "deliveries and receipts from before the pepper belong to the secret") {
            storage async throws in
            try await storage.append([Samples.delivery(Peppered.before, at: Samples.time)])
            try await storage.append([Samples.delivery(Peppered.after, at: Samples.time + 1)])
            let log = try await storage.deliveries(of: Peppered.after, before: nil, limit: 9)
            #expect(log.map(\.secretHash) == [Peppered.after.primary, Peppered.before.primary])

            let old = Samples.claim("event", under: Peppered.before)
            #expect(try await storage.claim(old) == .claimed)
            #expect(try await storage.claim(Samples.claim("event", under: Peppered.after)) == .inProgress)
            #expect(try await storage.complete(old, answer: [1, 2]))
            #expect(
                try await storage.claim(Samples.claim("event", under: Peppered.after)) == .answered([1, 2]))
        },

        ContractCase(open: "an event with answers under both hashes has the peppered one's answer") {
            storage async throws in
            // The second claim is from a process that doesn't know the pepper.
            for (key, answer) in [(Peppered.after, [1]), (Peppered.before, [2])] as [(SecretKey, [UInt8])] {
                let claim = Samples.claim("event", under: key)
                #expect(try await storage.claim(claim) == .claimed)
                #expect(try await storage.complete(claim, answer: answer))
            }
            #expect(
                try await storage.claim(Samples.claim("event", under: Peppered.after)) == .answered([1]))
        },

        ContractCase(open: "devices under the former pepper and without one are found, each token once") {
            storage async throws in
            try await storage.register(Samples.registration("aa", bundleID: "plain"), Peppered.before)
            try await storage.register(Samples.registration("cc", bundleID: "plain"), Peppered.before)
            try await storage.register(Samples.registration("aa", bundleID: "old"), Peppered.onlyAfter)
            try await storage.register(Samples.registration("bb", bundleID: "old"), Peppered.onlyAfter)
            try await storage.register(Samples.registration("bb", bundleID: "new"), Peppered.onlyNext)
            let found = try await storage.devices(of: Peppered.next).sorted { $0.token < $1.token }
            #expect(found.map(\.token) == ["aa", "bb", "cc"])
            #expect(found.map(\.bundleID) == ["old", "new", "plain"])
            #expect(try await storage.unregister(token: "aa", under: Peppered.next))
            #expect(try await storage.tokens(of: Peppered.next).sorted() == ["bb", "cc"])
        },

        ContractCase(open: "a secret's rows move to the new pepper's hash on request") {
            storage async throws in
            let plain = try await storage.registered("aa", Peppered.before)
            let old = try await storage.registered("bb", Peppered.onlyAfter)
            let pushes = [Samples.pending(plain), Samples.pending(old)]
            #expect(
                try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9) == [.queued, .queued])
            #expect(try await storage.rehash(Peppered.next))
            #expect(try await storage.rehash(Peppered.next) == false)
            #expect(try await storage.rehash(Peppered.onlyNext) == false)
            let devices = try await storage.devices(of: Peppered.onlyNext)
            #expect(Set(devices.map(\.id)) == [plain.id, old.id])
            #expect(try await storage.devices(of: Peppered.after) == [])
            let claimed = try await storage.claimed(Samples.lease())
            #expect(Set(claimed.map(\.push.id)) == Set(pushes.map(\.id)))
            #expect(claimed.allSatisfy { $0.device != nil && $0.push.secretHash == Peppered.next.primary })
        },

        ContractCase(
            open:
                "when rows of one token are merged, the dropped row's pushes go to the row that stays"
        ) {
            storage async throws in
            let kept = try await storage.registered("aa", Peppered.after)
            // A relay that doesn't know the pepper registers the phone again and has waiting pushes for it.
            let dropped = try await storage.registered("aa", Peppered.before)
            let other = try await storage.registered("bb", Peppered.before)
            let pushes = [Samples.pending(dropped), Samples.pending(kept), Samples.pending(other)]
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
            // A registration merges the rows, as an event would.
            try await storage.register(Samples.registration("cc"), Peppered.after)
            let claimed = try await storage.claimed(Samples.lease())
            let devices = Dictionary(
                uniqueKeysWithValues: claimed.map { ($0.push.id, $0.device?.id) })
            #expect(devices == [pushes[0].id: kept.id, pushes[1].id: kept.id, pushes[2].id: other.id])
            #expect(claimed.allSatisfy { $0.push.deviceID == $0.device?.id })
        },

        ContractCase("pushes stored while their secret's rows move keep their device") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                for round in 0..<20 {
                    let old = Samples.key("round \(round)")
                    let new = SecretKey(
                        primary: SecretHash(Digest256(of: [UInt8(round)])), legacy: [old.primary])
                    let device = try await storages[0].registered("aa", old)
                    _ = try await concurrently(8) { index in
                        let storage = storages[index % storages.count]
                        if index == 5 {
                            _ = try await storage.rehash(new)
                        } else {
                            _ = try await storage.enqueue(
                                [Samples.pending(device)], lease: nil, limitPerSecret: 99)
                        }
                    }
                }
                let claimed = try await storages[0].claimPushes(
                    dueAt: Samples.time, lease: Samples.lease(), limit: 1_000, scope: .everySecret)
                #expect(claimed.allSatisfy { $0.device != nil })
            }
        },

        ContractCase(open: "relays that write under the old and the new pepper find each other's rows") {
            storage async throws in
            try await storage.register(Samples.registration("aa"), Peppered.announced)
            #expect(try await storage.register(Samples.registration("aa"), Peppered.next) == .updated)
            #expect(try await storage.register(Samples.registration("bb"), Peppered.next) == .created)
            #expect(try await storage.tokens(of: Peppered.announced).sorted() == ["aa", "bb"])
            #expect(try await storage.register(Samples.registration("bb"), Peppered.announced) == .updated)
            #expect(try await storage.tokens(of: Peppered.next).sorted() == ["aa", "bb"])
            let refused = try await storage.register(
                Samples.registration("cc"), under: Peppered.next, deviceLimit: 2)
            #expect(refused == .limitReached)
        },

        ContractCase(open: "the log under several peppers is one, newest first, page by page") {
            storage async throws in
            let keys = [Peppered.before, Peppered.onlyAfter, Peppered.onlyNext]
            for number in 0..<9 {
                try await storage.append([
                    Samples.delivery(keys[number % 3], at: Samples.time + Int64(number))
                ])
            }
            var times: [Int64] = []
            var cursor: DeliveryCursor?
            while true {
                let page = try await storage.deliveries(of: Peppered.next, before: cursor, limit: 4)
                guard let last = page.last else { break }
                times += page.map { $0.createdAt - Samples.time }
                cursor = last.cursor
            }
            #expect(times == [8, 7, 6, 5, 4, 3, 2, 1, 0])
        },

        ContractCase(open: "an event answered under the former pepper gets the same answer") {
            storage async throws in
            let old = Samples.claim("event", under: Peppered.after)
            #expect(try await storage.claim(old) == .claimed)
            #expect(try await storage.complete(old, answer: [7]))
            #expect(
                try await storage.claim(Samples.claim("event", under: Peppered.next)) == .answered([7]))
        },
    ]
}
