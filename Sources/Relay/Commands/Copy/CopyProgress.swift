import Storage

/// The progress of a running copy: a bar on a terminal, an occasional line elsewhere.
struct CopyProgress: Sendable {
    private let isTerminal: Bool
    private var shown: (progress: TransferProgress, at: ContinuousClock.Instant)?
    private var began: (progress: TransferProgress, at: ContinuousClock.Instant)?

    /// How often the bar on a terminal is updated.
    private static let terminalInterval: Duration = .milliseconds(100)
    /// How often a line is written elsewhere.
    private static let lineInterval: Duration = .seconds(10)
    private static let barWidth = 24

    /// The progress of a copy that hasn't started.
    init(isTerminal: Bool) {
        self.isTerminal = isTerminal
    }

    /// Whether a bar has been drawn and its line isn't finished yet.
    var hasOpenLine: Bool { isTerminal && shown.map { $0.progress.done < $0.progress.total } == true }

    /// The text to write for a progress update, if any.
    mutating func text(for progress: TransferProgress, at now: ContinuousClock.Instant) -> String? {
        let isSame = began?.progress.table == progress.table && began?.progress.stage == progress.stage
        if !isSame { began = (progress, now) }
        let isLast = progress.done >= progress.total
        let interval = isTerminal ? Self.terminalInterval : Self.lineInterval
        if isSame || !isTerminal, !isLast, let shown, now - shown.at < interval { return nil }
        // Report the end of a table only once.
        if isLast, let shown, shown.progress == progress { return nil }
        shown = (progress, now)
        let line = Self.line(progress, rate: rate(progress, now), bar: isTerminal)
        guard isTerminal else { return line + "\n" }
        return "\r\u{1B}[K" + line + (isLast ? "\n" : "")
    }

    /// Rows per second since this run started the table; nil while unknown.
    private func rate(_ progress: TransferProgress, _ now: ContinuousClock.Instant) -> Int? {
        guard let began, now - began.at > .milliseconds(200) else { return nil }
        return Int(Double(progress.done - began.progress.done) / ((now - began.at) / .seconds(1)))
    }

    /// One line of progress output, without a trailing newline.
    static func line(_ progress: TransferProgress, rate: Int?, bar: Bool) -> String {
        // A relay that is still running adds rows.
        let total = max(progress.total, progress.done)
        let share = total == 0 ? 1 : Double(progress.done) / Double(total)
        var parts = [pad(progress.stage.rawValue, 9), pad(progress.table, 19)]
        if bar {
            let filled = Int(share * Double(barWidth))
            parts.append(
                "[" + String(repeating: "#", count: filled)
                    + String(repeating: "-", count: barWidth - filled) + "]")
        }
        let percent = String(Int(share * 100))
        parts.append(String(repeating: " ", count: 3 - percent.count) + percent + "%")
        parts.append("\(grouped(progress.done)) of \(grouped(total))")
        if let rate {
            parts.append("\(grouped(rate))/s")
            if rate > 0, total > progress.done {
                parts.append(remaining(.seconds((total - progress.done) / rate)))
            }
        }
        return parts.joined(separator: "  ")
    }

    /// The time left for a table at the current rate: `45 s left`, `3 min left`, `2 h 5 min left`.
    static func remaining(_ time: Duration) -> String {
        let seconds = max(1, Int(time.components.seconds))
        let minutes = (seconds + 59) / 60
        if seconds < 100 { return "\(seconds) s left" }
        return minutes < 100 ? "\(minutes) min left" : "\(minutes / 60) h \(minutes % 60) min left"
    }

    /// A number with thousands separators.
    static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3), digit != "-" { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }
}
