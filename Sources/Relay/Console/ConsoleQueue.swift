import JSON
import Storage

/// `GET /v1/admin/queue`: a page of the queued pushes, next due first, and of the schedules.
struct ConsoleQueue: Sendable {
    let storage: any Storage
    let names: ConsoleNames
    let snapshot: MetricsSnapshot

    /// One JSON object.
    ///
    /// - Parameters:
    ///   - cursor: The last push of the previous page.
    ///   - scheduleCursor: The last schedule of the previous page; schedules are ordered by their secrets' hashes.
    func page(
        after cursor: WaitingCursor?, schedulesAfter scheduleCursor: ScheduleCursor?
    ) async throws(StorageError) -> [UInt8] {
        let limit = Bounds.consoleRowsMax
        // Reads one push more than is shown, to find out whether there is another page.
        let pushes = try await storage.waitingPushes(of: nil, after: cursor, limit: limit + 1)
        let nextDue = try await storage.nextScheduleDue(at: snapshot.time)
        let schedules = try await storage.schedules(after: scheduleCursor, limit: limit)
        var writer = JSON.Writer(capacity: 16 * 1024)
        writer.beginObject()
        writer.member("now", snapshot.time)
        writer.member("waiting", snapshot.queue.waiting)
        writer.member("oldestDueAge", snapshot.queueAge)
        writer.member("hasMore", pushes.count > limit || schedules.next != nil)
        writer.list("pushes", pushes.prefix(limit)) { push, writer in
            names.write(push.secretHash, to: &writer)
            writer.write(push)
        }
        // Cursors contain full hashes.
        if names.showsWholeHashes, pushes.count > limit, let next = pushes.prefix(limit).last?.cursor {
            writer.member("next", next.text)
        }
        if let nextDue { writer.member("nextScheduleDue", nextDue) }
        writer.name("occurrences")
        writer.beginObject()
        for (outcome, count) in zip(ScheduleQueue.Outcome.allCases, snapshot.schedules.outcomes)
        where count > 0 {
            writer.name(String(outcome.rawValue))
            writer.int(count)
        }
        writer.endObject()
        writer.list("schedules", schedules.schedules) { schedule, writer in
            names.write(schedule.secretHash, to: &writer)
            writer.member("kind", schedule.kind.rawValue)
            writer.write(schedule)
        }
        if names.showsWholeHashes, let next = schedules.next { writer.member("nextSchedules", next.text) }
        writer.endObject()
        return writer.finish()
    }
}
