import APNs
import Programs
import Testing

@testable import Relay

@Suite("Documents", .timeLimit(.minutes(2)))
struct DocumentTests {
    private let advice: Comment = "UPDATE_DOCS=1 swift test --filter DocumentTests regenerates it"

    @Test("docs/reference/configuration.md is what the table of settings says")
    func configuration() {
        let expected = ConfigurationDocument.text
        if Documents.isUpdating { Documents.write("reference/configuration.md", expected) }
        #expect(Documents.read("reference/configuration.md") == expected, advice)
    }

    @Test("deploy/relay.env is what the table of settings says, and every value in it is accepted")
    func environmentFile() throws {
        let expected = EnvironmentDocument.text
        let path = "../deploy/relay.env"
        if Documents.isUpdating { Documents.write(path, expected) }
        let text = Documents.read(path)
        #expect(text == expected, advice)

        let settings = EnvironmentDocument.settings(in: text)
        let rows = RelayCommand.table.groups(of: Settings.served).flatMap(\.rows)
        let names = rows.flatMap {
            $0.isSecret ? [$0.name, $0.fileName] : [$0.name]
        }
        #expect(settings.map(\.name) == names)
        var environment = Dictionary(settings.map { ($0.name, $0.value) }) { $1 }
        environment["APNS_TEAM_ID"] = "ABCDE12345"
        environment["APNS_KEY_ID"] = "KEY1234567"
        _ = try ServeConfiguration(
            SettingSources(
                environment: environment,
                readFile: { path in
                    path == EnvironmentDocument.given["APNS_PRIVATE_KEY_FILE"]
                        ? .success(Array(TestKey.pem.utf8)) : .failure(FileError(path))
                }))
    }

    @Test("docs/reference/metrics.md is what the table of metrics says")
    func metrics() {
        let expected = MetricsDocument.text
        if Documents.isUpdating { Documents.write("reference/metrics.md", expected) }
        #expect(Documents.read("reference/metrics.md") == expected, advice)
        for metric in Metrics.table where !metric.name.hasPrefix("process_") {
            #expect(metric.kind == MetricsDocument.kind(of: metric.name), "\(metric.name)")
        }
    }

    @Test("Each alert has a chapter in docs/operate/alerts.md and uses existing metrics")
    func alerts() throws {
        let rules = Documents.read("../deploy/prometheus/alerts.yml")
        let lines = rules.split(separator: "\n").map { $0.drop { $0 == " " } }
        let alerts = lines.filter { $0.hasPrefix("- alert: ") }.map { String($0.dropFirst(9)) }
        let page = Documents.read("operate/alerts.md").split(separator: "\n")
        let chapters = page.filter { $0.hasPrefix("## Relay") }
        #expect(alerts.count > 10 && alerts == chapters.map { String($0.dropFirst(3)) })
        let runbooks = lines.filter { $0.hasPrefix("runbook_url: ") }
        #expect(runbooks.map { String($0.drop { $0 != "#" }.dropFirst()) } == alerts.map { $0.lowercased() })
        let isWord = { (character: Character) in
            character.isASCII && (character.isLetter || character.isNumber || character == "_")
        }
        for word in Set(rules.split { !isWord($0) }.map(String.init)) {
            guard word.hasPrefix("relay_") || word.hasPrefix("process_") else { continue }
            let isThere = Metrics.table.contains { metric in
                metric.kind == .histogram ? word == metric.name + "_bucket" : word == metric.name
            }
            #expect(isThere, "\(word)")
        }
    }

    @Test("The tables in docs/reference/api.md are those of the code")
    func api() throws {
        var text = Documents.read("reference/api.md")
        for (name, table) in [("fields", fields), ("event types", eventTypes), ("errors", errors)] {
            text = try #require(Documents.replacing(name, in: text, with: table), "no place for \(name)")
        }
        if Documents.isUpdating { Documents.write("reference/api.md", text) }
        #expect(Documents.read("reference/api.md") == text, advice)
    }

    @Test("docs/reference/api.md names every route, every field of it and every error of it")
    func routes() {
        let text = Documents.read("reference/api.md")
        for route in RouteName.allCases where route != .none && !RouteName.doors.contains(route) {
            #expect(text.contains("## `\(route.rawValue)`"))
        }
        #expect(text.contains("first \(Bounds.deliveriesListedMax) if there are more"))
        for reason in FailureReason.all {
            #expect(text.contains("`\(reason)`"))
        }
    }

    @Test("docs/operate/diagnose.md names every part of the check, and exactly the faults of the code")
    func faults() throws {
        let text = Documents.read("operate/diagnose.md")
        for part in CheckPart.allCases where part != .check { #expect(text.contains("`\(part.rawValue)`")) }
        let chapter = try #require(text.split(separator: "\n## ").first { $0.hasPrefix("Faults\n") })
        let rows = chapter.split(separator: "\n").filter { $0.hasPrefix("|") }
        let names = rows.flatMap { row in
            row.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
        }
        #expect(names.sorted() == CheckFault.allCases.map(\.rawValue).sorted())
    }

    /// The fields' rows; fields with the same rule share a row.
    private var fields: String {
        var rows: [(rule: String, names: [String])] = []
        for field in RequestField.allCases {
            let name = "`\(field.rawValue)`"
            if let index = rows.firstIndex(where: { $0.rule == field.rule }) {
                rows[index].names.append(name)
            } else {
                rows.append((field.rule, [name]))
            }
        }
        return Documents.table(
            ["field", "must be"], rows.map { [$0.names.joined(separator: ", "), $0.rule] })
    }

    private var eventTypes: String {
        Documents.table(
            ["eventType", "title", "body"],
            EventType.allCases.map { ["`\($0.rawValue)`", $0.defaultTitle, $0.defaultBody] })
    }

    private var errors: String {
        let rows = ErrorCode.allCases.map { ["\($0.status)", "`\($0.rawValue)`", $0.sentence] }
        return Documents.table(["status", "code", "sentence"], rows)
    }
}
