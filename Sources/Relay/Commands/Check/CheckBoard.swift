import Network

/// Where the parts of a check put what they found, in whatever order they end; it is told in the order of the parts.
final class CheckBoard: Sendable {
    private struct State {
        var found: [CheckPart: [CheckFinding]] = [:]
        /// The parts that have not been told yet.
        var left = CheckPart.allCases.filter { $0 != .check }[...]
        var report = CheckReport()
        var isOver = false
    }

    private let state = Lock(State())
    private let tell: @Sendable (CheckFinding) -> Void

    /// A board that tells each finding as soon as all before it are told.
    init(_ tell: @escaping @Sendable (CheckFinding) -> Void) {
        self.tell = tell
    }

    /// What a part found, once; nothing where the part doesn't apply.
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

    /// Ends it: parts without a result are too slow, what they find later is dropped.
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
