import Storage
import Testing

extension ContractCase {
    /// Cases of trial writes, which find out whether the database is writable.
    static let trials: [ContractCase] = [
        ContractCase("a trial write passes, also alongside others, and leaves no row in any table") {
            database async throws in
            let storage = try await database.open()
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            _ = try await concurrently(20) { index in
                try await storage.tryWriting(id: Samples.id(), at: Samples.time)
                try await storage.append([Samples.delivery(key)])
            }
            #expect(try await database.count(of: "device_registration") == 1)
            #expect(try await database.count(of: "delivery_log") == 20)
            for table in ["event_receipt", "pending_push"] {
                #expect(try await database.count(of: table) == 0, "\(table)")
            }
            if database.allowsSeveralWriters {
                #expect(try await database.count(of: "secret_lock") == 1)
            }
            await storage.close()
        },

        ContractCase("a trial write fails while the log can't be written, and concurrent calls don't") {
            database async throws in
            let storage = try await database.open()
            let key = Samples.key("secret")
            try await database.refuseLogRows(ofSession: nil)
            let results = try await concurrently(12) { index in
                do throws(StorageError) {
                    if index.isMultiple(of: 2) {
                        try await storage.tryWriting(id: Samples.id(), at: Samples.time)
                    } else {
                        try await storage.register(Samples.registration("token \(index)"), key)
                    }
                    return true
                } catch {
                    return false
                }
            }
            #expect(results.count { $0 } == 6)
            #expect(try await storage.tokens(of: key).count == 6)
            #expect(try await database.count(of: "device_registration") == 6)
            await storage.close()
        },

        ContractCase("a trial write fails on a full database, and passes once there is room") {
            database async throws in
            guard let storage = try await database.openAlmostFull() else { return }
            let key = Samples.key("secret")
            try await storage.tryWriting(id: Samples.id(), at: Samples.time)
            let error = try await failureOfTrial(onceFull: storage, key)
            guard case .full? = error else {
                Issue.record("a full database gave \(String(describing: error))")
                return await storage.close()
            }
            // All rows: a hundred scattered rows free no page, and a trial needs pages in several tables.
            _ = try await storage.prune(.deliveries, before: .max, limit: 100_000)
            try await storage.tryWriting(id: Samples.id(), at: Samples.time)
            await storage.close()
        },
    ]

    /// The error of a trial write on a full database.
    ///
    /// Filling may leave a page, because each row needed two. A trial may then pass, and the database is filled again.
    private static func failureOfTrial(
        onceFull storage: any Storage, _ key: SecretKey
    ) async throws -> StorageError? {
        for _ in 0..<5 {
            try await fill(storage, key)
            do throws(StorageError) {
                try await storage.tryWriting(id: Samples.id(), at: Samples.time)
            } catch {
                return error
            }
        }
        return nil
    }
}
