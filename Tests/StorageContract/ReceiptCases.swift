import Storage
import Testing

extension ContractCase {
    static let receipts: [ContractCase] = [
        ContractCase(open: "an event is claimed, is in progress for others, and is then answered") {
            storage async throws in
            let key = Samples.key("secret")
            let first = Samples.claim("event", under: key)
            #expect(try await storage.claim(first) == .claimed)
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .inProgress)
            let answer = Array(UInt8.min...UInt8.max)
            #expect(try await storage.complete(first, answer: answer))
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .answered(answer))
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .answered(answer))
        },

        ContractCase(open: "an empty answer is stored as an answer") { storage async throws in
            let claim = Samples.claim("event", under: Samples.key("secret"))
            #expect(try await storage.claim(claim) == .claimed)
            #expect(try await storage.complete(claim, answer: []))
            #expect(try await storage.claim(Samples.claim("event", under: claim.key)) == .answered([]))
        },

        ContractCase(open: "the same event id with other content is a conflict") { storage async throws in
            let key = Samples.key("secret")
            let first = Samples.claim("event", under: key)
            let other = Samples.claim("event", under: key, content: "other")
            #expect(try await storage.claim(first) == .claimed)
            #expect(try await storage.claim(other) == .conflict)
            #expect(try await storage.complete(first, answer: [1]))
            #expect(try await storage.claim(other) == .conflict)
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .answered([1]))
        },

        ContractCase(open: "events that are claimed together get the results that they would get alone") {
            storage async throws in
            let key = Samples.key("secret")
            #expect(try await storage.claim([]).isEmpty)
            let old = Samples.claim("old", under: key)
            #expect(try await storage.claim([old]).map { try $0.get() } == [.claimed])
            #expect(try await storage.complete(old, answer: [9]))
            #expect(try await storage.claim(Samples.claim("open", under: key)) == .claimed)
            let new = (0..<100).map { Samples.claim("new \($0)", under: key) }
            let results = try await storage.claim(
                new + [
                    Samples.claim("old", under: key), Samples.claim("open", under: key),
                    Samples.claim("old", under: key, content: "other"),
                    Samples.claim("twice", under: key), Samples.claim("twice", under: key),
                ]
            ).map { try $0.get() }
            #expect(results.prefix(100).allSatisfy { $0 == .claimed })
            #expect(results[100..<103] == [.answered([9]), .inProgress, .conflict])
            #expect(Set(results[103...]) == [.claimed, .inProgress])
            #expect(try await storage.complete(new[99], answer: [1]))
            #expect(try await storage.claim(Samples.claim("new 99", under: key)) == .answered([1]))
        },

        ContractCase("of concurrent claims to an event, exactly one succeeds") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                for round in 0..<10 {
                    let results = try await concurrently(20) { index in
                        try await storages[index % storages.count].claim(
                            Samples.claim("event \(round)", under: Samples.key("secret")))
                    }
                    #expect(results.count { $0 == .claimed } == 1)
                    #expect(results.count { $0 == .inProgress } == 19)
                }
            }
        },

        ContractCase("concurrent claims and answers of many events don't mix") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let keys = ["one", "two", "three"].map { Samples.key($0) }
                let old = Samples.claim("old", under: keys[0])
                #expect(try await storages[0].claim(old) == .claimed)
                #expect(try await storages[0].complete(old, answer: [9]))
                // A third of the events are new, a third were answered, and a third have different content.
                let results = try await concurrently(90) { index -> (Int, EventClaimResult) in
                    let storage = storages[index % storages.count]
                    switch index % 3 {
                    case 0:
                        let claim = Samples.claim("new \(index)", under: keys[index % 9 / 3])
                        let result = try await storage.claim(claim)
                        #expect(try await storage.complete(claim, answer: [UInt8(index)]))
                        return (index, result)
                    case 1: return (index, try await storage.claim(Samples.claim("old", under: keys[0])))
                    default:
                        let claim = Samples.claim("old", under: keys[0], content: "other")
                        #expect(try await !storage.complete(claim, answer: [1]))
                        return (index, try await storage.claim(claim))
                    }
                }
                for (index, result) in results {
                    let expected: [EventClaimResult] = [.claimed, .answered([9]), .conflict]
                    #expect(result == expected[index % 3])
                    guard index.isMultiple(of: 3) else { continue }
                    let again = Samples.claim("new \(index)", under: keys[index % 9 / 3])
                    #expect(try await storages[0].claim(again) == .answered([UInt8(index)]))
                }
            }
        },

        ContractCase("relays that receive an event concurrently handle it once and give the same answer") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let key = Samples.key("secret")
                let handled = Guarded(0)
                let answers = try await concurrently(12) { index -> [UInt8] in
                    let storage = storages[index % storages.count]
                    while true {
                        let claim = Samples.claim("event", under: key)
                        switch try await storage.claim(claim) {
                        case .claimed:
                            handled.withLock { $0 += 1 }
                            #expect(try await storage.complete(claim, answer: [UInt8(index)]))
                            return [UInt8(index)]
                        case .inProgress: await Task.yield()
                        case .answered(let answer): return answer
                        case .conflict: return []
                        }
                    }
                }
                #expect(handled.withLock { $0 } == 1)
                #expect(Set(answers).count == 1 && answers.allSatisfy { !$0.isEmpty })
            }
        },

        ContractCase(open: "a relay whose clock is a minute ahead can't take an event that another handles") {
            storage async throws in
            let key = Samples.key("secret")
            // Leases as relays make them: the event takes at most 10 s, and clocks may differ by a minute.
            let first = Samples.claim("event", under: key, lease: 10_000 + 60_000)
            #expect(try await storage.claim(first) == .claimed)
            for elapsed: EpochMilliseconds in [0, 9_999] {
                let ahead = Samples.claim("event", under: key, at: Samples.time + elapsed + 60_000)
                #expect(try await storage.claim(ahead) == .inProgress)
            }
            #expect(try await storage.complete(first, answer: [1]))
        },

        ContractCase(open: "event ids compare byte for byte and belong to one secret") {
            storage async throws in
            let (mine, yours) = (Samples.key("mine"), Samples.key("yours"))
            for eventID in Samples.confusable {
                let claim = Samples.claim(eventID, under: mine)
                #expect(try await storage.claim(claim) == .claimed)
                #expect(try await storage.complete(claim, answer: Array(eventID.utf8)))
            }
            for eventID in Samples.confusable {
                let again = Samples.claim(eventID, under: mine)
                #expect(try await storage.claim(again) == .answered(Array(eventID.utf8)))
                #expect(try await storage.claim(Samples.claim(eventID, under: yours)) == .claimed)
            }
        },

        ContractCase(open: "an event ID with a NUL or too many bytes and an overlong answer are refused") {
            storage async throws in
            let key = Samples.key("secret")
            let long = String(repeating: "e", count: StorageLimits.eventIDBytes + 1)
            for eventID in ["a\0", long] {
                await #expect(throws: StorageError.invalidValue(field: "eventID")) {
                    try await storage.claim(Samples.claim(eventID, under: key))
                }
            }
            let claim = Samples.claim("event", under: key)
            #expect(try await storage.claim(claim) == .claimed)
            await #expect(throws: StorageError.invalidValue(field: "answer")) {
                try await storage.complete(
                    claim, answer: [UInt8](repeating: 0, count: StorageLimits.answerBytes + 1))
            }
            let longest = [UInt8](repeating: 7, count: StorageLimits.answerBytes)
            #expect(try await storage.complete(claim, answer: longest))
            #expect(try await storage.claim(Samples.claim("event", under: key)) == .answered(longest))
        },

        ContractCase(open: "a released event can be claimed at once, an answered one isn't released") {
            storage async throws in
            let key = Samples.key("secret")
            let first = Samples.claim("event", under: key)
            #expect(try await storage.claim(first) == .claimed)
            try await storage.release(first)
            try await storage.release(first)
            let second = Samples.claim("event", under: key, content: "other")
            #expect(try await storage.claim(second) == .claimed)
            try await storage.release(first)
            #expect(try await !storage.complete(first, answer: [1]))
            #expect(try await storage.complete(second, answer: [2]))
            try await storage.release(second)
            let third = Samples.claim("event", under: key, content: "other")
            #expect(try await storage.claim(third) == .answered([2]))
        },

        ContractCase(
            open: "a claim with an expired lease is taken over, and its former owner can no longer answer"
        ) {
            storage async throws in
            let key = Samples.key("secret")
            let dead = Samples.claim("event", under: key, lease: 1_000)
            #expect(try await storage.claim(dead) == .claimed)
            let early = Samples.claim("event", under: key, at: Samples.time + 999)
            #expect(try await storage.claim(early) == .inProgress)
            let other = Samples.claim("event", under: key, content: "other", at: Samples.time + 1_000)
            #expect(try await storage.claim(other) == .conflict)
            let next = Samples.claim("event", under: key, at: Samples.time + 1_000)
            #expect(try await storage.claim(next) == .claimed)
            #expect(try await !storage.complete(dead, answer: [1]))
            try await storage.release(dead)
            let third = Samples.claim("event", under: key, at: Samples.time + 1_001)
            #expect(try await storage.claim(third) == .inProgress)
            #expect(try await storage.complete(next, answer: [2]))
            #expect(try await storage.claim(third) == .answered([2]))
        },

        ContractCase(open: "an answer is valid for exactly 24 hours") {
            storage async throws in
            let key = Samples.key("secret")
            let first = Samples.claim("event", under: key)
            #expect(try await storage.claim(first) == .claimed)
            #expect(try await storage.complete(first, answer: [1]))
            let end = Samples.time + StorageLimits.receiptLifetime
            let late = Samples.claim("event", under: key, at: end - 1)
            #expect(try await storage.claim(late) == .answered([1]))
            let after = Samples.claim("event", under: key, content: "other", at: end)
            #expect(try await storage.claim(after) == .claimed)
        },

        ContractCase(open: "expired receipts are removed in steps, and others stay") { storage async throws in
            let key = Samples.key("secret")
            for index in 0..<5 {
                let claim = Samples.claim("event \(index)", under: key, at: Samples.time + Int64(index))
                #expect(try await storage.claim(claim) == .claimed)
                #expect(try await storage.complete(claim, answer: [UInt8(index)]))
            }
            let now = Samples.time + StorageLimits.receiptLifetime + 2
            #expect(try await storage.prune(.receipts, before: now + 1, limit: 2) == 2)
            #expect(try await storage.prune(.receipts, before: now + 1, limit: 2) == 1)
            #expect(try await storage.prune(.receipts, before: now + 1, limit: 2) == 0)
            let kept = Samples.claim("event 3", under: key, at: Samples.time + 10)
            #expect(try await storage.claim(kept) == .answered([3]))
        },
    ]
}
