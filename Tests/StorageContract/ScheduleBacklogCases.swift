import Storage
import Testing

extension ContractCase {
    /// Cases with more due schedules than a claim reads at once.
    static let scheduleBacklogs: [ContractCase] = [
        ContractCase(
            open: "every secret's schedule is claimed early, however many older ones another secret has"
        ) {
            storage async throws in
            let total = 700
            try await storage.fill(inBucket: 3, with: total)
            var others: Set<SecretHash> = []
            for bucket in [0, 17, 40, 63] {
                others.insert(try await storage.fill(inBucket: bucket, with: 1, later: 1_000))
            }
            var claimed: Set<SecretHash> = []
            // Together the claims visit every part of the table once, and the backlog lasts throughout.
            let step = StorageLimits.scheduleBucketsPerClaim
            #expect(total - StorageLimits.buckets / step * 16 >= StorageLimits.claimWindow)
            for bucket in stride(from: 0, to: StorageLimits.buckets, by: step) {
                let held = try await storage.claim(16, from: bucket)
                #expect(!held.isEmpty && held.count <= 16)
                claimed.formUnion(held.map(\.schedule.secretHash))
            }
            #expect(claimed.isSuperset(of: others))
            #expect(claimed.count == 5)
        },

        ContractCase(open: "a claim takes the backlog if the parts of the table that it searches are empty") {
            storage async throws in
            let busy = try await storage.fill(inBucket: 20, with: StorageLimits.claimWindow + 8)
            let oldest = try await storage.claim(8, from: 21)
            #expect(oldest.count == 8)
            #expect(oldest.allSatisfy { $0.schedule.secretHash == busy && $0.schedule.nextAt < Samples.time })
        },

        ContractCase("claims of several storages take each schedule of a backlog once") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                var total = 0
                for (bucket, count) in [(3, 530), (4, 9), (40, 60), (63, 1)] {
                    try await storages[0].fill(inBucket: bucket, with: count)
                    total += count
                }
                var held: [ClaimedSchedule] = []
                var turn = 0
                while try await storages[0].nextScheduleDue(at: Samples.time) != nil {
                    let claimed = try await storages[turn % storages.count].claim(
                        17, from: turn * 7 % StorageLimits.buckets)
                    try #require(!claimed.isEmpty)
                    held += claimed
                    turn += 1
                }
                #expect(held.count == total)
                #expect(Set(held.map(\.schedule.id)).count == total)
                // Every lease is valid.
                for (index, claimed) in held.enumerated() {
                    #expect(try await storages[index % storages.count].settle(claimed, .over))
                }
                #expect(try await storages[0].countSchedules(limit: total) == 0)
            }
        },
    ]
}

extension Storage {
    /// Stores the given number of due schedules of one secret in a part of the table; returns the secret's hash.
    @discardableResult
    fileprivate func fill(
        inBucket bucket: Int, with count: Int, later: EpochMilliseconds = 0
    ) async throws -> SecretHash {
        let key = Samples.keys(1, inBucket: bucket)[0]
        try await register(Samples.registration("aa"), key)
        for index in 0..<count {
            let due = Samples.time - 2_000 + later + Int64(index)
            #expect(try await create(Samples.schedule(key, at: due), under: key, limit: count) == .created)
        }
        return key.primary
    }

    fileprivate func claim(_ limit: Int, from bucket: Int) async throws(StorageError) -> [ClaimedSchedule] {
        try await claimSchedules(
            dueAt: Samples.time, lease: Samples.lease(), limit: limit, from: bucket)
    }
}
