/// A table with aligned columns.
package struct TextTable: Sendable {
    /// A column's layout.
    package struct Column: Sendable {
        package let heading: String
        /// Whether to align right, for numbers.
        package let isNumber: Bool
        /// The minimum width in terminal cells, for rows that are added later.
        package let widthMin: Int
        /// The maximum width in terminal cells; longer text is cut.
        package let widthMax: Int

        /// Creates a column with this heading.
        package init(heading: String, isNumber: Bool = false, widthMin: Int = 0, widthMax: Int = 64) {
            self.heading = heading
            self.isNumber = isNumber
            self.widthMin = widthMin
            self.widthMax = widthMax
        }
    }

    /// Untrusted text in a column.
    package struct Cell: Sendable, Equatable, ExpressibleByStringLiteral {
        package let text: String
        package let mark: TextMark?

        package init(_ text: String, _ mark: TextMark? = nil) {
            self.text = text
            self.mark = mark
        }

        package init(stringLiteral text: String) { self.init(text) }
    }

    private static let gap = "  "

    private let columns: [Column]
    private var rows: [[Cell]] = []

    /// Creates a table without rows.
    package init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row with a cell per column; an empty cell is shown as a dash.
    package mutating func add(_ row: [Cell]) {
        precondition(row.count == columns.count, "a row has a cell for each column")
        rows.append(
            zip(row, columns).map { cell, column in
                let text = TerminalText.cut(TerminalText.safe(cell.text), to: column.widthMax)
                return Cell(text.isEmpty ? "-" : text, cell.mark)
            })
    }

    /// The heading and the rows, one per line.
    package func text(_ style: OutputStyle) -> String {
        let widths = widths
        let head = line(columns.map { Cell($0.heading, .heading) }, widths, style)
        return head + rows.map { line($0, widths, style) }.joined()
    }

    /// Only the rows, aligned with the heading of an empty table.
    package func rowsText(_ style: OutputStyle) -> String {
        let widths = columns.map(Self.widthOfEmpty)
        return rows.map { line($0, widths, style) }.joined()
    }

    private static func widthOfEmpty(_ column: Column) -> Int {
        max(column.widthMin, TerminalText.width(column.heading))
    }

    private var widths: [Int] {
        columns.indices.map { index in
            rows.reduce(Self.widthOfEmpty(columns[index])) { max($0, TerminalText.width($1[index].text)) }
        }
    }

    private func line(_ cells: [Cell], _ widths: [Int], _ style: OutputStyle) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            let blanks = String(repeating: " ", count: max(widths[index] - TerminalText.width(cell.text), 0))
            let painted = style.paint(cell.text, cell.mark)
            if index > 0 { line += Self.gap }
            if columns[index].isNumber {
                line += blanks + painted
            } else {
                // No padding after a line's last text.
                line += painted + (index == cells.count - 1 ? "" : blanks)
            }
        }
        return line + "\n"
    }
}
