import Storage
import Testing

extension ContractCase {
    static let queueRepeats: [ContractCase] = [
        ContractCase(open: "repeating an append stores missing rows and leaves stored rows as they are") {
            storage async throws in
            let key = Samples.key("secret")
            let rows = (0..<71).map { Samples.delivery(key, at: Samples.time + Int64($0)) }
            try await storage.append(Array(rows.prefix(40)))
            let changed = rows.map { row in
                Samples.delivery(key, id: row.id, status: .failed, error: "changed", at: row.createdAt)
            }
            try await storage.append(changed, isRepeated: true)
            let log = try await storage.deliveries(of: key, before: nil, limit: 99)
            #expect(log.count == 71 && log.count { $0.error == "changed" } == 31)
        },

        ContractCase(open: "repeating an enqueue doesn't store a push that has ended since") {
            storage async throws in
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let pushes = (0..<3).map { _ in Samples.pending(device) }
            _ = try await storage.enqueue([pushes[0], pushes[1]], lease: nil, limitPerSecret: 9)
            // The first has ended meanwhile, the second is waiting, and the third was never stored.
            let lease = Samples.lease()
            _ = try await storage.claimPushes(dueAt: Samples.time, lease: lease, limit: 9, scope: .oldest)
            let ends = [Samples.over(pushes[0], lease.owner), Samples.again(pushes[1], lease.owner)]
            #expect(try await storage.settle(ends) == [true, true])
            let results = try await storage.enqueue(
                pushes, lease: nil, limitPerSecret: 9, isRepeated: true)
            #expect(results == [.queued, .queued, .queued])
            let waiting = try await storage.claimed(Samples.lease()).map(\.push.id)
            #expect(Set(waiting) == [pushes[1].id, pushes[2].id])
        },
    ]

    static let unwritableLog: [ContractCase] = [
        ContractCase("a push can be settled without a log row when the log refuses it") {
            database async throws in
            let storage = try await database.open()
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let pushes = [Samples.pending(device), Samples.pending(device)]
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
            let lease = Samples.lease()
            _ = try await storage.claimed(lease)
            try await database.refuseLogRows(ofSession: nil)
            let ends = [Samples.over(pushes[0], lease.owner), Samples.again(pushes[1], lease.owner)]
            await expectRefusal { _ = try await storage.settle(ends) }
            #expect(try await storage.countPushes(limit: 9) == 2)
            #expect(try await storage.settle(ends, logging: false) == [true, true])
            #expect(try await storage.settle(ends, logging: false) == [false, false])
            #expect(try await storage.claimed(Samples.lease()).map(\.push.id) == [pushes[1].id])
            #expect(try await database.count(of: "delivery_log") == 0)
            await storage.close()
        },

        ContractCase("a refused log row fails its batch, and the other rows can be written without it") {
            database async throws in
            let storage = try await database.open()
            let key = Samples.key("secret")
            _ = try await storage.registered("aa", key)
            try await database.refuseLogRows(ofSession: "bad")
            let rows = (0..<70).map { number in
                Samples.delivery(key, sessionID: number == 40 ? "bad" : "good")
            }
            await expectRefusal { try await storage.append(rows) }
            #expect(try await database.count(of: "delivery_log") == 0)
            try await storage.append(rows.filter { $0.sessionID == "good" })
            #expect(try await database.count(of: "delivery_log") == 69)
            await expectRefusal { try await storage.append([rows[40]]) }
            await storage.close()
        },

        ContractCase("a device and its waiting pushes can be removed while the log can't be written") {
            database async throws in
            let storage = try await database.open()
            let key = Samples.key("secret")
            let devices = [
                try await storage.registered("aa", key), try await storage.registered("bb", key),
                try await storage.registered("cc", key),
            ]
            let pushes = devices.map { Samples.pending($0) }
            let held = devices.map { Samples.pending($0) }
            let lease = Samples.lease()
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
            _ = try await storage.enqueue(held, lease: lease, limitPerSecret: 9)
            try await database.refuseLogRows(ofSession: nil)
            #expect(try await storage.unregister(token: "aa", under: key))
            #expect(try await storage.unregister(token: "aa", under: key) == false)
            #expect(try await storage.remove(devices[1], ifNotUpdatedAfter: .max))
            #expect(try await storage.tokens(of: key) == ["cc"])
            let claimed = try await storage.claimed(at: Samples.time)
            #expect(claimed.map(\.push.id) == [pushes[2].id])
            // Leased pushes are ended by the lease's holder.
            let ends = held.map { Samples.over($0, lease.owner) }
            #expect(try await storage.settle(ends, logging: false) == [true, true, true])
            await storage.close()
        },

        ContractCase("a full database still lets devices be removed and pushes be claimed and settled") {
            database async throws in
            guard let storage = try await database.openAlmostFull() else { return }
            let key = Samples.key("secret")
            let device = try await storage.registered("aa", key)
            let other = try await storage.registered("bb", key)
            let pushes = (0..<6).map { _ in Samples.pending(device) }
            _ = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 9)
            _ = try await storage.enqueue([Samples.pending(other)], lease: nil, limitPerSecret: 9)
            try await fill(storage, key)
            let lease = Samples.lease()
            #expect(try await storage.claimed(lease).count == 7)
            // Concurrently with calls that need room, with which they may share a transaction.
            let settled = try await concurrently(12) { index -> [Bool] in
                guard index.isMultiple(of: 2) else {
                    let long = Samples.delivery(key, error: String(repeating: "e", count: 1_000))
                    try? await storage.append(Array(repeating: long, count: 1) + [Samples.delivery(key)])
                    return []
                }
                return try await storage.settle(
                    [Samples.over(pushes[index / 2], lease.owner)], logging: false)
            }
            #expect(settled.flatMap(\.self) == Array(repeating: true, count: 6))
            #expect(try await storage.countPushes(limit: 9) == 1)
            #expect(try await storage.unregister(token: "bb", under: key))
            await storage.close()
        },
    ]

    /// Appends to the log until no more rows fit.
    static func fill(_ storage: any Storage, _ key: SecretKey) async throws {
        // Many small rows: a row that needs two pages is refused while another could still find the page that it needs.
        for bytes in [200] + Array(repeating: 0, count: 20) {
            for _ in 0..<10_000 {
                do throws(StorageError) {
                    try await storage.append([
                        Samples.delivery(key, error: String(repeating: "e", count: bytes))
                    ])
                } catch {
                    guard case .full = error else { throw error }
                    break
                }
            }
        }
    }

    /// Expects a call to fail with an error that isn't transient but can be cured.
    private static func expectRefusal(_ call: () async throws -> Void) async {
        let error = await #expect(throws: StorageError.self) { try await call() }
        #expect(error?.isTransient == false && error?.canBeCured == true, "\(String(describing: error))")
    }
}
