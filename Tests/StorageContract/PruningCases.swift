import Storage
import Testing

extension ContractCase {
    static let prunings: [ContractCase] = [
        ContractCase(open: "a walk over expired rows removes all of them and returns where to continue") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.append((0..<10).map { Samples.delivery(key, at: Samples.time + $0) })
            func step(from start: EpochMilliseconds) async throws -> Pruning {
                try await storage.prune(.deliveries, from: start, before: Samples.time + 7, limit: 3)
            }
            #expect(try await step(from: .min) == Pruning(removed: 3, next: Samples.time + 3))
            #expect(try await step(from: Samples.time + 3) == Pruning(removed: 3, next: Samples.time + 6))
            #expect(try await step(from: Samples.time + 6) == Pruning(removed: 1))
            #expect(try await step(from: .min) == Pruning(removed: 0))
            #expect(try await storage.deliveries(of: key, before: nil, limit: 100).count == 3)
        },

        ContractCase(open: "a step leaves rows before its start") { storage async throws in
            let key = Samples.key("secret")
            try await storage.append((0..<4).map { Samples.delivery(key, at: Samples.time + $0) })
            let pruning = try await storage.prune(
                .deliveries, from: Samples.time + 1, before: Samples.time + 3, limit: 9)
            #expect(pruning == Pruning(removed: 2))
            let left = try await storage.deliveries(of: key, before: nil, limit: 9)
            #expect(left.map(\.createdAt) == [Samples.time + 3, Samples.time])
        },

        ContractCase(open: "rows with equal times that exceed a step's limit are removed in several steps") {
            storage async throws in
            let keys = [Samples.key("mine"), Samples.key("yours")]
            try await storage.append((0..<10).map { Samples.delivery(keys[$0 % 2]) })
            try await storage.append([Samples.delivery(keys[0], at: Samples.time - 1)])
            func step(from start: EpochMilliseconds) async throws -> Pruning {
                try await storage.prune(.deliveries, from: start, before: .max, limit: 4)
            }
            #expect(try await step(from: .min) == Pruning(removed: 1, next: Samples.time))
            #expect(try await step(from: Samples.time) == Pruning(removed: 4, next: Samples.time))
            // A walk that starts over also makes progress.
            #expect(try await step(from: .min) == Pruning(removed: 4, next: Samples.time))
            #expect(try await step(from: Samples.time) == Pruning(removed: 2))
            #expect(try await storage.deliveries(of: keys[0], before: nil, limit: 9) == [])
        },

        ContractCase("concurrent walks remove each row once and leave none") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                for batch in 0..<4 {
                    try await storages[0].append(
                        (0..<500).map { index in
                            Samples.delivery(
                                Samples.key("secret \(index % 7)"),
                                at: Samples.time + Int64(batch * 100 + index / 5))
                        })
                }
                let removed = try await concurrently(8) { index in
                    var sum = 0
                    var start: EpochMilliseconds? = .min
                    while let from = start {
                        let pruning = try await storages[index % storages.count].prune(
                            .deliveries, from: from, before: Samples.time + 390, limit: 20 + 10 * index)
                        sum += pruning.removed
                        start = pruning.next
                    }
                    return sum
                }
                #expect(removed.reduce(0, +) == 1_950)
                #expect(try await database.count(of: "delivery_log") == 50)
            }
        },
    ]
}

extension PruningStorage {
    /// Removes expired rows in one step and returns their number.
    func prune(
        _ table: ExpiringTable, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> Int {
        try await prune(table, from: .min, before: end, limit: limit).removed
    }
}
