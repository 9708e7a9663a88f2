/// Rows for one table, with all values as text, stored consecutively in one block of bytes.
///
/// Engines that load rows in bulk read them from here: copying a value into a block costs much less than passing an
/// ``SQLValue`` as a parameter of a statement. The engine converts each value to its column's type.
package struct RowBlock: Sendable {
    /// The table that the rows are for.
    package let table: String
    /// The columns, in the order of each row's values.
    package let columns: [String]
    /// All values in UTF-8, without separators.
    package private(set) var bytes: [UInt8] = []
    /// Where each value ends in `bytes`; a value begins where the previous one ends.
    package private(set) var ends: [Int] = []
    /// Whether each value is NULL, in the same order as `ends`.
    private var nulls: [Bool] = []

    /// Creates a block without rows.
    ///
    /// - Parameters:
    ///   - rows: The expected number of rows.
    ///   - bytesPerRow: Typical size of a row's values.
    package init(_ table: String, _ columns: [String], rows: Int, bytesPerRow: Int) {
        self.table = table
        self.columns = columns
        bytes.reserveCapacity(rows * bytesPerRow)
        ends.reserveCapacity(rows * columns.count)
        nulls.reserveCapacity(rows * columns.count)
    }

    /// The number of complete rows.
    package var count: Int { ends.count / columns.count }

    /// Adds the next value of a row, or NULL.
    package mutating func add(_ text: String?) {
        if let text { bytes.append(contentsOf: text.utf8) }
        ends.append(bytes.count)
        nulls.append(text == nil)
    }

    /// Adds an integer as the next value of a row.
    package mutating func add(_ number: Int64) { add(String(number)) }

    /// Adds a hash, in hexadecimal, as the next value of a row.
    package mutating func add(_ hash: SecretHash) { add(hash.hex) }

    /// The range of a value in `bytes`; `row` and `column` count from 0.
    package func range(_ row: Int, _ column: Int) -> Range<Int> {
        let index = row * columns.count + column
        return (index == 0 ? 0 : ends[index - 1])..<ends[index]
    }

    /// Whether a value is NULL.
    package func isNull(_ row: Int, _ column: Int) -> Bool {
        nulls[row * columns.count + column]
    }
}
