/// Schedules with times set by a clock that was ahead.
extension SQLSession {
    func schedules(
        writtenAfter time: EpochMilliseconds, at now: EpochMilliseconds, limit: Int
    ) throws(SQLFailure) -> [Schedule] {
        var found: [Schedule] = []
        try query(
            """
            SELECT \(Self.scheduleColumns) FROM schedule
            WHERE (created_at > ? OR last_at > ?) AND \(Self.isFree) LIMIT ?
            """, [.integer(time), .integer(time)] + Self.free(at: now) + [.limit(limit)]
        ) { row throws(SQLFailure) in
            if let read = try? ScheduleRow(row) { found.append(read.schedule) }
        }
        return found
    }

    func redate(_ schedule: Schedule, to redated: Schedule) throws(SQLFailure) -> Bool {
        try execute(
            """
            UPDATE schedule SET created_at = ?, last_at = ?, next_at = ?, due_at = ?, ends_at = ?
            WHERE secret_hash = ? AND id = ? AND next_at = ? AND due_at = ? AND created_at = ?
            """,
            [
                .integer(redated.createdAt), redated.lastAt.map { .integer($0) } ?? .null,
                .integer(redated.nextAt), .integer(redated.dueAt),
                redated.endsAt.map { .integer($0) } ?? .null,
                .hash(schedule.secretHash), .text(schedule.id.text), .integer(schedule.nextAt),
                .integer(schedule.dueAt), .integer(schedule.createdAt),
            ]) > 0
    }
}
