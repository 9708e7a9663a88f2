import StorageContract

@testable import Storage

/// Copies from one place to another.
@discardableResult
func copy(
    _ from: TransferPlace, _ to: TransferPlace, name: String = "source",
    report: @escaping (TransferProgress) -> Void = { _ in }
) throws -> [TransferSummary] {
    try Transfer(from: try from.source(), named: name, to: try to.target(), report: report).run()
}

/// The contents of every table of a database.
func contents(of place: TransferPlace) throws -> [String: Set<[UInt8]>] {
    let side = try place.target()
    var contents: [String: Set<[UInt8]>] = [:]
    for table in SchemaTable.copied {
        contents[table.name] = Set(try rows(of: table, in: side).map(TransferChecksum.encode))
    }
    return contents
}

/// All rows of a table.
private func rows(of table: SchemaTable, in side: TransferSide) throws -> [[SQLValue]] {
    var rows: [[SQLValue]] = []
    while true {
        let page = try side.page(of: table, after: rows.last.map { table.key(of: $0) })
        rows += page
        guard page.count == table.rowsPerPage else { return rows }
    }
}

/// A change that a running relay makes to a table's rows.
enum Change: String, CaseIterable, Sendable {
    case more, fewer, altered

    /// Makes the change to three rows of every table.
    func make(in side: TransferSide) throws {
        for table in SchemaTable.copied {
            let chosen = Array(try rows(of: table, in: side).prefix(3))
            if self == .more { try side.store(chosen.map { Self.another($0, table) }, in: table) }
            let condition = table.key.map { "\($0) = ?" }.joined(separator: " AND ")
            let column = table.columnNames.last { !table.key.contains($0) } ?? ""
            for row in chosen where self != .more {
                let isNumber = row[table.columnNames.firstIndex(of: column) ?? 0].isInteger
                let sql =
                    self == .fewer
                    ? "DELETE FROM \(table.name) WHERE \(condition)"
                    : "UPDATE \(table.name) SET \(column) = \(isNumber ? "7" : "'7'") WHERE \(condition)"
                side.connection.deadline = .now + .seconds(30)
                _ = try side.connection.execute(sql, table.key(of: row))
            }
        }
    }

    /// A row for a secret that no other row belongs to.
    private static func another(_ row: [SQLValue], _ table: SchemaTable) -> [SQLValue] {
        let id = Samples.id().text
        var row = row
        for (column, text) in [("id", id), ("secret_hash", Digest256(of: Array(id.utf8)).hex)] {
            if let index = table.columnNames.firstIndex(of: column) { row[index] = .text(text) }
        }
        return row
    }
}

extension SQLValue {
    fileprivate var isInteger: Bool {
        if case .integer = self { true } else { false }
    }
}

/// A connection that is lost before one of its changes.
final class CutConnection<Base: SQLConnection>: SQLConnection {
    static var dialect: SQLDialect { Base.dialect }

    private var base: Base?
    private var changesLeft: Int

    init(_ base: Base, after changes: Int) {
        self.base = base
        changesLeft = changes
    }

    var deadline: ContinuousClock.Instant {
        get { base?.deadline ?? .now }
        set { base?.deadline = newValue }
    }
    var isUsable: Bool { base != nil }
    var isInTransaction: Bool { base?.isInTransaction ?? false }

    func execute(_ sql: String, _ parameters: [SQLValue]) throws(SQLFailure) -> Int {
        try changing().execute(sql, parameters)
    }
    func run(_ sql: String) throws(SQLFailure) { try changing().run(sql) }
    func query(
        _ sql: String, _ parameters: [SQLValue], row: (SQLRow) throws(SQLFailure) -> Void
    ) throws(SQLFailure) {
        guard let base else { throw SQLFailure(.connectionLost, Self.error) }
        try base.query(sql, parameters, row: row)
    }

    private func changing() throws(SQLFailure) -> Base {
        changesLeft -= 1
        if changesLeft < 0 { base = nil }
        guard let base else { throw SQLFailure(.connectionLost, Self.error) }
        return base
    }

    private static var error: StorageError { .unavailable(logDetail: "cut") }
}

/// A copy's side whose connection is lost before one of its changes.
func cut(_ side: TransferSide, after changes: Int) -> TransferSide {
    func wrap(_ connection: some SQLConnection) -> any SQLConnection {
        CutConnection(connection, after: changes)
    }
    return TransferSide(wrap(side.connection))
}
