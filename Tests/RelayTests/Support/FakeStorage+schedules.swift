import Network
import Storage

extension FakeStorage {
    /// A schedule with its lease.
    struct StoredSchedule {
        var schedule: Schedule
        var lease: PushLease?
    }

    func create(
        _ schedule: Schedule, under key: SecretKey, limit: Int
    ) async throws(StorageError) -> ScheduleCreation {
        try schedule.validate()
        return try checked { state throws(StorageError) in
            if !state.createFailures.isEmpty { throw state.createFailures.removeFirst() }
            guard state.devices.contains(where: { $0.secretHash == key.primary }) else { return .noDevices }
            let same = state.schedules.firstIndex {
                $0.schedule.secretHash == key.primary && $0.schedule.kind == schedule.kind
                    && schedule.name != nil && $0.schedule.name == schedule.name
            }
            if let same {
                let id = state.schedules[same].schedule.id
                state.schedules[same] = StoredSchedule(schedule: schedule)
                return .replaced(id)
            }
            let count = state.schedules.count {
                $0.schedule.secretHash == key.primary && $0.schedule.kind == schedule.kind
            }
            guard count < limit else { return .limitReached }
            state.schedules.append(StoredSchedule(schedule: schedule))
            return .created
        }
    }

    func schedules(
        of key: SecretKey, kind: ScheduleKind, limit: Int
    ) async throws(StorageError) -> [Schedule] {
        try checked { state in
            let found = state.schedules.map(\.schedule).filter {
                key.hashes.contains($0.secretHash) && $0.kind == kind
            }
            return Array(found.sorted { ($0.nextAt, $0.id) < ($1.nextAt, $1.id) }.prefix(limit))
        }
    }

    func schedules(after cursor: ScheduleCursor?, limit: Int) async throws(StorageError) -> SchedulePage {
        try checked { state in
            var page = SchedulePage()
            guard cursor == nil else { return page }
            page.schedules = state.schedules.map(\.schedule)
            return page
        }
    }

    func cancel(
        _ reference: ScheduleReference, kind: ScheduleKind, of key: SecretKey
    ) async throws(StorageError) -> Bool {
        try checked { state in
            let before = state.schedules.count
            state.schedules.removeAll { stored in
                guard key.hashes.contains(stored.schedule.secretHash), stored.schedule.kind == kind else {
                    return false
                }
                switch reference {
                case .id(let id): return stored.schedule.id == id
                case .name(let name): return stored.schedule.name == name
                }
            }
            return state.schedules.count < before
        }
    }

    func claimSchedules(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, from bucket: Int
    ) async throws(StorageError) -> [ClaimedSchedule] {
        try checked { state in
            let due = state.schedules.indices.filter { index in
                let stored = state.schedules[index]
                return stored.schedule.dueAt <= now && (stored.lease?.until ?? 0) <= now
            }
            return due.prefix(limit).map { index in
                state.schedules[index].lease = lease
                return ClaimedSchedule(schedule: state.schedules[index].schedule, owner: lease.owner)
            }
        }
    }

    func settle(_ claimed: ClaimedSchedule, _ end: ScheduleEnd) async throws(StorageError) -> Bool {
        try checked { state throws(StorageError) in
            state.scheduleEnds.append(end)
            if !state.scheduleFailures.isEmpty { throw state.scheduleFailures.removeFirst() }
            let held = state.schedules.firstIndex {
                $0.schedule.id == claimed.schedule.id && $0.schedule.nextAt == claimed.schedule.nextAt
                    && $0.lease?.owner == claimed.owner
            }
            guard let held else { return false }
            state.schedules[held].lease = nil
            switch end {
            case .over: state.schedules.remove(at: held)
            case .again(let dueAt): state.schedules[held].schedule.dueAt = dueAt
            case .next(let nextAt, let dueAt, let outcome):
                state.schedules[held].schedule.nextAt = nextAt
                state.schedules[held].schedule.dueAt = dueAt
                guard let outcome else { break }
                state.schedules[held].schedule.lastAt = outcome.at
                state.schedules[held].schedule.lastOutcome = outcome.word
                state.schedules[held].schedule.skipped += outcome.skipped
            }
            return true
        }
    }

    func nextScheduleDue(at now: EpochMilliseconds) async throws(StorageError) -> EpochMilliseconds? {
        try checked { state in
            state.scheduleLooks += 1
            return state.schedules.filter { ($0.lease?.until ?? 0) <= now }.map(\.schedule.dueAt).min()
        }
    }

    func schedules(
        writtenAfter time: EpochMilliseconds, at now: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> [Schedule] {
        try checked { state in
            let free = state.schedules.filter { ($0.lease?.until ?? 0) <= now }.map(\.schedule)
            return Array(free.filter { max($0.createdAt, $0.lastAt ?? 0) > time }.prefix(limit))
        }
    }

    func redate(_ schedule: Schedule, to redated: Schedule) async throws(StorageError) -> Bool {
        try checked { state in
            let found = state.schedules.firstIndex { $0.schedule == schedule }
            guard let found else { return false }
            state.schedules[found].schedule = redated
            return true
        }
    }

    func countSchedules(limit: Int) async throws(StorageError) -> Int {
        try checked { state in min(state.schedules.count, limit) }
    }
}
