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
    static let replyResults: [ContractCase] = [
        ContractCase(open: "the first result of a reply is kept, and stays beside the reply") {
            storage async throws in
            let event = try await event("event", of: Samples.key("secret"), in: storage)
            let reply = EventReply(action: "once", text: "é🦊")
            _ = try await storage.acknowledge(event, reply: reply, at: later)
            let result = ReplyResult(outcome: "refused", reason: "status_400")
            let known = Acknowledgement(
                at: later, reply: reply, repliedAt: later, result: result, resultAt: later + 1)
            #expect(try await storage.report(result, of: event, at: later + 1) == .stored(known))
            for next in [result, ReplyResult(outcome: "taken"), ReplyResult(sealed: "AQ")] {
                #expect(try await storage.report(next, of: event, at: later + 2) == .existing(known))
            }
            for next in [reply, EventReply(action: "reject"), nil] {
                #expect(
                    try await storage.acknowledge(event, reply: next, at: later + 3) == .existing(known))
            }
            #expect(try await storage.acknowledgements(of: [event], at: later) == [event: known])
        },

        ContractCase(open: "a result without a reply acknowledges its event and applies to a later reply") {
            storage async throws in
            let key = Samples.key("secret")
            let event = try await event("event", of: key, in: storage)
            _ = try await storage.remember([Samples.item(key, eventID: "event")], counting: [])
            let result = ReplyResult(sealed: String(repeating: "A", count: StorageLimits.sealedBytes))
            var known = Acknowledgement(at: later, result: result, resultAt: later)
            #expect(try await storage.report(result, of: event, at: later) == .stored(known))
            #expect(try await storage.acknowledge(event, reply: nil, at: later + 1) == .existing(known))
            let items = try await storage.history(of: key, before: nil, limit: 9).items
            #expect(items.map(\.acknowledgedAt) == [later])
            let reply = EventReply(sealed: "AQ")
            (known.reply, known.repliedAt) = (reply, later + 2)
            #expect(try await storage.acknowledge(event, reply: reply, at: later + 2) == .stored(known))
            #expect(try await storage.acknowledgements(of: [event], at: later) == [event: known])
        },

        ContractCase(open: "a result needs its event's receipt, and ends together with it") {
            storage async throws in
            let key = Samples.key("secret")
            let result = ReplyResult(outcome: "taken")
            let unknown = EventName("event", of: key)
            #expect(try await storage.report(result, of: unknown, at: later) == .unknownEvent)
            let first = try await event("event", of: key, in: storage)
            #expect(
                try await storage.report(result, of: first, at: later)
                    == .stored(Acknowledgement(at: later, result: result, resultAt: later)))
            let end = Samples.time + day
            #expect(try await storage.report(result, of: first, at: end) == .unknownEvent)
            #expect(try await storage.acknowledgements(of: [first], at: end) == [:])
            // The next event with the same ID begins without a result.
            let next = try await event("event", of: key, in: storage, at: end)
            let other = ReplyResult(outcome: "too_late")
            #expect(
                try await storage.report(other, of: next, at: end + 1)
                    == .stored(Acknowledgement(at: end + 1, result: other, resultAt: end + 1)))
        },

        ContractCase("of results at the same moment one is the first, and all callers learn which") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let event = try await event("event", of: Samples.key("secret"), in: storages[0])
                // Nil for each reply and the result of each report, in any order.
                let results = try await concurrently(40) { index -> AcknowledgementResult? in
                    let storage = storages[index % storages.count]
                    guard !index.isMultiple(of: 4) else {
                        _ = try await storage.acknowledge(event, reply: EventReply(action: "a"), at: later)
                        return nil
                    }
                    return try await storage.report(
                        ReplyResult(outcome: "refused", reason: "\(index)"), of: event, at: later)
                }
                let kept = try await storages[0].acknowledgements(of: [event], at: later)[event]
                let reasons = results.compactMap { result -> String? in
                    guard case .stored(let new) = result else { return nil }
                    return new.result?.reason
                }
                #expect(reasons.count == 1 && kept?.result?.reason == reasons.first)
                #expect(kept?.reply == EventReply(action: "a"))
            }
        },

        ContractCase(open: "a result is found under every hash of its secret") { storage async throws in
            let plain = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [2])), legacy: [plain.primary])
            let old = try await event("event", of: plain, in: storage)
            let reply = EventReply(action: "once")
            _ = try await storage.acknowledge(old, reply: reply, at: later)
            let name = EventName("event", of: key)
            let result = ReplyResult(outcome: "not_delivered")
            let known = Acknowledgement(
                at: later, reply: reply, repliedAt: later, result: result, resultAt: later + 1)
            #expect(try await storage.report(result, of: name, at: later + 1) == .stored(known))
            #expect(try await storage.acknowledgements(of: [old], at: later) == [old: known])
            #expect(try await storage.acknowledgements(of: [name], at: later) == [name: known])
        },

        ContractCase("results are stored although the history can't be written") { database async throws in
            let storage = try await database.open()
            let event = try await event("event", of: Samples.key("secret"), in: storage)
            try await database.run(["DROP TABLE history_item"])
            let result = ReplyResult(outcome: "taken")
            let known = Acknowledgement(at: later, result: result, resultAt: later)
            #expect(try await storage.report(result, of: event, at: later) == .stored(known))
            await storage.close()
        },

        ContractCase(open: "results that can't be stored unchanged are refused") { storage async throws in
            let event = try await event("event", of: Samples.key("secret"), in: storage)
            let long = { String(repeating: "x", count: $0 + 1) }
            for result in [
                ReplyResult(outcome: "a\0"), ReplyResult(outcome: long(StorageLimits.replyOutcomeBytes)),
                ReplyResult(outcome: "a", reason: long(StorageLimits.replyReasonBytes)),
                ReplyResult(sealed: long(StorageLimits.sealedBytes)),
            ] {
                await #expect(throws: StorageError.self) {
                    _ = try await storage.report(result, of: event, at: later)
                }
            }
            #expect(try await storage.acknowledgements(of: [event], at: later) == [:])
        },
    ]
}
