import Storage
import StorageContract

/// Copies from one place to another.
@discardableResult
func copy(
    _ from: TransferPlace, _ to: TransferPlace, merging: Bool = false, name: String = "source",
    report: @escaping @Sendable (TransferProgress) -> Void = { _ in }
) async throws -> [TransferSummary] {
    let target = try await to.target()
    do {
        let summaries = try await copy(
            try from.source(), target, merging: merging, name: name, report: report)
        await target.close()
        return summaries
    } catch {
        await target.close()
        throw error
    }
}

/// Copies from one side to another, and closes the source.
@discardableResult
func copy(
    _ source: any TransferDatabase, _ target: any TransferDatabase, merging: Bool = false,
    name: String = "source", report: @escaping @Sendable (TransferProgress) -> Void = { _ in }
) async throws -> [TransferSummary] {
    let transfer = Transfer(from: source, named: name, to: target, merging: merging, report: report)
    do {
        let summaries = try await transfer.run()
        await source.close()
        return summaries
    } catch {
        await source.close()
        throw error
    }
}

/// What is in every table of a database.
func contents(of place: TransferPlace) async throws -> [String: Set<[UInt8]>] {
    let database = try await place.target()
    var contents: [String: Set<[UInt8]>] = [:]
    for table in TransferTable.all {
        contents[table.name] = Set(try await rows(of: table, in: database).map(TransferCoding.encode))
    }
    await database.close()
    return contents
}

/// All rows of a table.
func rows(of table: TransferTable, in database: any TransferDatabase) async throws -> [[SQLValue]] {
    var rows: [[SQLValue]] = []
    while true {
        let after = rows.last.map { table.key(of: $0) }
        let page = try await database.page(of: table, after: after, version: SchemaStep.current)
        rows += page
        guard page.count == table.rowsPerPage else { return rows }
    }
}

/// What somebody else does to a table's rows.
enum Change: String, CaseIterable, Sendable {
    case more, fewer, altered

    /// Does it to `count` rows of a table.
    func make(_ count: Int, in table: TransferTable, of database: any TransferDatabase) async throws {
        let chosen = Array(try await rows(of: table, in: database).prefix(count))
        switch self {
        case .more: try await database.replace([], with: chosen.map { Self.another($0, table) }, in: table)
        case .fewer: try await database.replace(chosen.map { table.key(of: $0) }, with: [], in: table)
        case .altered:
            let changed = chosen.map { Self.set(Self.alterable[table.name] ?? "", "changed", $0, table) }
            try await database.replace(chosen.map { table.key(of: $0) }, with: changed, in: table)
        }
    }

    /// Does it to every table of a place.
    func make(_ count: Int, in place: TransferPlace) async throws {
        let database = try await place.target()
        for table in TransferTable.all { try await make(count, in: table, of: database) }
        await database.close()
    }

    /// What somebody would have to do to the other side instead, for the same difference.
    var onOtherSide: Change {
        switch self {
        case .more: .fewer
        case .fewer: .more
        case .altered: .altered
        }
    }

    /// What a table of the target then differs by.
    func difference(_ count: Int, _ table: TransferTable) -> TransferDifference {
        switch self {
        case .more: TransferDifference(table: table.name, missing: 0, altered: 0, extra: count)
        case .fewer: TransferDifference(table: table.name, missing: count, altered: 0, extra: 0)
        case .altered: TransferDifference(table: table.name, missing: 0, altered: count, extra: 0)
        }
    }

    private static let alterable = [
        "device_registration": "bundle_id", "delivery_log": "session_id", "event_receipt": "claim_id",
        "pending_push": "event_type", "blocked_secret": "note", "history_item": "session_id",
        "agent_use": "client", "schedule": "content", "event_reply": "action",
        "push_token": "bundle_id",
    ]

    /// A row under a secret that no row has.
    private static func another(_ row: [SQLValue], _ table: TransferTable) -> [SQLValue] {
        let id = Samples.id().text
        let hash = Digest256(of: Array(id.utf8)).hex
        return set("id", id, set("secret_hash", hash, row, table), table)
    }

    private static func set(
        _ column: String, _ value: String, _ row: [SQLValue], _ table: TransferTable
    ) -> [SQLValue] {
        var row = row
        if let index = table.columns.firstIndex(where: { $0.name == column }) { row[index] = .text(value) }
        return row
    }
}

extension TransferDatabase {
    func replace(
        _ keys: [[SQLValue]], with rows: [[SQLValue]], in table: TransferTable
    ) async throws(StorageError) {
        try await replace(keys, with: rows, in: table, isMerge: false)
    }
}
