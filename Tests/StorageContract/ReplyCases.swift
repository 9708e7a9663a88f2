import Storage
import Testing

/// Claims an event, as sending does.
private func event(
    _ id: String, of key: SecretKey, in storage: any Storage, at time: EpochMilliseconds = Samples.time
) async throws -> EventName {
    #expect(try await storage.claim(Samples.claim(id, under: key, at: time)) == .claimed)
    return EventName(id, of: key)
}

private let day = StorageLimits.receiptLifetime
private let later = Samples.time + 5

extension ContractCase {
    static let replies: [ContractCase] = [
        ContractCase(open: "an event is acknowledged once, and then replied to once") {
            storage async throws in
            let event = try await event("event", of: Samples.key("secret"), in: storage)
            #expect(try await storage.acknowledgements(of: [event], at: later) == [:])
            let seen = Acknowledgement(at: later)
            #expect(try await storage.acknowledge(event, reply: nil, at: later) == .stored(seen))
            #expect(try await storage.acknowledge(event, reply: nil, at: later + 1) == .existing(seen))
            #expect(try await storage.acknowledgements(of: [event], at: later) == [event: seen])
            let reply = EventReply(action: "once", text: "é🦊\n'; --")
            let replied = Acknowledgement(at: later, reply: reply, repliedAt: later + 2)
            #expect(try await storage.acknowledge(event, reply: reply, at: later + 2) == .stored(replied))
            for next in [reply, EventReply(action: "reject"), nil] {
                #expect(
                    try await storage.acknowledge(event, reply: next, at: later + 3) == .existing(replied))
            }
            #expect(try await storage.acknowledgements(of: [event], at: later) == [event: replied])
        },

        ContractCase(open: "a reply that isn't sealed has one of the event's actions, if it names any") {
            storage async throws in
            let key = Samples.key("secret")
            let most = (0..<StorageLimits.replyActionsMax).map { index in
                String(repeating: "\(index)", count: StorageLimits.replyActionBytes)
            }
            for (id, actions) in [("two", ["once", "reject"]), ("most", most)] {
                let claim = Samples.claim(id, under: key, actions: actions)
                #expect(try await storage.claim(claim) == .claimed)
                let event = EventName(id, of: key)
                for action in ["Once", "on", "reject once", ""] {
                    let reply = EventReply(action: action)
                    #expect(
                        try await storage.acknowledge(event, reply: reply, at: later) == .notOffered(actions))
                }
                #expect(try await storage.acknowledgements(of: [event], at: later) == [:])
                let last = EventReply(action: actions.last)
                let stored = Acknowledgement(at: later, reply: last, repliedAt: later)
                #expect(try await storage.acknowledge(event, reply: last, at: later) == .stored(stored))
            }
            #expect(try await storage.claim(Samples.claim("sealed", under: key, actions: ["a"])) == .claimed)
            let sealed = EventReply(action: "b", sealed: "AQ")
            let answer = try await storage.acknowledge(EventName("sealed", of: key), reply: sealed, at: later)
            #expect(answer == .stored(Acknowledgement(at: later, reply: sealed, repliedAt: later)))
        },

        ContractCase(open: "the next event with the same ID offers its own actions") { storage async throws in
            let key = Samples.key("secret")
            let event = EventName("event", of: key)
            for (index, actions) in [["a"], [], ["b", "c"]].enumerated() {
                let time = Samples.time + Int64(index) * day
                let claim = Samples.claim("event", under: key, actions: actions, at: time)
                #expect(try await storage.claim(claim) == .claimed)
                let result = try await storage.acknowledge(
                    event, reply: EventReply(action: "x"), at: time + 1)
                if actions.isEmpty {
                    #expect(result != .unknownEvent && result != .notOffered([]))
                } else {
                    #expect(result == .notOffered(actions))
                }
            }
        },

        ContractCase(open: "an event is unknown, in progress or answered according to its receipt") {
            storage async throws in
            let old = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [2])), legacy: [old.primary])
            let event = EventName("event", of: old)
            #expect(try await storage.state(of: event, at: later) == .unknown)
            let claim = Samples.claim("event", under: old)
            #expect(try await storage.claim(claim) == .claimed)
            #expect(try await storage.state(of: event, at: later) == .inProgress)
            #expect(try await storage.complete(claim, answer: [1, 2, 0]))
            for name in [event, EventName("event", of: key)] {
                #expect(try await storage.state(of: name, at: later) == .answered([1, 2, 0]))
                #expect(try await storage.state(of: name, at: Samples.time + day) == .unknown)
            }
            #expect(try await storage.state(of: EventName("Event", of: old), at: later) == .unknown)
        },

        ContractCase(open: "a claim returns whether a push's event has been acknowledged") {
            storage async throws in
            let (key, other) = (Samples.key("secret"), Samples.key("other"))
            let devices = [
                try await storage.registered("aa", key), try await storage.registered("aa", other),
            ]
            for (id, secret) in [("seen", key), ("replied", key), ("new", key), ("over", other)] {
                let event = try await event(id, of: secret, in: storage)
                guard id != "new" else { continue }
                let reply = id == "replied" ? EventReply(action: "once") : nil
                _ = try await storage.acknowledge(event, reply: reply, at: later)
            }
            // The last acknowledgement belongs to another secret's event.
            let names: [String?] = ["seen", "replied", "new", "Seen", "seen ", nil, "over"]
            var expected: [String: Bool] = [:]
            for name in names {
                let push = Samples.pending(devices[0], eventID: name)
                expected[push.id] = name == "seen" || name == "replied"
                #expect(try await storage.enqueue([push], lease: nil, limitPerSecret: 99) == [.queued])
            }
            let push = Samples.pending(devices[1], eventID: "seen")
            expected[push.id] = false
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 99)
            let claimed = try await storage.claimed(at: later)
            let found = Dictionary(uniqueKeysWithValues: claimed.map { ($0.push.id, $0.isAcknowledged) })
            #expect(found == expected)
            #expect(claimed.allSatisfy { $0.device != nil })
        },

        ContractCase(open: "acknowledging an earlier event with the same ID doesn't end a queued push") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let first = try await event("event", of: key, in: storage)
            _ = try await storage.acknowledge(first, reply: nil, at: later)
            let push = Samples.pending(device, expiresAt: .max, eventID: "event")
            _ = try await storage.enqueue([push], lease: nil, limitPerSecret: 99)
            let claimed = try await storage.claimed(at: Samples.time + day)
            #expect(claimed.map(\.isAcknowledged) == [false])
        },

        ContractCase(open: "only events with a valid receipt are acknowledged") { storage async throws in
            let key = Samples.key("secret")
            let known = try await event("event", of: key, in: storage)
            for unknown in [
                EventName("other", of: key), EventName("Event", of: key), EventName("event ", of: key),
                EventName("event", of: Samples.key("Secret")),
            ] {
                #expect(try await storage.acknowledge(unknown, reply: nil, at: later) == .unknownEvent)
            }
            #expect(
                try await storage.acknowledge(known, reply: nil, at: Samples.time + day) == .unknownEvent)
            #expect(try await storage.acknowledgements(of: [known], at: later) == [:])
        },

        ContractCase(open: "a reply expires with its event's receipt, also for the next event with that ID") {
            storage async throws in
            let key = Samples.key("secret")
            let first = try await event("event", of: key, in: storage)
            let reply = EventReply(sealed: "AQ")
            _ = try await storage.acknowledge(first, reply: reply, at: Samples.time + day - 1)
            #expect(try await storage.acknowledgements(of: [first], at: Samples.time + day - 1).count == 1)
            #expect(try await storage.acknowledgements(of: [first], at: Samples.time + day) == [:])
            let again = try await event("event", of: key, in: storage, at: Samples.time + day)
            let time = Samples.time + day + 1
            let new = Acknowledgement(at: time)
            #expect(try await storage.acknowledge(again, reply: nil, at: time) == .stored(new))
            #expect(try await storage.prune(.replies, before: Samples.time + 2 * day, limit: 9) == 0)
            #expect(try await storage.acknowledgements(of: [again], at: time) == [again: new])
        },

        ContractCase(open: "expired acknowledgements are removed in steps") {
            storage async throws in
            let key = Samples.key("secret")
            var events: Set<EventName> = []
            for index in 0..<5 {
                let event = try await event(
                    "\(index)", of: key, in: storage, at: Samples.time + Int64(index))
                _ = try await storage.acknowledge(event, reply: nil, at: later)
                events.insert(event)
            }
            let end = Samples.time + day + 2
            #expect(try await storage.prune(.replies, before: end + 1, limit: 2) == 2)
            #expect(try await storage.prune(.replies, before: end + 1, limit: 2) == 1)
            #expect(try await storage.prune(.replies, before: end + 1, limit: 2) == 0)
            #expect(
                Set(try await storage.acknowledgements(of: events, at: later).keys.map(\.eventID)) == [
                    "3", "4",
                ])
        },

        ContractCase(open: "many events of many secrets are queried at once") { storage async throws in
            var expected: [EventName: Acknowledgement] = [:]
            var all: Set<EventName> = []
            for (index, id) in (Samples.confusable.filter { !$0.isEmpty } + (0..<70).map(String.init))
                .enumerated()
            {
                let event = try await event(id, of: Samples.key("secret \(index % 7)"), in: storage)
                all.insert(event)
                all.insert(EventName(id, of: Samples.key("other")))
                guard !index.isMultiple(of: 3) else { continue }
                let reply = EventReply(action: id, text: id)
                expected[event] = Acknowledgement(at: later, reply: reply, repliedAt: later)
                _ = try await storage.acknowledge(event, reply: reply, at: later)
            }
            #expect(try await storage.acknowledgements(of: all, at: later) == expected)
            #expect(try await storage.acknowledgements(of: [], at: later) == [:])
        },

        ContractCase(open: "a secret keeps its newest acknowledgements") { storage async throws in
            let key = Samples.key("secret")
            var events: [EventName] = []
            for index in 0..<StorageLimits.acknowledgementsMax + 2 {
                let event = try await event("\(index)", of: key, in: storage)
                _ = try await storage.acknowledge(event, reply: nil, at: Samples.time + Int64(index))
                events.append(event)
            }
            let kept = try await storage.acknowledgements(of: Set(events), at: later)
            #expect(Set(kept.keys) == Set(events.dropFirst(2)))
        },

        ContractCase("of concurrent replies one is the first, and all callers get that one") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let event = try await event("event", of: Samples.key("secret"), in: storages[0])
                let results = try await concurrently(40) { index in
                    let reply = index.isMultiple(of: 4) ? nil : EventReply(action: "\(index)")
                    return try await storages[index % storages.count].acknowledge(
                        event, reply: reply, at: later)
                }
                let stored = results.compactMap { result -> EventReply? in
                    guard case .stored(let new) = result else { return nil }
                    return new.reply
                }
                #expect(stored.count == 1)
                let kept = try await storages[0].acknowledgements(of: [event], at: later)[event]
                #expect(kept?.reply == stored.first)
                for case .existing(let known) in results where known.reply != nil { #expect(known == kept) }
            }
        },

        ContractCase(open: "a reply is found under every hash of its secret") { storage async throws in
            let plain = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [2])), legacy: [plain.primary])
            let old = try await event("event", of: plain, in: storage)
            _ = try await storage.acknowledge(old, reply: nil, at: later)
            let name = EventName("event", of: key)
            #expect(try await storage.acknowledgements(of: [name], at: later) == [name: .init(at: later)])
            let reply = EventReply(action: "once")
            let replied = Acknowledgement(at: later, reply: reply, repliedAt: later + 1)
            #expect(try await storage.acknowledge(name, reply: reply, at: later + 1) == .stored(replied))
            #expect(try await storage.acknowledgements(of: [old], at: later) == [old: replied])
            let unread = try await event("other", of: plain, in: storage)
            let other = EventName("other", of: key)
            #expect(try await storage.acknowledge(other, reply: nil, at: later) == .stored(.init(at: later)))
            #expect(try await storage.acknowledgements(of: [unread], at: later) == [:])
            #expect(try await storage.acknowledgements(of: [other], at: later) == [other: .init(at: later)])
        },

        ContractCase(open: "an acknowledgement marks the event's history item") { storage async throws in
            let key = Samples.key("secret")
            let event = try await event("event", of: key, in: storage)
            _ = try await storage.remember(
                [Samples.item(key, eventID: "event"), Samples.item(key, eventID: "other")], counting: [])
            _ = try await storage.acknowledge(event, reply: nil, at: later)
            _ = try await storage.acknowledge(event, reply: EventReply(action: "once"), at: later + 1)
            let items = try await storage.history(of: key, before: nil, limit: 9).items
            #expect(items.count == 2)
            for item in items { #expect(item.acknowledgedAt == (item.eventID == "event" ? later : nil)) }
        },

        ContractCase("events are acknowledged and replied to although the history can't be written") {
            database async throws in
            let storage = try await database.open()
            let key = Samples.key("secret")
            let seen = try await event("seen", of: key, in: storage)
            let replied = try await event("replied", of: key, in: storage)
            try await database.run(["DROP TABLE history_item"])
            let reply = EventReply(action: "once")
            #expect(try await storage.acknowledge(seen, reply: nil, at: later) == .stored(.init(at: later)))
            let stored = Acknowledgement(at: later, reply: reply, repliedAt: later)
            #expect(try await storage.acknowledge(replied, reply: reply, at: later) == .stored(stored))
            #expect(try await storage.acknowledgements(of: [seen, replied], at: later).count == 2)
            await storage.close()
        },

        ContractCase(open: "replies are removed with their secret's last device and by revoking") {
            storage async throws in
            for (name, isRevoked) in [("left", false), ("revoked", true)] {
                let key = Samples.key(name)
                for token in ["aa", "bb"] { try await storage.register(Samples.registration(token), key) }
                let event = try await event("event", of: key, in: storage)
                _ = try await storage.acknowledge(event, reply: EventReply(action: "once"), at: later)
                _ = try await storage.unregister(token: "aa", under: key, at: later)
                #expect(try await storage.acknowledgements(of: [event], at: later).count == 1)
                if isRevoked {
                    #expect(try await storage.holdings(of: key).replies == 1)
                    #expect(try await storage.revoke(key, limit: 10).replies == 1)
                    #expect(try await storage.holdings(of: key).isEmpty)
                } else {
                    _ = try await storage.unregister(token: "bb", under: key, at: later)
                }
                #expect(try await storage.acknowledgements(of: [event], at: later) == [:])
            }
        },

        ContractCase(open: "texts that can't be stored unchanged are refused") { storage async throws in
            let event = try await event("event", of: Samples.key("secret"), in: storage)
            let long = EventReply(text: String(repeating: "x", count: StorageLimits.replyTextBytes + 1))
            for reply in [EventReply(action: "a\0"), EventReply(text: "\0"), long] {
                await #expect(throws: StorageError.self) {
                    _ = try await storage.acknowledge(event, reply: reply, at: later)
                }
            }
            let name = EventName("\0", of: Samples.key("secret"))
            await #expect(throws: StorageError.self) {
                _ = try await storage.acknowledge(name, reply: nil, at: later)
            }
            #expect(try await storage.acknowledgements(of: [event], at: later) == [:])
        },
    ]
}
