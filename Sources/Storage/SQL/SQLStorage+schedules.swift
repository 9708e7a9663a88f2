extension SQLStorage {
    package func create(
        _ schedule: Schedule, under key: SecretKey, limit: Int
    ) async throws(StorageError) -> ScheduleCreation {
        try schedule.validate()
        return try await write { session throws(SQLFailure) in
            try session.create(schedule, key, limit: limit)
        }
    }

    package func schedules(
        of key: SecretKey, kind: ScheduleKind, limit: Int
    ) async throws(StorageError) -> [Schedule] {
        try await read { session throws(SQLFailure) in
            try session.schedules(of: key, kind: kind, limit: limit)
        }
    }

    package func schedules(
        after cursor: ScheduleCursor?, limit: Int
    ) async throws(StorageError) -> SchedulePage {
        try await read { session throws(SQLFailure) in try session.schedules(after: cursor, limit: limit) }
    }

    package func cancel(
        _ reference: ScheduleReference, kind: ScheduleKind, of key: SecretKey
    ) async throws(StorageError) -> Bool {
        // No stored name contains a NUL, and text with a NUL can't be sent to a server.
        if case .name(let name) = reference, name.utf8.contains(0) { return false }
        return try await write { session throws(SQLFailure) in
            try session.cancel(reference, kind: kind, key)
        }
    }

    package func claimSchedules(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, from bucket: Int
    ) async throws(StorageError) -> [ClaimedSchedule] {
        guard shardsBySecret else {
            return try await write { session throws(SQLFailure) in
                try session.claimSchedules(dueAt: now, lease, limit: limit, from: bucket)
            }
        }
        let chosen = try await read { session throws(SQLFailure) in
            try session.chooseSchedules(dueAt: now, limit: limit, from: bucket)
        }
        var claimed: [ClaimedSchedule] = []
        for part in parts(of: chosen, by: \.secretHash) {
            do throws(StorageError) {
                claimed += try await write { session throws(SQLFailure) in
                    try session.transaction { () throws(SQLFailure) in
                        try session.takeSchedules(part, dueAt: now, lease)
                    }
                }
            } catch {
                // The caller sends the schedules that it has leased, and soon claims the rest.
                guard !claimed.isEmpty else { throw error }
                return claimed
            }
        }
        return claimed
    }

    package func settle(
        _ claimed: ClaimedSchedule, _ end: ScheduleEnd
    ) async throws(StorageError) -> Bool {
        try await write { session throws(SQLFailure) in try session.settle(claimed, end) }
    }

    package func nextScheduleDue(
        at now: EpochMilliseconds
    ) async throws(StorageError) -> EpochMilliseconds? {
        try await read { session throws(SQLFailure) in try session.nextScheduleDue(at: now) }
    }

    package func schedules(
        writtenAfter time: EpochMilliseconds, at now: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> [Schedule] {
        try await read { session throws(SQLFailure) in
            try session.schedules(writtenAfter: time, at: now, limit: limit)
        }
    }

    package func redate(_ schedule: Schedule, to redated: Schedule) async throws(StorageError) -> Bool {
        try await write { session throws(SQLFailure) in try session.redate(schedule, to: redated) }
    }

    package func countSchedules(limit: Int) async throws(StorageError) -> Int {
        try await read { session throws(SQLFailure) in
            try session.count(
                "SELECT count(*) FROM (SELECT 1 FROM schedule LIMIT ?) AS found", [.limit(limit)])
        }
    }
}
