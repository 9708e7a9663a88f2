import Glibc
import JSON
import Storage

/// Removes rows that are no longer needed, as a single relay does, and prints the cost as JSON.
///
/// Options: `url`, `before` (milliseconds), `way`: `new` for expired rows of the delivery log, or `fixed` for steps of
/// 500 rows with a pause of 50 ms that end with the first short one, as relays did before; `devices` for registrations
/// that weren't renewed, `locks` for locks of secrets without devices. The last two continue to the end instead of
/// waiting for the next round after 20 steps. `inserts`, if given: rows added to the log per second meanwhile.
func loadPruning(_ options: Options) throws(BenchError) {
    let url = try options.string("url")
    let end = EpochMilliseconds(try options.integer("before"))
    let way = try options.string("way")
    let rate = try options.integer("inserts", default: 0)
    guard let prune = ways[way] else {
        throw BenchError.usage("--way is one of \(ways.keys.sorted().joined(separator: ", "))")
    }
    runToEnd {
        let storage = try await openStorage(url)
        let began = Usage.now
        let inserts = Task { rate > 0 ? try await insert(into: storage, at: end, perSecond: rate) : 0 }
        let (removed, ended) = try await prune(storage, end)
        let took = (ended ?? began).since(began)
        inserts.cancel()
        let inserted = try await inserts.value
        await storage.close()
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("count", removed)
        writer.member("inserted", inserted)
        writer.member("microseconds", took.wallMicroseconds)
        writer.member("cpuMicroseconds", took.cpuMicroseconds)
        writer.endObject()
        print(String(decoding: writer.finish(), as: UTF8.self))
    }
}

/// Rows per delivery log batch, as in a relay, and the number of secrets that they are spread over.
private let batchRows = 2_000
private let insertedSecrets = 10_000

/// Appends unexpired rows to the delivery log until the task is cancelled; returns their number.
private func insert(
    into storage: any Storage, at time: EpochMilliseconds, perSecond rate: Int
) async throws -> Int {
    let keys = (0..<insertedSecrets).map { SecretHasher().key(of: Secret("inserted-\($0)")) }
    var generator = SystemRandomNumberGenerator()
    let began = ContinuousClock.now
    var inserted = 0
    while !Task.isCancelled {
        let due = began + .seconds(1) * inserted / rate
        if due > .now {
            try? await Task.sleep(until: due)
            continue
        }
        let rows = (inserted..<(inserted + batchRows)).map { number in
            Delivery(
                id: UUIDv7(at: time, using: &generator).text,
                secretHash: keys[number % insertedSecrets].primary, eventType: "complete",
                sessionID: "ses_0123456789abcdef", status: .sent, error: nil, createdAt: time,
                deviceID: "01234567-89ab-7000-8000-000000000000")
        }
        try await storage.append(rows)
        inserted += rows.count
    }
    return inserted
}

/// The ways to remove rows; each returns the number of rows and when the last one was removed.
private let ways: [String: @Sendable (any Storage, EpochMilliseconds) async throws -> (Int, Usage?)] = [
    "new": pruneRound, "fixed": pruneFixed, "devices": pruneDevices, "locks": pruneLocks,
]

/// Rows per step over devices or locks, and the pause between steps, as in a relay.
private let walkRows = 1_000
private let walkPause: Duration = .milliseconds(50)

@Sendable private func pruneDevices(
    _ storage: any Storage, _ end: EpochMilliseconds
) async throws -> (removed: Int, ended: Usage?) {
    try await walk(from: DeviceCursor?.none) { place in
        let pruning = try await storage.pruneDevices(before: end, after: place, limit: walkRows, at: end)
        return (pruning.removed, pruning.next)
    }
}

@Sendable private func pruneLocks(
    _ storage: any Storage, _ end: EpochMilliseconds
) async throws -> (removed: Int, ended: Usage?) {
    try await walk(from: "") { place in try await storage.pruneLocks(after: place ?? "", limit: walkRows) }
}

/// Repeats steps until one returns no next place.
private func walk<Place>(
    from start: Place?, _ step: (Place?) async throws -> (removed: Int, next: Place?)
) async throws -> (removed: Int, ended: Usage?) {
    var (sum, ended): (Int, Usage?) = (0, nil)
    var place = start
    while true {
        let (removed, next) = try await step(place)
        sum += removed
        if removed > 0 { ended = Usage.now }
        guard let next else { return (sum, ended) }
        place = next
        try await Task.sleep(for: walkPause)
    }
}

@Sendable private func pruneRound(
    _ storage: any Storage, _ end: EpochMilliseconds
) async throws -> (removed: Int, ended: Usage?) {
    var ended: Usage?
    var round = PruneRound([(.deliveries, end)], atMost: .seconds(600))
    while let move = round.next() {
        switch move {
        case .pause(let duration): try await Task.sleep(for: duration)
        case .remove(let step):
            let began = ContinuousClock.now
            let pruning = try await storage.prune(
                step.table, from: step.start, before: step.end, limit: step.limit)
            round.note(pruning, took: ContinuousClock.now - began)
            if pruning.removed > 0 { ended = Usage.now }
        }
    }
    return (round.removed[.deliveries] ?? 0, ended)
}

@Sendable private func pruneFixed(
    _ storage: any Storage, _ end: EpochMilliseconds
) async throws -> (removed: Int, ended: Usage?) {
    var ended: Usage?
    let limit = PruneRound.rowsFirst
    var sum = 0
    while true {
        let removed = try await storage.prune(.deliveries, from: .min, before: end, limit: limit).removed
        sum += removed
        if removed > 0 { ended = Usage.now }
        // A step ends between two times, so even a full one may remove somewhat fewer rows than the limit.
        guard removed > limit / 2 else { return (sum, ended) }
        try await Task.sleep(for: .milliseconds(50))
    }
}
