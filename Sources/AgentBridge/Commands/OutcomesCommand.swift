import JSON
import Programs
import WebClient

/// `agent-bridge outcomes`: lists the outcomes of everything sent under the secret.
enum OutcomesCommand {
    /// Reads the relay's list page by page, and prints it.
    static func run(_ call: CommandCall) throws(ConfigurationError) -> ExitStatus {
        let (configuration, console, isJSON) = (
            try call.configuration(), call.console, call.options.has(.json)
        )
        let relay = try RelayAccess(configuration).relay
        let hours = call.options.number(.hours) ?? Bounds.outcomeHoursDefault
        let since = Timestamp(WallClock.system.now - EpochMilliseconds(hours) * 3_600_000).text
        return CommandTask.run {
            var members = JSON.Object()
            members["secret"] = .string(relay.secret)
            members["since"] = .string(since)
            members["limit"] = .int(Bounds.outcomesPerPage)
            var list = OutcomeList()
            for _ in 0..<Bounds.outcomePagesMax {
                do throws(WebFailure) {
                    let answer = try await relay.ask("/v1/outcomes", JSON.Value.object(members).encoded())
                    guard let cursor = list.add(answer) else {
                        return report(RelayClient.interpret(answer), console)
                    }
                    members["since"] = nil
                    members["cursor"] = .string(cursor)
                } catch {
                    console.note("relay at \(relay.address): \(error)")
                    return .unavailable
                }
                if list.isComplete { break }
            }
            let isRead = StandardOutput.write(
                isJSON ? list.json : list.text(.standardOutput(call.environment)))
            if !list.isComplete { console.note("later outcomes aren't shown; use fewer --hours") }
            return isRead ? .success : .output
        }
    }

    /// Explains why there is no list.
    private static func report(_ answer: RelayClient.Answer, _ console: Console) -> ExitStatus {
        switch answer {
        case .refused(let reason), .accepted(let reason):
            console.note("the relay refused the request: \(reason)")
        case .later(let reason, _), .unreachable(let reason):
            console.note("the relay can't list outcomes now: \(reason)")
            return .unavailable
        }
        return .failed
    }
}

/// Outcomes from several pages, oldest first.
struct OutcomeList {
    private(set) var outcomes: [JSON.Value] = []
    /// Whether the last page was empty.
    private(set) var isComplete = false

    /// Adds a page; returns the cursor for the next one, or `nil` if the response isn't a page.
    mutating func add(_ answer: WebAnswer) -> String? {
        guard answer.status == 200,
            let body = try? JSON.parse(answer.body, maxBytes: Bounds.postAnswerBytesMax),
            let page = body["outcomes"]?.array, let cursor = body["cursor"]?.string
        else { return nil }
        outcomes += page
        isComplete = page.isEmpty
        return cursor
    }

    /// The outcomes as the relay returned them, one JSON object per line.
    var json: String {
        outcomes.map { String(decoding: $0.encoded(), as: UTF8.self) + "\n" }.joined()
    }

    /// The outcomes as a table.
    func text(_ style: OutputStyle) -> String {
        guard !outcomes.isEmpty else {
            return "No outcomes in this period. The relay lists outcomes a few seconds after they happen.\n"
        }
        var table = TextTable([
            .init(heading: "TIME (UTC)"), .init(heading: "OUTCOME", widthMax: 40), .init(heading: "DEVICE"),
            .init(heading: "EVENT", widthMax: 20), .init(heading: "EVENT ID", widthMax: 40),
        ])
        for outcome in outcomes {
            func text(_ name: String) -> String { outcome[name]?.string ?? "" }
            let time = String(text("at").prefix(19)).replacing("T", with: " ")
            let device = outcome["removed"]?.bool == true ? "gone" : text("device")
            let texts = [time, device, text("eventType"), text("eventID")]
            var cells = texts.map { TextTable.Cell($0) }
            cells.insert(Self.result(outcome), at: 1)
            table.add(cells)
        }
        return table.text(style)
    }

    private static func result(_ outcome: JSON.Value) -> TextTable.Cell {
        switch outcome["type"]?.string {
        case "push":
            let reason = outcome["reason"]?.string.map { ": " + $0 } ?? ""
            let status = outcome["status"]?.string ?? "?"
            return .init(status + reason, status == "failed" ? .bad : nil)
        case "reply": return .init("replied" + (outcome["action"]?.string.map { ": " + $0 } ?? ""))
        case "acknowledgement": return .init("acknowledged")
        case let other: return .init(other ?? "?")
        }
    }
}

extension BridgeCommand {
    static let outcomes = BridgeCommand(
        "outcomes", "List the outcomes of what was sent: pushes, acknowledgements, replies.",
        about: """
            Shows how each push of the last hours ended, and who acknowledged or replied, oldest first. It
            covers everything sent under the secret, also by other machines. The operator's RELAY_LOG decides
            which pushes the relay remembers. With --json, each outcome is a JSON object on its own line.
            """,
        options: [.hours, .json]
    ) { call throws(ConfigurationError) in
        try OutcomesCommand.run(call)
    }
}

extension CommandOption {
    static let hours = CommandOption(
        "--hours", .number(1...Bounds.outcomeHoursMax),
        "How far to look back. Default: \(Bounds.outcomeHoursDefault).")
}
