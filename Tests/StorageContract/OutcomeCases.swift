import Storage
import Testing

private let start = Samples.time

/// Gives a secret pushes, acknowledgements and replies, some at the same time; returns its outcomes in order.
private func fillWithOutcomes(
    _ storage: any Storage, _ key: SecretKey, _ name: String = ""
) async throws -> [String] {
    let devices = (0..<3).map { Samples.device(key, "token \($0)") }
    let shared = Samples.delivery(key, at: start, toAll: devices, of: "é")
    let failed = Samples.delivery(
        key, id: name + "b", status: .failed, error: "Unregistered", at: start + 1, to: "a", of: "e")
    let capital = Samples.delivery(key, id: name + "B", at: start + 1, to: "a")
    try await storage.append([failed, shared, capital])
    for id in ["é", "E", "e"] {
        #expect(try await storage.claim(Samples.claim(id, under: key, at: start - 9)) == .claimed)
    }
    let reply = EventReply(action: "once", text: "é🦊")
    _ = try await storage.acknowledge(EventName("é", of: key), reply: nil, at: start + 1)
    _ = try await storage.acknowledge(EventName("e", of: key), reply: nil, at: start + 1)
    _ = try await storage.acknowledge(EventName("E", of: key), reply: reply, at: start + 1)
    _ = try await storage.acknowledge(EventName("é", of: key), reply: EventReply(sealed: "AQ"), at: start + 2)
    return shared.singles.map { "\($0.id) sent é" } + [
        name + "B sent", name + "b failed Unregistered e", "E seen", "e seen", "é seen", "E once é🦊", "é AQ",
    ]
}

/// Describes an outcome in words.
private func words(_ outcome: FinalOutcome) -> String {
    switch outcome.content {
    case .push(let push):
        [push.id, push.status.rawValue, push.error, push.eventID].compactMap(\.self).joined(separator: " ")
    case .acknowledgement: outcome.position.id + " seen"
    case .reply(let reply):
        [outcome.position.id, reply.action, reply.text, reply.sealed].compactMap(\.self).joined(
            separator: " ")
    }
}

extension ContractCase {
    static let outcomes: [ContractCase] = [
        ContractCase(open: "outcomes are listed in order, on pages of any size, each once") {
            storage async throws in
            let key = Samples.key("secret")
            let expected = try await fillWithOutcomes(storage, key)
            _ = try await fillWithOutcomes(storage, Samples.key("other"), "other")
            for limit in [1, 2, 3, 4, 100] {
                var listed: [String] = []
                var position = OutcomePosition(before: start)
                while true {
                    let page = try await storage.outcomes(
                        of: key, after: position, before: .max, limit: limit)
                    #expect(page.count <= limit)
                    guard let last = page.last else { break }
                    listed += page.map(words)
                    position = last.position
                }
                #expect(listed == expected, "\(limit)")
            }
        },

        ContractCase(open: "outcomes are listed from a time on and before another") { storage async throws in
            let key = Samples.key("secret")
            let expected = try await fillWithOutcomes(storage, key)
            func listed(from first: Int64, before end: Int64) async throws -> [String] {
                try await storage.outcomes(
                    of: key, after: OutcomePosition(before: start + first), before: start + end, limit: 100
                ).map(words)
            }
            #expect(try await listed(from: -1, before: 0) == [])
            #expect(try await listed(from: -1, before: 1) == Array(expected.prefix(3)))
            #expect(try await listed(from: 1, before: 2) == Array(expected.dropFirst(3).dropLast()))
            #expect(try await listed(from: 2, before: 3) == Array(expected.suffix(1)))
            #expect(try await listed(from: 3, before: 9) == [])
        },

        ContractCase(open: "outcomes under a secret's legacy hash are listed with the others") {
            storage async throws in
            let old = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [2])), legacy: [old.primary])
            let earlier = Samples.delivery(old, id: "a", at: start)
            let later = Samples.delivery(key, id: "0", at: start + 1)
            let last = Samples.delivery(old, id: "b", at: start + 2)
            try await storage.append([last, later, earlier])
            let page = try await storage.outcomes(
                of: key, after: OutcomePosition(before: 0), before: .max, limit: 2)
            #expect(page.map(words) == ["a sent", "0 sent"])
            let position = try #require(page.last?.position)
            let rest = try await storage.outcomes(of: key, after: position, before: .max, limit: 2)
            #expect(rest.map(words) == ["b sent"])
            let none = try await storage.outcomes(
                of: Samples.key("other"), after: OutcomePosition(before: 0), before: .max, limit: 2)
            #expect(none == [])
        },
    ]
}
