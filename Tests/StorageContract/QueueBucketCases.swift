import Storage
import Testing

extension ContractCase {
    static let queueBuckets: [ContractCase] = [
        ContractCase(open: "every part of the queue gets its turn even if one has a long backlog") {
            storage async throws in
            try await storage.fill(1, inBucket: 3, with: 3_000)
            var others: Set<SecretHash> = []
            for bucket in [0, 17, 40, 63] {
                others.formUnion(try await storage.fill(1, inBucket: bucket, with: 40, later: 1_000))
            }
            // Five parts have a backlog; a claim visits one or two of them.
            var claimed: Set<SecretHash> = []
            for _ in 0..<6 {
                let pushes = try await storage.claimPushes(
                    dueAt: Samples.time, lease: Samples.lease(), limit: 64, scope: .oldest)
                #expect(!pushes.isEmpty && pushes.count <= 64)
                claimed.formUnion(pushes.map(\.push.secretHash))
            }
            #expect(claimed.isSuperset(of: others))
            #expect(claimed.count == 5)
        },

        ContractCase(open: "a push that is alone in its part is taken at once, whatever waits elsewhere") {
            storage async throws in
            try await storage.fill(2, inBucket: 3, with: 600)
            let lone = try await storage.fill(1, inBucket: 9, with: 1, later: 1_000)
            let claimed = try await storage.claimPushes(
                dueAt: Samples.time, lease: Samples.lease(), limit: 6, scope: .oldest)
            #expect(claimed.count == 6)
            #expect(Set(claimed.map(\.push.secretHash)).isSuperset(of: lone))
        },

        ContractCase(open: "claims take every due push once, across many parts") {
            storage async throws in
            for bucket in 0..<32 {
                try await storage.fill(2, inBucket: bucket, with: 3 + bucket)
            }
            let total = 2 * (0..<32).reduce(0) { $0 + 3 + $1 }
            var held: [String] = []
            while try await storage.nextPushDue() ?? .max <= Samples.time {
                let scope: ClaimScope = held.count.isMultiple(of: 2) ? .oldest : .everySecret
                let claimed = try await storage.claimPushes(
                    dueAt: Samples.time, lease: Samples.lease(), limit: 101, scope: scope)
                #expect(!claimed.isEmpty)
                held += claimed.map(\.push.id)
            }
            #expect(held.count == total && Set(held).count == total)
        },

        ContractCase(open: "the queue's size is the number of pushes and the bytes of their payloads") {
            storage async throws in
            #expect(try await storage.measurePushes(limit: 9) == QueueSize())
            try await storage.fill(2, inBucket: 1, with: 3)
            let bytes = #"{"aps":{}}"#.utf8.count
            #expect(try await storage.measurePushes(limit: 9) == QueueSize(pushes: 6, bytes: 6 * bytes))
            #expect(try await storage.measurePushes(limit: 4) == QueueSize(pushes: 4, bytes: 4 * bytes))
        },

        ContractCase("pushes stored by a relay without parts are claimed like others") {
            database async throws in
            let storage = try await database.open()
            let hashes = try await storage.fill(3, inBucket: 20, with: 250)
            try await database.run(["UPDATE pending_push SET bucket = 0"])
            var claimed: [SecretHash] = []
            while try await storage.nextPushDue() ?? .max <= Samples.time {
                let pushes = try await storage.claimPushes(
                    dueAt: Samples.time, lease: Samples.lease(), limit: 200, scope: .oldest)
                #expect(!pushes.isEmpty)
                claimed += pushes.map(\.push.secretHash)
            }
            #expect(claimed.count == 750 && Set(claimed) == hashes)
            await storage.close()
        },
    ]
}

extension Storage {
    /// Stores a number of pushes for each of several secrets in one part of the queue; returns the secrets' hashes.
    @discardableResult
    fileprivate func fill(
        _ secrets: Int, inBucket bucket: Int, with count: Int, later delay: EpochMilliseconds = 0
    ) async throws -> Set<SecretHash> {
        var hashes: Set<SecretHash> = []
        for key in Samples.keys(secrets, inBucket: bucket) {
            let device = try await registered("aa", key)
            let pushes = (0..<count).map { _ in
                Samples.pending(device, dueAt: Samples.time - 5_000 + delay)
            }
            _ = try await enqueue(pushes, lease: nil, limitPerSecret: 100_000)
            hashes.insert(key.primary)
        }
        return hashes
    }
}
