import Storage
import Testing

extension ContractCase {
    static let schedules: [ContractCase] = [
        ContractCase(open: "a schedule keeps every value, and is listed by its next time") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let late = Samples.schedule(key, name: " é🦊 ", rule: "{}", at: Samples.time + 9, window: 30_000)
            let early = Samples.schedule(key, content: String(repeating: "🦊", count: 8_192))
            for schedule in [late, early] {
                #expect(try await storage.create(schedule, under: key, limit: 9) == .created)
            }
            #expect(try await storage.list(key) == [early, late])
            #expect(try await storage.schedules(of: key, kind: .schedule, limit: 1) == [early])
            #expect(try await storage.schedules(of: key, kind: .held, limit: 9) == [])
            #expect(try await storage.list(Samples.key("Secret")) == [])
            #expect(late.dueAt >= late.nextAt && late.dueAt < late.nextAt + 30_000)
            for wrong in [
                Samples.schedule(key, name: "a\0"),
                Samples.schedule(key, name: String(repeating: "a", count: 129)),
                Samples.schedule(key, content: String(repeating: "a", count: 32_769)),
            ] {
                await #expect(throws: StorageError.self) {
                    _ = try await storage.create(wrong, under: key, limit: 9)
                }
            }
        },

        ContractCase(open: "names are unique under a secret and kind, byte for byte, and are replaced") {
            storage async throws in
            let keys = ["secret", "Secret"].map(Samples.key)
            for key in keys { try await storage.register(Samples.registration("aa"), key) }
            let first = Samples.schedule(keys[0], name: "name")
            #expect(try await storage.create(first, under: keys[0], limit: 9) == .created)
            for name in ["Name", "name ", "nam\u{E9}", "name\u{301}"] {
                let other = Samples.schedule(keys[0], name: name)
                #expect(try await storage.create(other, under: keys[0], limit: 9) == .created)
            }
            let another = Samples.schedule(keys[0], .repeat, name: "name")
            #expect(try await storage.create(another, under: keys[0], limit: 9) == .created)
            let theirs = Samples.schedule(keys[1], name: "name")
            #expect(try await storage.create(theirs, under: keys[1], limit: 9) == .created)
            let second = Samples.schedule(keys[0], name: "name", at: Samples.time - 1)
            // A replacement fits, whatever the limit.
            #expect(try await storage.create(second, under: keys[0], limit: 1) == .replaced(first.id))
            #expect(try await storage.list(keys[0]).first == second)
            #expect(try await storage.list(keys[0]).count == 5)
            #expect(try await storage.list(keys[1]) == [theirs])
            #expect(try await storage.schedules(of: keys[0], kind: .repeat, limit: 9) == [another])
        },

        ContractCase("a secret has a limited number of schedules of each kind, and needs a device") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let key = Samples.key("secret")
                let early = Samples.schedule(key)
                #expect(try await storages[0].create(early, under: key, limit: 9) == .noDevices)
                try await storages[0].register(Samples.registration("aa"), key)
                let results = try await concurrently(40) { index in
                    try await storages[index % storages.count].create(
                        Samples.schedule(key), under: key, limit: 10)
                }
                #expect(results.count { $0 == .created } == 10)
                #expect(results.count { $0 == .limitReached } == 30)
                let other = Samples.schedule(key, .async)
                #expect(try await storages[0].create(other, under: key, limit: 1) == .created)
                #expect(try await storages[0].countSchedules(limit: 99) == 11)
                #expect(try await storages[0].countSchedules(limit: 5) == 5)
            }
        },

        ContractCase(open: "the schedules of all secrets are read in pages, each row once") {
            storage async throws in
            var all: Set<Schedule> = []
            for key in ["secret", "Secret", "other"].map(Samples.key) {
                try await storage.register(Samples.registration("aa"), key)
                for kind in ScheduleKind.allCases {
                    let schedule = Samples.schedule(key, kind)
                    all.insert(schedule)
                    _ = try await storage.create(schedule, under: key, limit: 9)
                }
            }
            for limit in [1, 5, 12, 99] {
                var pages = [try await storage.schedules(after: nil, limit: limit)]
                while let next = pages.last?.next {
                    pages.append(try await storage.schedules(after: next, limit: limit))
                }
                let found = pages.flatMap(\.schedules)
                #expect(found.count == all.count && Set(found) == all)
                #expect(found.map(\.secretHash.hex) == found.map(\.secretHash.hex).sorted())
            }
        },

        ContractCase(open: "a schedule is cancelled by id or name, by its secret alone") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let named = Samples.schedule(key, name: "name")
            let unnamed = Samples.schedule(key)
            for schedule in [named, unnamed] {
                _ = try await storage.create(schedule, under: key, limit: 9)
            }
            let other = Samples.key("Secret")
            #expect(try await !storage.cancel(.id(named.id), kind: .schedule, of: other))
            #expect(try await !storage.cancel(.name("name"), kind: .held, of: key))
            #expect(try await !storage.cancel(.name("name\0"), kind: .schedule, of: key))
            #expect(try await storage.list(key).count == 2)
            #expect(try await storage.cancel(.name("name"), kind: .schedule, of: key))
            #expect(try await storage.cancel(.id(unnamed.id), kind: .schedule, of: key))
            #expect(try await !storage.cancel(.id(unnamed.id), kind: .schedule, of: key))
            #expect(try await storage.list(key) == [])
        },

        ContractCase(open: "schedules are removed with their secret's last device and by revoking") {
            storage async throws in
            let keys = ["left", "revoked", "kept"].map(Samples.key)
            for key in keys {
                for token in ["aa", "bb"] { try await storage.register(Samples.registration(token), key) }
                _ = try await storage.create(Samples.schedule(key), under: key, limit: 9)
            }
            _ = try await storage.unregister(token: "aa", under: keys[0], at: Samples.time)
            #expect(try await storage.list(keys[0]).count == 1)
            _ = try await storage.unregister(token: "bb", under: keys[0], at: Samples.time)
            #expect(try await storage.list(keys[0]) == [])
            let holdings = Holdings(devices: 2, schedules: 1)
            #expect(try await storage.holdings(of: keys[1]) == holdings)
            #expect(try await storage.revoke(keys[1], limit: 9) == holdings)
            #expect(try await storage.list(keys[1]) == [])
            #expect(try await storage.list(keys[2]).count == 1)
            let prefix = try #require(SecretHashPrefix(keys[2].primary.hex))
            #expect(
                try await storage.hashes(beginningWith: prefix, in: .everyTable, limit: 9)
                    == [keys[2].primary])
        },

        ContractCase(open: "schedules move with the devices to the peppered hash, and one of each name stays")
        {
            storage async throws in
            let plain = Samples.key("secret")
            let key = SecretKey(primary: SecretHash(Digest256(of: [2])), legacy: [plain.primary])
            let own = SecretKey(primary: key.primary)
            for key in [plain, own] { try await storage.register(Samples.registration("aa"), key) }
            let old = Samples.schedule(plain, name: "old", rule: "{}")
            let shadowed = Samples.schedule(plain, name: "both")
            let new = Samples.schedule(own, name: "both", at: Samples.time + 1)
            for schedule in [old, shadowed] {
                _ = try await storage.create(schedule, under: plain, limit: 9)
            }
            _ = try await storage.create(new, under: own, limit: 9)
            #expect(try await storage.list(key).count == 3)
            let claimed = try await storage.held(limit: 9)
            #expect(try await storage.rehash(key))
            let moved = try await storage.list(own)
            #expect(moved.map(\.id) == [old.id, new.id])
            #expect(moved.allSatisfy { $0.secretHash == key.primary })
            let held = try #require(claimed.first { $0.schedule.id == old.id })
            #expect(try await !storage.settle(held, .over))
            // Creating a schedule also moves the earlier ones.
            _ = try await storage.create(Samples.schedule(plain, name: "late"), under: plain, limit: 9)
            try await storage.register(Samples.registration("cc"), plain)
            _ = try await storage.create(Samples.schedule(plain, name: "late"), under: plain, limit: 9)
            let last = Samples.schedule(key, name: "last")
            #expect(try await storage.create(last, under: key, limit: 9) == .created)
            let names = try await storage.list(own).compactMap(\.name)
            #expect(names.sorted() == ["both", "last", "late", "old"])
            #expect(try await storage.cancel(.name("last"), kind: .schedule, of: key))
        },
    ]

    static let scheduleClaims: [ContractCase] = [
        ContractCase("concurrent callers never claim the same schedule, and all schedules are claimed") {
            database async throws in
            try await withWriters(of: database) { storages async throws in
                let keys = (0..<40).map { Samples.key("secret \($0)") }
                for key in keys {
                    try await storages[0].register(Samples.registration("aa"), key)
                    for _ in 0..<10 {
                        _ = try await storages[0].create(Samples.schedule(key), under: key, limit: 99)
                    }
                }
                let claims = try await concurrently(12) { index in
                    var held: [UUIDv7] = []
                    let storage = storages[index % storages.count]
                    while try await storage.nextScheduleDue(at: Samples.time) != nil {
                        let claimed = try await storage.held(limit: 7, from: index * 5)
                        held += claimed.map(\.schedule.id)
                    }
                    return held
                }
                #expect(claims.flatMap(\.self).count == 400)
                #expect(Set(claims.flatMap(\.self)).count == 400)
            }
        },

        ContractCase(open: "secrets take turns, from whichever part of the table a claim begins") {
            storage async throws in
            let busy = Samples.key("busy")
            let others = (0..<5).map { Samples.key("secret \($0)") }
            for key in [busy] + others { try await storage.register(Samples.registration("aa"), key) }
            for index in 0..<270 {
                let due = Samples.time - 1_000 + Int64(index)
                _ = try await storage.create(Samples.schedule(busy, at: due), under: busy, limit: 999)
            }
            for key in others {
                _ = try await storage.create(Samples.schedule(key), under: key, limit: 9)
            }
            var found: Set<SecretHash> = []
            for bucket in 0..<StorageLimits.buckets {
                let claimed = try await storage.held(limit: 2, from: bucket)
                for secret in claimed.map(\.schedule.secretHash) { found.insert(secret) }
            }
            #expect(found == Set(([busy] + others).map(\.primary)))
        },

        ContractCase(open: "only due schedules are claimed, once, until their lease has expired") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let due = Samples.schedule(key)
            let later = Samples.schedule(key, at: Samples.time + 50_000)
            for schedule in [later, due] {
                #expect(try await storage.create(schedule, under: key, limit: 9) == .created)
            }
            #expect(try await storage.nextScheduleDue(at: Samples.time) == due.dueAt)
            #expect(try await storage.held(at: due.dueAt - 1) == [])
            #expect(try await storage.held(limit: 0) == [])
            let lease = Samples.lease(lasting: 30_000)
            let first = try await storage.held(lease)
            #expect(first == [ClaimedSchedule(schedule: due, owner: lease.owner)])
            #expect(try await storage.nextScheduleDue(at: Samples.time) == later.dueAt)
            #expect(try await storage.held(at: lease.until - 1) == [])
            let second = try await storage.held(at: lease.until)
            #expect(second.map(\.schedule) == [due])
            #expect(try await !storage.settle(first[0], .over))
            #expect(try await storage.settle(second[0], .over))
            #expect(try await storage.list(key) == [later])
        },

        ContractCase(open: "a lease from a fast clock doesn't delay a schedule") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let schedule = Samples.schedule(key)
            _ = try await storage.create(schedule, under: key, limit: 9)
            let fast = Samples.time + 86_400_000
            #expect(try await storage.held(Samples.lease(from: fast), at: fast).count == 1)
            #expect(try await storage.held().map(\.schedule) == [schedule])
        },

        ContractCase(open: "an occurrence's end advances the schedule once, only by the lease's owner") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            let schedule = Samples.schedule(key, name: "name", rule: "{}")
            _ = try await storage.create(schedule, under: key, limit: 9)
            let claimed = try #require(try await storage.held().first)
            let stranger = ClaimedSchedule(schedule: schedule, owner: Samples.id())
            let outcome = ScheduleEnd.Outcome(at: Samples.time + 5, word: "sent", skipped: 2)
            let end = ScheduleEnd.next(nextAt: Samples.time + 100, dueAt: Samples.time + 107, outcome)
            #expect(try await !storage.settle(stranger, end))
            #expect(try await storage.settle(claimed, end))
            #expect(try await !storage.settle(claimed, end))
            var expected = schedule
            expected.nextAt = Samples.time + 100
            expected.dueAt = Samples.time + 107
            expected.lastAt = Samples.time + 5
            expected.lastOutcome = "sent"
            expected.skipped = 2
            #expect(try await storage.list(key) == [expected])
            #expect(try await storage.held(at: Samples.time + 106) == [])

            // Postponed: only the time changes.
            let again = try #require(try await storage.held(at: Samples.time + 107).first)
            #expect(try await storage.settle(again, .again(dueAt: Samples.time + 200)))
            expected.dueAt = Samples.time + 200
            #expect(try await storage.list(key) == [expected])
            // Looked at again: no outcome is lost.
            let third = try #require(try await storage.held(at: Samples.time + 200).first)
            let looked = ScheduleEnd.next(nextAt: Samples.time + 300, dueAt: Samples.time + 300, nil)
            #expect(try await storage.settle(third, looked))
            expected.nextAt = Samples.time + 300
            expected.dueAt = Samples.time + 300
            #expect(try await storage.list(key) == [expected])
        },

        ContractCase(open: "a schedule cancelled or replaced while it is leased can't be ended") {
            storage async throws in
            let key = Samples.key("secret")
            try await storage.register(Samples.registration("aa"), key)
            for reference in [ScheduleReference.name("name"), nil] {
                let schedule = Samples.schedule(key, name: "name")
                _ = try await storage.create(schedule, under: key, limit: 9)
                let claimed = try #require(try await storage.held().first)
                let other = Samples.schedule(key, name: "name", at: Samples.time + 1)
                if let reference {
                    #expect(try await storage.cancel(reference, kind: .schedule, of: key))
                } else {
                    _ = try await storage.create(other, under: key, limit: 9)
                }
                let end = ScheduleEnd.next(nextAt: Samples.time, dueAt: Samples.time, nil)
                #expect(try await !storage.settle(claimed, end))
                #expect(try await storage.list(key) == (reference == nil ? [other] : []))
            }
        },
    ]
}

extension Storage {
    fileprivate func list(_ key: SecretKey) async throws(StorageError) -> [Schedule] {
        try await schedules(of: key, kind: .schedule, limit: 1_000)
    }

    fileprivate func held(
        _ lease: PushLease? = nil, at now: EpochMilliseconds = Samples.time, limit: Int = 9,
        from bucket: Int = 0
    ) async throws(StorageError) -> [ClaimedSchedule] {
        try await claimSchedules(
            dueAt: now, lease: lease ?? Samples.lease(from: now), limit: limit, from: bucket)
    }
}
