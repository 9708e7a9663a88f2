import Programs
import Storage

/// Decides which refusals get their own log line and counts the rest, so that a flood can't fill the disk.
///
/// It is a pure value. Time is divided into intervals; the first starts with the first refusal. In each interval every
/// kind gets ``Bounds/refusalLinesPerKind`` lines, and all kinds together ``Bounds/refusalLinesMax``. The rest are
/// counted in their kind's ``Summary`` at the end of the interval. Kinds come from closed sets, so memory is bounded.
struct RefusalTally: Sendable {
    /// The common properties of refusals summarised in one line.
    struct Kind: Hashable, Sendable {
        let route: RouteName
        let code: ErrorCode
    }

    /// The number of refusals of one kind that didn't get their own line.
    struct Summary: Sendable, Equatable {
        let kind: Kind
        /// At least 1.
        let count: Int
        /// The level of the omitted lines.
        let level: LogLevel
        /// When the interval started.
        let since: EpochMilliseconds
    }

    /// What to do with one refusal.
    struct Verdict: Sendable, Equatable {
        let hasLine: Bool
        /// Whether the refusal starts an interval whose end must be scheduled.
        let beginsInterval: Bool
    }

    private struct Count {
        var logged = 0
        var unlogged = 0
        var level: LogLevel
    }

    private var counts: [Kind: Count] = [:]
    private var loggedInAll = 0
    private var since: EpochMilliseconds?

    /// Counts a refusal.
    mutating func note(_ kind: Kind, _ level: LogLevel, at now: EpochMilliseconds) -> Verdict {
        let beginsInterval = since == nil
        if beginsInterval { since = now }
        var count = counts[kind] ?? Count(level: level)
        let hasLine = count.logged < Bounds.refusalLinesPerKind && loggedInAll < Bounds.refusalLinesMax
        if hasLine {
            count.logged += 1
            loggedInAll += 1
        } else {
            count.unlogged += 1
        }
        counts[kind] = count
        return Verdict(hasLine: hasLine, beginsInterval: beginsInterval)
    }

    /// Ends the interval and returns its summaries, sorted by route and code.
    mutating func end() -> [Summary] {
        let since = since ?? 0
        let summaries = counts.compactMap { kind, count in
            count.unlogged == 0
                ? nil : Summary(kind: kind, count: count.unlogged, level: count.level, since: since)
        }
        self = RefusalTally()
        return summaries.sorted { $0.kind.sortKey < $1.kind.sortKey }
    }
}

extension RefusalTally.Kind {
    fileprivate var sortKey: String { "\(route.rawValue) \(code.rawValue)" }
}

extension LogEvent {
    /// The line for a summary.
    init(_ summary: RefusalTally.Summary, at now: EpochMilliseconds) {
        self.init(
            time: now, level: summary.level, name: "request.summary",
            fields: [
                .route(summary.kind.route), .status(summary.kind.code.status), .code(summary.kind.code),
                .count("unlogged", summary.count), .note("since", Timestamp(summary.since).text),
            ])
    }
}
