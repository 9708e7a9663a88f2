import Network

/// Collects the findings of a check's parts, which finish in any order, and reports them in the order of the parts.
final class CheckBoard: Sendable {
    private struct State {
        var found: [CheckPart: [CheckFinding]] = [:]
        /// The parts not reported yet.
        var left = CheckPart.allCases.filter { $0 != .check }[...]
        var report = CheckReport()
        var isOver = false
    }

    private let state = Lock(State())
    private let tell: @Sendable (CheckFinding) -> Void

    /// A board that reports each finding once all earlier parts have been reported.
    init(_ tell: @escaping @Sendable (CheckFinding) -> Void) {
        self.tell = tell
    }

    /// Records a part's findings; called once per part, with none if the part doesn't apply.
    func put(_ part: CheckPart, _ findings: [CheckFinding]) {
        let ready = state.withLock { state -> [CheckFinding] in
            guard !state.isOver else { return [] }
            state.found[part] = findings
            var ready: [CheckFinding] = []
            while let next = state.left.first, let found = state.found[next] {
                state.left.removeFirst()
                ready += found
            }
            state.report.findings += ready
            return ready
        }
        for finding in ready { tell(finding) }
    }

    /// Ends the check: parts without a result are reported as too slow, and their later findings are dropped.
    func finish() -> CheckReport {
        let (report, rest) = state.withLock { state in
            var rest: [CheckFinding] = []
            for part in state.left {
                rest +=
                    state.found[part] ?? [
                        .fault(
                            .tooSlow, .check, part.rawValue,
                            "no result within \(DurationText.render(Bounds.checkDeadline))")
                    ]
            }
            state.isOver = true
            state.left = []
            state.report.findings += rest
            return (state.report, rest)
        }
        for finding in rest { tell(finding) }
        return report
    }
}
