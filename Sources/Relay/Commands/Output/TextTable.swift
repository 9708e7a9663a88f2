/// Rows under headings, in columns that are aligned.
struct TextTable: Sendable {
    /// A column and how it is laid out.
    struct Column: Sendable {
        let heading: String
        /// Whether its texts stand at the right, as numbers do.
        var isNumber = false
        /// Cells of a terminal that it has at least: for rows that come later.
        var widthMin = 0
        /// Cells that it has at most; what is longer is cut.
        var widthMax = 64
    }

    /// A text in a column, as it came from outside.
    struct Cell: Sendable, Equatable, ExpressibleByStringLiteral {
        let text: String
        let mark: TextMark?

        init(_ text: String, _ mark: TextMark? = nil) {
            self.text = text
            self.mark = mark
        }

        init(stringLiteral text: String) { self.init(text) }
    }

    private static let gap = "  "

    private let columns: [Column]
    private var rows: [[Cell]] = []

    /// A table without rows.
    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row, a cell for each column; an empty cell shows as a dash.
    mutating func add(_ row: [Cell]) {
        precondition(row.count == columns.count, "a row has a cell for each column")
        rows.append(
            zip(row, columns).map { cell, column in
                let text = TerminalText.cut(TerminalText.safe(cell.text), to: column.widthMax)
                return Cell(text.isEmpty ? "-" : text, cell.mark)
            })
    }

    /// Heading and rows, a line each.
    func text(_ style: OutputStyle) -> String {
        let widths = widths
        let head = line(columns.map { Cell($0.heading, .heading) }, widths, style)
        return head + rows.map { line($0, widths, style) }.joined()
    }

    /// The rows alone, as they stand under a heading that was printed for an empty table.
    func rowsText(_ style: OutputStyle) -> String {
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
                // Nothing is left behind a line's last text.
                line += painted + (index == cells.count - 1 ? "" : blanks)
            }
        }
        return line + "\n"
    }
}
