import Storage
import Testing

extension ContractCase {
    static let deliveries: [ContractCase] = [
        ContractCase(open: "sent pushes are counted by device, in a period and in its later part") {
            storage async throws in
            let plain = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [2])), legacy: [plain.primary])
            func row(
                _ key: SecretKey, _ offset: Int64, _ status: DeliveryStatus = .sent, to device: String? = "a"
            ) -> Delivery {
                Samples.delivery(key, status: status, at: Samples.time + offset, to: device)
            }
            #expect(
                try await storage.countSent(of: key, since: 0, recentlySince: 0, before: .max) == [:])
            try await storage.append([
                row(key, -1), row(key, 0), row(key, 9), row(plain, 10), row(key, 11, to: "b"),
                row(key, 12, .failed), row(key, 13, to: nil), row(Samples.key("other"), 14), row(key, 20),
            ])
            let counts = try await storage.countSent(
                of: key, since: Samples.time, recentlySince: Samples.time + 10, before: Samples.time + 20)
            #expect(counts == ["a": SentCount(all: 3, recent: 1), "b": SentCount(all: 1, recent: 1)])
        },

        ContractCase(open: "a row of several pushes is stored whole, and each of them counts and is found") {
            storage async throws in
            let key = Samples.key("secret")
            let devices = (0..<3).map { Samples.device(key, "token \($0)") }
            let sent = Samples.delivery(key, at: Samples.time, toAll: devices)
            let failed = Samples.delivery(
                key, status: .failed, error: "Unregistered", at: Samples.time + 5,
                toAll: Array(devices.prefix(2)))
            // Enough rows for an engine to load them in bulk.
            let plain = (0..<20).map { Samples.delivery(key, at: Samples.time - 1 - $0, to: devices[2].id) }
            try await storage.append([sent, failed] + plain)
            let log = try await storage.deliveries(of: key, before: nil, limit: 30)
            #expect(log == [failed, sent] + plain)
            #expect(log.prefix(2).map(\.pushCount) == [2, 3])
            #expect(log[1].singles.map(\.deviceID) == devices.map(\.id))
            #expect(try await storage.deliveries(of: key, before: failed.cursor, limit: 1) == [sent])
            let last = try await storage.lastDeliveries(to: devices, under: key)
            #expect(last == [failed.singles[1], failed.singles[0], sent.singles[2]])
            let counts = try await storage.countSent(
                of: key, since: Samples.time - 2, recentlySince: Samples.time, before: .max)
            #expect(
                counts == [
                    devices[0].id: SentCount(all: 1, recent: 1), devices[1].id: SentCount(all: 1, recent: 1),
                    devices[2].id: SentCount(all: 3, recent: 1),
                ])
            let tally = try await storage.tally(
                of: key.primary, from: Samples.time, before: Samples.time + 9, limit: 99)
            #expect(
                tally
                    == DeliveryTally(events: 2, sent: 3, failed: ["Unregistered": 2], end: Samples.time + 9))
            try await storage.append([sent], isRepeated: true)
            #expect(try await storage.deliveries(of: key, before: nil, limit: 30) == log)
        },

        ContractCase(open: "the last push to each device is also found behind many newer rows") {
            storage async throws in
            let key = Samples.key("secret")
            let devices = (0..<2).map { Samples.device(key, "token \($0)") }
            let old = Samples.delivery(key, to: devices[1].id)
            let newer = (1...90).map { Samples.delivery(key, at: Samples.time + $0, to: devices[0].id) }
            try await storage.append([old] + newer)
            #expect(try await storage.lastDeliveries(to: devices, under: key) == [newer[89], old])
            try await storage.register(Samples.registration("aa"), key)
            #expect(try await storage.lastUses(of: devices, under: key).deliveries == [newer[89], old])
        },

        ContractCase(open: "deliveries are returned newest first with every field unchanged") {
            storage async throws in
            let key = Samples.key("secret")
            let rows = [
                Samples.delivery(key, at: Samples.time),
                Samples.delivery(key, status: .failed, error: "Unregistered", at: Samples.time + 2),
                Samples.delivery(key, sessionID: "", status: .failed, error: "", at: Samples.time + 1),
            ]
            try await storage.append(rows)
            let log = try await storage.deliveries(of: key, before: nil, limit: 10)
            #expect(log == [rows[1], rows[2], rows[0]])
        },

        ContractCase(open: "every text of a delivery is stored byte for byte") { storage async throws in
            let key = Samples.key("secret")
            for (index, text) in Samples.confusable.enumerated() {
                let row = Samples.delivery(
                    key, sessionID: text, status: .failed, error: text, at: Samples.time + Int64(index))
                try await storage.append([row])
                let kept = try #require(try await storage.deliveries(of: key, before: nil, limit: 1).first)
                #expect(Array(kept.sessionID.utf8) == Array(text.utf8))
                #expect(kept.error.map { Array($0.utf8) } == Array(text.utf8))
            }
        },

        ContractCase(open: "a delivery with a NUL or an over-long text is refused with its whole batch") {
            storage async throws in
            let key = Samples.key("secret")
            let long = String(repeating: "s", count: StorageLimits.sessionIDBytes + 1)
            for sessionID in ["ses\0", long] {
                await #expect(throws: StorageError.invalidValue(field: "sessionID")) {
                    try await storage.append([
                        Samples.delivery(key), Samples.delivery(key, sessionID: sessionID),
                    ])
                }
            }
            let stored = try await storage.deliveries(of: key, before: nil, limit: 10)
            #expect(stored == [])
        },

        ContractCase(open: "pages contain every delivery once and in order, also within one millisecond") {
            storage async throws in
            let key = Samples.key("secret")
            let rows = (0..<23).map { Samples.delivery(key, at: Samples.time + Int64($0 / 5)) }
            try await storage.append(rows.shuffled())
            try await storage.append([Samples.delivery(Samples.key("other"), at: Samples.time)])
            var pages: [Delivery] = []
            var cursor: DeliveryCursor?
            while true {
                let page = try await storage.deliveries(of: key, before: cursor, limit: 4)
                #expect(page.count <= 4)
                guard let last = page.last else { break }
                pages += page
                cursor = last.cursor
            }
            #expect(pages == rows.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) })
        },

        ContractCase(open: "a batch that fails halfway stores nothing") { storage async throws in
            let key = Samples.key("secret")
            let twice = Samples.id().text
            await #expect(throws: StorageError.self) {
                try await storage.append([
                    Samples.delivery(key), Samples.delivery(key, id: twice), Samples.delivery(key, id: twice),
                ])
            }
            #expect(try await storage.deliveries(of: key, before: nil, limit: 10) == [])
            // Even if a driver puts many rows into one statement.
            let many = (0..<100).map { Samples.delivery(key, id: $0 % 90 == 5 ? twice : Samples.id().text) }
            await #expect(throws: StorageError.self) { try await storage.append(many) }
            #expect(try await storage.deliveries(of: key, before: nil, limit: 10) == [])
            try await storage.append([Samples.delivery(key, id: twice)])
            #expect(try await storage.deliveries(of: key, before: nil, limit: 10).count == 1)
        },

        ContractCase(open: "a batch of many rows is stored completely") { storage async throws in
            let key = Samples.key("secret")
            let rows = (0..<1_111).map { _ in Samples.delivery(key) }
            try await storage.append(rows)
            let stored = try await storage.deliveries(of: key, before: nil, limit: 2_000)
            #expect(Set(stored.map(\.id)) == Set(rows.map(\.id)))
        },

        ContractCase(open: "a bulk load stores every text byte for byte, and single rows can follow it") {
            storage async throws in
            let key = Samples.key("secret")
            // Characters that separate, end or escape values when rows are loaded as text.
            let texts = Samples.confusable + ["\t", "\n", "\r\n", "\\", "\\N", "\\.", "a\tb\\nc", "'\"", ","]
            for round in 0..<2 {
                let rows = (0..<(4 * texts.count)).map { index in
                    let text = texts[index % texts.count]
                    return Samples.delivery(
                        key, sessionID: text, status: .failed, error: index.isMultiple(of: 3) ? nil : text,
                        at: Samples.time + Int64(1_000 * round + index),
                        to: index.isMultiple(of: 2) ? Samples.id().text : nil)
                }
                try await storage.append(rows)
                let single = Samples.delivery(key, at: Samples.time + Int64(1_000 * round + 999))
                try await storage.append([single])
                let stored = try await storage.deliveries(of: key, before: nil, limit: rows.count + 1)
                #expect(stored == [single] + rows.reversed())
                let isSame = zip(stored.dropFirst(), rows.reversed()).allSatisfy {
                    Array($0.sessionID.utf8) == Array($1.sessionID.utf8)
                        && $0.error.map { Array($0.utf8) } == $1.error.map { Array($0.utf8) }
                }
                #expect(isSame)
            }
        },

        ContractCase(open: "a failing call doesn't affect concurrent ones") { storage async throws in
            let key = Samples.key("secret")
            let taken = Samples.id().text
            try await storage.append([Samples.delivery(key, id: taken)])
            let results = try await concurrently(60) { index in
                do throws(StorageError) {
                    let clashes = index.isMultiple(of: 3)
                    try await storage.append([
                        Samples.delivery(key), Samples.delivery(key, id: clashes ? taken : Samples.id().text),
                    ])
                    return true
                } catch {
                    return false
                }
            }
            #expect(results.count { $0 } == 40)
            #expect(try await storage.deliveries(of: key, before: nil, limit: 1_000).count == 81)
        },

        ContractCase(open: "an empty batch is no error") { storage async throws in
            try await storage.append([])
        },

        ContractCase(open: "old deliveries are removed in steps, oldest first, and newer ones stay") {
            storage async throws in
            let (mine, yours) = (Samples.key("mine"), Samples.key("yours"))
            try await storage.append((0..<5).map { Samples.delivery(mine, at: Samples.time + Int64($0)) })
            try await storage.append((5..<10).map { Samples.delivery(yours, at: Samples.time + Int64($0)) })
            #expect(try await storage.prune(.deliveries, before: Samples.time, limit: 100) == 0)
            #expect(try await storage.prune(.deliveries, before: Samples.time + 8, limit: 3) == 3)
            let left = try await storage.deliveries(of: mine, before: nil, limit: 100)
            #expect(left.map(\.createdAt) == [Samples.time + 4, Samples.time + 3])
            #expect(try await storage.prune(.deliveries, before: Samples.time + 8, limit: 100) == 5)
            #expect(try await storage.prune(.deliveries, before: Samples.time + 8, limit: 100) == 0)
            let newest = try await storage.deliveries(of: yours, before: nil, limit: 100)
            #expect(newest.map(\.createdAt) == [Samples.time + 9, Samples.time + 8])
        },
    ]
}
