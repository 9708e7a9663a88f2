import Glibc
import JSON
import Storage

/// Removes expired rows of the delivery log as one relay does in a round, and prints what it took as JSON.
///
/// Options: `url`, `before` (milliseconds), `way`: `new`, or `fixed` for steps of 500 rows with a pause of 50 ms that end
/// with the first short one, as relays did before.
func loadPruning(_ options: Options) throws(BenchError) {
    let url = try options.string("url")
    let end = EpochMilliseconds(try options.integer("before"))
    let way = try options.string("way")
    guard ["fixed", "new"].contains(way) else { throw BenchError.usage("--way is fixed or new") }
    runToEnd {
        let storage = try await openStorage(url)
        let began = Usage.now
        let (removed, ended) =
            way == "fixed" ? try await pruneFixed(storage, end) : try await pruneRound(storage, end)
        let took = (ended ?? began).since(began)
        await storage.close()
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("count", removed)
        writer.member("microseconds", took.wallMicroseconds)
        writer.member("cpuMicroseconds", took.cpuMicroseconds)
        writer.endObject()
        print(String(decoding: writer.finish(), as: UTF8.self))
    }
}

/// Returns the number of removed rows, and when the last was removed.
private func pruneRound(
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

/// Returns the number of removed rows, and when the last was removed.
private func pruneFixed(
    _ storage: any Storage, _ end: EpochMilliseconds
) async throws -> (removed: Int, ended: Usage?) {
    var ended: Usage?
    let limit = PruneRound.rowsFirst
    var sum = 0
    while true {
        let removed = try await storage.prune(.deliveries, from: .min, before: end, limit: limit).removed
        sum += removed
        if removed > 0 { ended = Usage.now }
        // Steps end between two times, so a full one may lack some rows.
        guard removed > limit / 2 else { return (sum, ended) }
        try await Task.sleep(for: .milliseconds(50))
    }
}
