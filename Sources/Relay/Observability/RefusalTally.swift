import Storage

/// Decides which refusals get a log line of their own and counts the others, so that whoever is refused a thousand
/// times a second can't fill a disk.
///
/// A pure value. Time runs in intervals, the first of which begins with the first refusal. In an interval each kind has
/// ``Bounds/refusalLinesPerKind`` lines, and all kinds together ``Bounds/refusalLinesMax``. What comes beyond is in the
/// ``Summary`` of its kind at the interval's end. Kinds come from closed sets, so memory is bounded.
struct RefusalTally: Sendable {
    /// What refusals have in common that are summarised in one line.
    struct Kind: Hashable, Sendable {
        let route: RouteName
        let code: ErrorCode
    }

    /// How many refusals of one kind an interval had beyond those that have their lines.
    struct Summary: Sendable, Equatable {
        let kind: Kind
        /// At least 1.
        let count: Int
        /// The level that their lines would have had.
        let level: LogLevel
        /// When the interval began.
        let since: EpochMilliseconds
    }

    /// What becomes of one refusal.
    struct Verdict: Sendable, Equatable {
        let hasLine: Bool
        /// Whether an interval begins with it, whose end is to be arranged.
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

    /// Ends the interval: what has no line, by route and code.
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
    /// The line of a summary.
    init(_ summary: RefusalTally.Summary, at now: EpochMilliseconds) {
        self.init(
            time: now, level: summary.level, name: "request.summary",
            fields: [
                .route(summary.kind.route), .status(summary.kind.code.status), .code(summary.kind.code),
                .count("unlogged", summary.count), .note("since", Timestamp(summary.since).text),
            ])
    }
}
