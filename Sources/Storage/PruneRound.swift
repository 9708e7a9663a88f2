internal import Delays

/// One round of removing expired rows from all tables: a pure value that decides what to do next.
///
/// The tables take turns, so that a table with many expired rows doesn't delay the others. After each step the round
/// pauses for half as long as the step took, so it uses at most two thirds of one connection's time. Steps grow as long
/// as they finish quickly.
///
/// Processes don't coordinate their rounds. If a step finds that another process has removed its rows, the round skips
/// the table for a while, longer each time. So any number of processes together run about as many steps as one or two
/// would, and another takes over if one dies.
package struct PruneRound: Sendable {
    /// Maximum rows in the first step for a table.
    package static let rowsFirst = 500
    /// Maximum rows per step.
    package static let rowsMax = 4_000
    /// Minimum rows per step, even after slow or failed steps.
    static let rowsMin = 30
    /// A full step that takes less than this is followed by one of twice the size.
    static let stepShort: Duration = .milliseconds(20)
    /// A step that takes longer than this is followed by one of half the size.
    static let stepLong: Duration = .milliseconds(80)
    /// The maximum pause after a step.
    static let pauseMax: Duration = .seconds(5)
    /// How long a table is left to another process the first time; the time doubles with each repetition.
    static let yieldMin: Duration = .seconds(1)
    /// The maximum time for which a table is left to another process.
    static let yieldMax: Duration = .seconds(8)

    /// One call to ``PruningStorage/prune(_:from:before:limit:)``.
    package struct Step: Hashable, Sendable {
        /// The table.
        package let table: ExpiringTable
        /// The time of the oldest row to remove.
        package let start: EpochMilliseconds
        /// The time before which rows have expired.
        package let end: EpochMilliseconds
        /// Maximum number of rows to remove.
        package let limit: Int

        /// Creates a step.
        package init(
            table: ExpiringTable, start: EpochMilliseconds, end: EpochMilliseconds, limit: Int
        ) {
            self.table = table
            self.start = start
            self.end = end
            self.limit = limit
        }
    }

    /// What to do next.
    package enum Move: Hashable, Sendable {
        /// Remove rows, then call ``PruneRound/note(_:took:)`` or ``PruneRound/noteFailure(mayRetry:took:)``.
        case remove(Step)
        case pause(Duration)
    }

    private struct Part {
        let table: ExpiringTable
        let end: EpochMilliseconds
        var start = EpochMilliseconds.min
        var rows = PruneRound.rowsFirst
        var removed = 0
        var isOver = false
        /// The time of the oldest expired row that is left.
        var oldest: EpochMilliseconds?
        /// How much longer the table is left to another process, and how long it will be left the next time.
        var wait: Duration = .zero
        var yield = BackOff(from: PruneRound.yieldMin, to: PruneRound.yieldMax)
    }

    private var parts: [Part]
    private var turn = -1
    private var left: Duration
    private var pause: Duration = .zero

    /// Creates a round.
    ///
    /// - Parameters:
    ///   - ends: For each table, the time before which its rows have expired.
    ///   - duration: How long the round may take.
    package init(_ ends: [(table: ExpiringTable, end: EpochMilliseconds)], atMost duration: Duration) {
        parts = ends.map { Part(table: $0.table, end: $0.end) }
        left = duration
    }

    /// What to do next; nil at the end of the round.
    package mutating func next() -> Move? {
        if pause > .zero { return passing(pause) }
        let open = parts.indices.filter { !parts[$0].isOver }
        guard let shortest = open.map({ parts[$0].wait }).min(), left > .zero else { return nil }
        guard shortest == .zero else { return passing(min(shortest, left)) }
        let ready = open.filter { parts[$0].wait == .zero }
        turn = ready.first { $0 > turn } ?? ready[0]
        let part = parts[turn]
        return .remove(Step(table: part.table, start: part.start, end: part.end, limit: part.rows))
    }

    /// Records the result of the step that ``next()`` returned.
    package mutating func note(_ pruning: Pruning, took: Duration) {
        parts[turn].removed += pruning.removed
        parts[turn].oldest = pruning.next
        guard let next = pruning.next else {
            parts[turn].isOver = true
            return rest(after: took)
        }
        parts[turn].start = next
        if pruning.removed == 0 {
            parts[turn].wait = parts[turn].yield.next()
        } else {
            parts[turn].yield.reset()
            if took < Self.stepShort { parts[turn].rows = min(parts[turn].rows * 2, Self.rowsMax) }
            if took > Self.stepLong { parts[turn].rows = max(parts[turn].rows / 2, Self.rowsMin) }
        }
        rest(after: took)
    }

    /// Records that the step failed: its table is left to the next round, unless a smaller step may succeed.
    package mutating func noteFailure(mayRetry: Bool, took: Duration) {
        parts[turn].rows /= 4
        parts[turn].isOver = !mayRetry || parts[turn].rows < Self.rowsMin
        rest(after: took)
    }

    /// The number of rows that this process removed from each table.
    package var removed: [ExpiringTable: Int] {
        Dictionary(uniqueKeysWithValues: parts.map { ($0.table, $0.removed) })
    }

    /// The tables that the round had no time to finish.
    package var unfinished: [ExpiringTable] {
        parts.filter { !$0.isOver && $0.oldest != nil }.map(\.table)
    }

    private mutating func rest(after took: Duration) {
        pause = min(max(took / 2, .milliseconds(1)), Self.pauseMax)
        pass(took)
    }

    private mutating func passing(_ duration: Duration) -> Move {
        pause = .zero
        pass(duration)
        return .pause(duration)
    }

    private mutating func pass(_ duration: Duration) {
        left -= duration
        for index in parts.indices { parts[index].wait = max(.zero, parts[index].wait - duration) }
    }
}
