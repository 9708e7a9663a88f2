import Programs

/// Formats findings as text, with pure functions.
enum CheckText {
    /// The maximum line length, which only a single longer word exceeds.
    private static let width = 110
    private static let gap = "  "
    private static let statusWidth = CheckStatus.allCases.map(\.rawValue.count).max() ?? 0

    /// A finding: status, part and text, followed by lines with advice.
    static func text(_ finding: CheckFinding, _ style: OutputStyle) -> String {
        let status = padded(finding.status.rawValue, statusWidth)
        let head =
            style.paint(status, finding.status.mark) + gap + padded(finding.part.rawValue, CheckPart.width)
        let indent = String(repeating: " ", count: statusWidth + CheckPart.width + 2 * gap.count)
        let subject = finding.subject.isEmpty ? "" : finding.subject + ": "
        let room = width - indent.count
        let found = TerminalText.wrapped(TerminalText.safe(subject + finding.text), width: room)
        var text = head + gap + found.joined(separator: "\n" + indent) + "\n"
        if let advice = finding.advice {
            let lines = TerminalText.wrapped(TerminalText.safe(advice), width: room - gap.count)
            for (index, line) in lines.enumerated() {
                text += indent + (index == 0 ? "> " : "  ") + line + "\n"
            }
        }
        return text
    }

    /// The last line: the number of findings by status.
    static func summary(_ report: CheckReport, _ style: OutputStyle) -> String {
        let counts = [CheckStatus.failed, .warning, .ok, .skipped].compactMap { status -> String? in
            let count = report.count(status)
            guard count > 0 else { return nil }
            return style.paint("\(count) \(status.rawValue)", status == .ok ? nil : status.mark)
        }
        return "\n" + counts.joined(separator: ", ") + "\n"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }
}

extension CheckStatus {
    /// The status's colour on a terminal.
    fileprivate var mark: TextMark? {
        switch self {
        case .ok: .good
        case .warning: .warning
        case .failed: .bad
        case .skipped: nil
        }
    }
}
