import Storage
import Testing

extension ContractCase {
    static let histories: [ContractCase] = [
        ContractCase(open: "a history lists items newest first with every column unchanged") {
            storage async throws in
            let key = Samples.key("secret")
            let items = [
                Samples.item(key, eventID: "event", title: "Done", body: "All tests pass"),
                Samples.item(key, sessionID: "", at: Samples.time + 1, sealed: "AQ.sealed"),
                Samples.item(key, at: Samples.time + 2),
            ]
            let addition = try await storage.remember(items, counting: [key])
            #expect(addition == HistoryAddition(stored: 3, unread: [key: 3]))
            let page = try await storage.history(of: key, before: nil, limit: 10)
            #expect(page == HistoryPage(items: items.map(\.item).reversed(), unread: 3))
            #expect(
                try await storage.history(of: Samples.key("Secret"), before: nil, limit: 10) == HistoryPage())
        },

        ContractCase(open: "every text of an item is stored byte for byte") { storage async throws in
            let key = Samples.key("secret")
            let items = Samples.confusable.enumerated().map { index, text in
                Samples.item(
                    key, eventID: text, sessionID: text, at: Samples.time + Int64(index), title: text,
                    body: text,
                    sealed: text)
            }
            #expect(try await storage.remember(items, counting: []).stored == items.count)
            let kept = try await storage.history(of: key, before: nil, limit: 100).items.reversed()
            for (item, text) in zip(kept, Samples.confusable) {
                for column in [item.eventID, item.sessionID, item.title, item.body, item.sealed] {
                    #expect(column.map { Array($0.utf8) } == Array(text.utf8))
                }
            }
            #expect(kept.count == items.count)
        },

        ContractCase(open: "an item whose texts don't fit is refused with its whole batch") {
            storage async throws in
            let key = Samples.key("secret")
            let long = String(repeating: "s", count: StorageLimits.sealedBytes + 1)
            for sealed in ["a\0", long] {
                await #expect(throws: StorageError.invalidValue(field: "sealed")) {
                    _ = try await storage.remember(
                        [Samples.item(key), Samples.item(key, sealed: sealed)], counting: [])
                }
            }
            #expect(try await storage.history(of: key, before: nil, limit: 10) == HistoryPage())
            // Texts for people are cut instead, as in pushes.
            let text = "🦊\0" + String(repeating: "é", count: StorageLimits.historyTextBytes)
            _ = try await storage.remember([Samples.item(key, title: text, body: text)], counting: [])
            let item = try await storage.history(of: key, before: nil, limit: 1).items.first
            let cut = "🦊" + String(repeating: "é", count: (StorageLimits.historyTextBytes - 4) / 2)
            #expect(item?.title == cut && item?.body == cut)
        },

        ContractCase(open: "an eventID has one item in each secret's history") {
            storage async throws in
            let key = Samples.key("secret")
            let first = Samples.item(key, eventID: "event")
            let twice = [first, Samples.item(key, eventID: "event"), Samples.item(key, eventID: "Event")]
            #expect(try await storage.remember(twice, counting: []).stored == 2)
            let again = try await storage.remember([Samples.item(key, eventID: "event")], counting: [key])
            #expect(again == HistoryAddition(stored: 0, unread: [key: 2]))
            #expect(try await storage.remember([first], counting: []).stored == 0)
            #expect(
                try await storage.remember([Samples.item(key), Samples.item(key)], counting: []).stored == 2)
            let other = Samples.key("other")
            #expect(
                try await storage.remember([Samples.item(other, eventID: "event")], counting: []).stored == 1)
            #expect(try await storage.history(of: key, before: nil, limit: 10).items.count == 4)
        },

        ContractCase(open: "an item that is added again after a lost response is stored once") {
            storage async throws in
            let key = Samples.key("secret")
            let item = Samples.item(key)
            _ = try await storage.remember([item], counting: [])
            #expect(try await storage.remember([item], counting: [key]).unread == [key: 1])
        },

        ContractCase(open: "pages contain every item once and in order, also within one millisecond") {
            storage async throws in
            let key = Samples.key("secret")
            let items = (0..<23).map { Samples.item(key, at: Samples.time + Int64($0 / 5)) }
            _ = try await storage.remember(items.shuffled(), counting: [])
            _ = try await storage.remember([Samples.item(Samples.key("other"))], counting: [])
            var listed: [HistoryItem] = []
            var last: UUIDv7?
            while true {
                let page = try await storage.history(of: key, before: last, limit: 4)
                #expect(page.items.count <= 4 && page.unread == 23)
                guard let end = page.items.last else { break }
                listed += page.items
                last = end.id
            }
            #expect(listed == items.map(\.item).newestFirst(100))
        },

        ContractCase(open: "items are marked as read once, by ID or all at once, only in their own history") {
            storage async throws in
            let (key, other) = (Samples.key("secret"), Samples.key("other"))
            let items = (0..<5).map { Samples.item(key, at: Samples.time + Int64($0)) }
            let others = Samples.item(other)
            _ = try await storage.remember(items + [others], counting: [])
            let ids = [items[0].item.id, items[1].item.id, items[1].item.id, others.item.id, Samples.id()]
            let now = Samples.time + 100
            #expect(try await storage.markRead(ids, of: key, at: now) == HistoryReading(read: 2, unread: 3))
            #expect(
                try await storage.markRead(ids, of: key, at: now + 1) == HistoryReading(read: 0, unread: 3))
            #expect(
                try await storage.markRead(nil, of: key, at: now + 2) == HistoryReading(read: 3, unread: 0))
            let page = try await storage.history(of: key, before: nil, limit: 10)
            #expect(page.items.map(\.readAt) == [now + 2, now + 2, now + 2, now, now])
            #expect(try await storage.history(of: other, before: nil, limit: 10).unread == 1)
        },

        ContractCase(open: "a history keeps its newest items, also within one millisecond") {
            storage async throws in
            let (key, other) = (Samples.key("secret"), Samples.key("other"))
            let most = StorageLimits.historyItemsMax
            _ = try await storage.remember([Samples.item(other, at: 1)], counting: [])
            var all: [HistoryItem] = []
            for batch in 0..<5 {
                let items = (0..<(most / 4)).map {
                    Samples.item(key, at: Samples.time + Int64($0 / 100 + batch))
                }
                all += items.map(\.item)
                let addition = try await storage.remember(items, counting: [key])
                #expect(addition.removed == (batch < 4 ? 0 : most / 4))
                #expect(addition.unread == [key: min(all.count, most)])
            }
            let kept = try await storage.history(of: key, before: nil, limit: 2 * most)
            #expect(kept.items == all.newestFirst(most))
            #expect(try await storage.history(of: other, before: nil, limit: 10).items.count == 1)
        },

        ContractCase(open: "old items are removed in steps, oldest first, and newer ones stay") {
            storage async throws in
            let (mine, yours) = (Samples.key("mine"), Samples.key("yours"))
            let items = (0..<5).map { Samples.item(mine, at: Samples.time + $0) }
            _ = try await storage.remember(
                items + (5..<10).map { Samples.item(yours, at: Samples.time + $0) }, counting: [])
            #expect(try await storage.prune(.history, before: Samples.time, limit: 100) == 0)
            #expect(try await storage.prune(.history, before: Samples.time + 8, limit: 3) == 3)
            let left = try await storage.history(of: mine, before: nil, limit: 100)
            #expect(left.items == [items[4].item, items[3].item])
            #expect(try await storage.prune(.history, before: Samples.time + 8, limit: 100) == 5)
            #expect(try await storage.prune(.history, before: Samples.time + 8, limit: 100) == 0)
            let newest = try await storage.history(of: yours, before: nil, limit: 100)
            #expect(newest.items.map(\.createdAt) == [Samples.time + 9, Samples.time + 8])
        },

        ContractCase(open: "a history is found under every hash of its secret") { storage async throws in
            let plain = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [2])), legacy: [plain.primary])
            let items = [Samples.item(plain, eventID: "event"), Samples.item(key, at: Samples.time + 1)]
            _ = try await storage.remember([items[0]], counting: [])
            let addition = try await storage.remember(
                [items[1], Samples.item(key, eventID: "event")], counting: [key])
            #expect(addition == HistoryAddition(stored: 1, unread: [key: 2]))
            let page = try await storage.history(of: key, before: nil, limit: 10)
            #expect(page == HistoryPage(items: [items[1].item, items[0].item], unread: 2))
            #expect(try await storage.history(of: key, before: nil, limit: 1).items == [items[1].item])
            let reading = try await storage.markRead([items[0].item.id], of: key, at: Samples.time)
            #expect(reading == HistoryReading(read: 1, unread: 1))
            #expect(try await storage.revoke(key, limit: 100) == Holdings(devices: 1, history: 2))
        },

        ContractCase(open: "revoking removes a history, and so does unregistering the last device") {
            storage async throws in
            let (key, other) = (Samples.key("secret"), Samples.key("other"))
            for key in [key, other] {
                try await storage.register(Samples.registration("aa"), key)
                try await storage.register(Samples.registration("bb"), key)
                _ = try await storage.remember([Samples.item(key), Samples.item(key)], counting: [])
            }
            #expect(try await storage.holdings(of: key) == Holdings(devices: 2, history: 2))
            #expect(try await storage.revoke(key, limit: 100) == Holdings(devices: 2, history: 2))
            #expect(try await storage.history(of: key, before: nil, limit: 9) == HistoryPage())
            #expect(try await storage.unregister(token: "aa", under: other, at: Samples.time))
            #expect(try await storage.history(of: other, before: nil, limit: 9).unread == 2)
            #expect(try await !storage.unregister(token: "aa", under: other, at: Samples.time))
            #expect(try await storage.unregister(token: "bb", under: other, at: Samples.time))
            #expect(try await storage.history(of: other, before: nil, limit: 9) == HistoryPage())
        },

        ContractCase(open: "a push sent while the last device is being unregistered leaves no history") {
            storage async throws in
            let keys = [Samples.key("secret"), Samples.key("other")]
            for key in keys { try await storage.register(Samples.registration("aa"), key) }
            #expect(try await storage.unregister(token: "aa", under: keys[0], at: Samples.time))
            let addition = try await storage.add(keys.map { Samples.item($0) }, counting: Set(keys))
            #expect(addition.stored == 1 && addition.unread == [keys[0]: 0, keys[1]: 1])
        },

        ContractCase("a push sent at the same time as the last unregistration leaves no history") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                for round in 0..<20 {
                    let key = Samples.key("secret \(round)")
                    try await storages[0].register(Samples.registration("aa"), key)
                    _ = try await concurrently(4) { index in
                        let storage = storages[index % storages.count]
                        if index == 1 {
                            _ = try await storage.unregister(token: "aa", under: key, at: Samples.time)
                        } else {
                            _ = try await storage.add([Samples.item(key)], counting: [])
                            try await storage.note([(AgentUse(usedAt: 1, client: nil), key)])
                        }
                    }
                    #expect(try await storages[0].holdings(of: key) == Holdings())
                }
            }
        },

        ContractCase(open: "a history stays when APNs no longer knows the device") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            _ = try await storage.remember([Samples.item(key)], counting: [])
            #expect(try await storage.remove(device, ifNotUpdatedAfter: .max))
            #expect(try await storage.history(of: key, before: nil, limit: 9).unread == 1)
        },

        ContractCase("a history stays when the database is closed and opened again") {
            database async throws in
            let key = Samples.key("secret")
            let first = try await database.open()
            let item = Samples.item(key, eventID: "event", title: "Done")
            _ = try await first.remember([item], counting: [])
            await first.close()
            let second = try await database.open()
            #expect(try await second.history(of: key, before: nil, limit: 9).items == [item.item])
            #expect(
                try await second.remember([Samples.item(key, eventID: "event")], counting: []).stored == 0)
            await second.close()
        },

        ContractCase("two processes can add to a history at once") { database async throws in
            guard database.allowsSeveralWriters else { return }
            let key = Samples.key("secret")
            let storages = [try await database.open(), try await database.open()]
            let most = StorageLimits.historyItemsMax
            let added = try await concurrently(2) { place in
                var stored = 0
                for _ in 0..<6 {
                    let items = (0..<(most / 8)).map { _ in Samples.item(key) }
                    stored += try await storages[place].remember(items, counting: []).stored
                }
                return stored
            }
            #expect(added.reduce(0, +) == most / 8 * 12)
            // The last of two concurrent transactions may not have seen the other's items.
            _ = try await storages[0].remember([Samples.item(key)], counting: [])
            #expect(try await storages[1].history(of: key, before: nil, limit: 2 * most).items.count == most)
            for storage in storages { await storage.close() }
        },
    ]
}

extension Storage {
    /// Adds items to the histories of secrets; a secret without a device gets one.
    func remember(
        _ items: [(item: HistoryItem, key: SecretKey)], counting keys: Set<SecretKey>
    ) async throws(StorageError) -> HistoryAddition {
        for key in Set(items.map(\.key)) where try await devices(of: key).isEmpty {
            try await register(Samples.registration("history"), key)
        }
        return try await add(items, counting: keys)
    }
}
