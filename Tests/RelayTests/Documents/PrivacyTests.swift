import Storage
import Testing

/// docs/operate/privacy.md promises to list everything that is stored.
@Suite("docs/operate/privacy.md", .timeLimit(.minutes(2)))
struct PrivacyTests {
    private let text = Documents.read("operate/privacy.md")

    /// The names in backticks in the first cells of a section's table.
    private func columns(of table: String) throws -> Set<String> {
        let heading = try #require(text.firstRange(of: "### Table `\(table)`\n"), "no section for \(table)")
        let rest = text[heading.upperBound...]
        let section = rest[..<(rest.firstRange(of: "\n## ")?.lowerBound ?? rest.endIndex)]
            .split(separator: "\n### ")[0]
        let cells = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
            .map { $0.dropFirst().split(separator: "|")[0] }
        return Set(
            cells.flatMap { cell in
                cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                    .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
            })
    }

    @Test(
        "It names every column of every table, and none that isn't there",
        arguments: SchemaTable.copied.map(\.name))
    func tables(_ name: String) throws {
        let table = try #require(SchemaTable.copied.first { $0.name == name })
        #expect(try columns(of: table.name) == Set(table.columnNames))
    }

    @Test(
        "It has a section for no other table",
        arguments: ["secret_lock", "relay_schema", "relay_copy"])
    func others(_ table: String) {
        #expect(text.contains("`\(table)`"))
        let sections = text.split(separator: "\n").count { $0.hasPrefix("### Table ") }
        #expect(sections == SchemaTable.copied.count)
    }
}
