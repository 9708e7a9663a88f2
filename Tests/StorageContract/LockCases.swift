import Storage
import Testing

/// Cases in which two transactions meet at a row, which the test locks without the storage.
extension ServerCase {
    static let locks: [ServerCase] = [
        ServerCase("a push stored while its secret's rows are being moved keeps its device") {
            database, _ async throws in
            let storage = try await database.open(.patient)
            let old = Samples.key("secret")
            let new = SecretKey(primary: SecretHash(Digest256(of: [1])), legacy: [old.primary])
            let device = try await storage.registered("aa", old)
            // Its ID sorts before that of the push stored first, on which the move is blocked.
            let late = Samples.pending(device)
            let first = Samples.pending(device)
            _ = try await storage.enqueue([first], lease: nil, limitPerSecret: 99)
            let holder = try database.connect()
            try holder.run("BEGIN")
            _ = try holder.execute(
                "UPDATE pending_push SET attempts = 7 WHERE secret_hash = ? AND id = ?",
                [.hash(old.primary), .text(first.id)])
            async let moved = storage.rehash(new)
            try await untilWaiting(1, database)
            async let stored = storage.enqueue([late], lease: nil, limitPerSecret: 99)
            try await untilWaiting(2, database, or: { try await storage.countPushes(limit: 9) == 2 })
            try holder.run("COMMIT")
            #expect(try await moved)
            let result = try await stored
            let claimed = try await storage.claimed(at: Samples.time)
            #expect(claimed.count == (result == [.queued] ? 2 : 1))
            #expect(claimed.allSatisfy { $0.device?.id == device.id })
            await storage.close()
        },

        ServerCase(
            "locks of secrets without devices are removed in steps, and their secrets can get devices again"
        ) {
            database, _ async throws in
            let storage = try await database.open(.patient)
            let keys = (0..<5).map { Samples.key("secret \($0)") }
            for key in keys { try await storage.register(Samples.registration("aa"), key) }
            for key in keys[..<3] {
                _ = try await storage.unregister(token: "aa", under: key, at: Samples.time)
            }
            var (removed, start) = (0, "" as String?)
            for _ in 0..<9 {
                guard let from = start else { break }
                let step = try await storage.pruneLocks(after: from, limit: 2)
                (removed, start) = (removed + step.removed, step.next)
            }
            #expect(removed == 3 && start == nil)
            #expect(try await database.count(of: "secret_lock") == 2)
            for key in keys {
                let result = try await storage.register(
                    Samples.registration("bb"), under: key, deviceLimit: 2)
                #expect(result == .created)
            }
            #expect(try await database.count(of: "secret_lock") == 5)
            await storage.close()
        },

        ServerCase("a call removes a bounded number of locks, and the next one continues after them") {
            database, _ async throws in
            let storage = try await database.open(.patient)
            let count = StorageLimits.locksRemovedPerCall + 20
            let connection = try database.connect()
            for number in 0..<count {
                _ = try connection.execute(
                    "INSERT INTO secret_lock (secret_hash, registrations) VALUES (?, 0)",
                    [.hash(Samples.key("secret \(number)").primary)])
            }
            try await storage.register(Samples.registration("aa"), Samples.key("secret 0"))
            let first = try await storage.pruneLocks(after: "", limit: 1_000)
            #expect(first.removed == StorageLimits.locksRemovedPerCall)
            let second = try await storage.pruneLocks(after: try #require(first.next), limit: 1_000)
            #expect(second.removed == 19 && second.next == nil)
            #expect(try await database.count(of: "secret_lock") == 1)
            await storage.close()
        },

        ServerCase("no schedule is left if it is stored while its secret loses its last device or is revoked")
        {
            database, _ async throws in
            let storage = try await database.open(.patient)
            for isRevoked in [false, true] {
                let key = Samples.key("secret \(isRevoked)")
                try await storage.register(Samples.registration("aa"), key)
                let old = Samples.schedule(key, name: "daily")
                #expect(try await storage.create(old, under: key, limit: 9) == .created)
                let holder = try database.connect()
                try holder.run("BEGIN")
                _ = try holder.execute(
                    "UPDATE schedule SET skipped = 1 WHERE secret_hash = ? AND id = ?",
                    [.hash(key.primary), .text(old.id.text)])
                // The call has found the device and is waiting for the row that it replaces.
                async let created = storage.create(
                    Samples.schedule(key, name: "daily"), under: key, limit: 9)
                try await untilWaiting(1, database)
                async let left = removeAll(of: key, storage, isRevoked: isRevoked)
                try await untilWaiting(2, database)
                try holder.run("COMMIT")
                #expect(try await created == .replaced(old.id))
                try await left
                #expect(try await storage.devices(of: key) == [])
                #expect(try await storage.schedules(of: key, kind: .schedule, limit: 9) == [])
            }
            await storage.close()
        },

        ServerCase("an event that is answered while it is taken over stays answered") {
            database, _ async throws in
            let storage = try await database.open(.patient)
            let old = Samples.key("secret")
            let new = SecretKey(primary: SecretHash(Digest256(of: [1])), legacy: [old.primary])
            // The receipt is first under the claim's primary hash, then under a legacy one.
            for (key, eventID) in [(old, "event 1"), (new, "event 2")] {
                let slow = Samples.claim(eventID, under: old, lease: 1_000)
                #expect(try await storage.claim(slow) == .claimed)
                let holder = try database.connect()
                try holder.run("BEGIN")
                _ = try holder.execute(
                    "UPDATE event_receipt SET answer = ? WHERE secret_hash = ? AND event_id = ?",
                    [.blob([7]), .hash(old.primary), .text(eventID)])
                // The claim finds that the lease is over without an answer, and waits to take over the row.
                let next = Samples.claim(eventID, under: key, at: Samples.time + 2_000)
                async let claimed = storage.claim(next)
                try await untilWaiting(1, database)
                try holder.run("COMMIT")
                #expect(try await claimed == .answered([7]))
            }
            await storage.close()
        },
    ]

    private static func removeAll(
        of key: SecretKey, _ storage: any Storage, isRevoked: Bool
    ) async throws {
        if isRevoked {
            _ = try await storage.revoke(key, limit: 99)
        } else {
            #expect(try await storage.unregister(token: "aa", under: key, at: Samples.time))
        }
    }

    /// Waits for at most half a minute until this many sessions wait for a row, or until another condition holds.
    private static func untilWaiting(
        _ count: Int, _ database: any ServerDatabase, or isDone: () async throws -> Bool = { false }
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while try database.countLockWaits() < count, try await !isDone() {
            try #require(ContinuousClock.now < deadline, "nobody waits for the row")
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
