/// A copy's progress, stored in the target.
extension TransferSide {
    /// See `TransferDatabase`.
    package func marks() async throws(StorageError) -> [TransferMark]? {
        try await perform { connection throws(SQLFailure) in
            let table = [SQLValue.text(TransferTables.marks)]
            guard try Self.count(connection.dialect.countTables, table, connection) > 0 else { return nil }
            var marks: [TransferMark] = []
            for values in try connection.rows(TransferStatements.readMarks, []) {
                marks.append(try TransferMark(SQLRow(values)))
            }
            return marks
        }
    }

    /// See `TransferDatabase`.
    package func begin(_ marks: [TransferMark]) async throws(StorageError) {
        let isMerge = marks.contains(where: \.isMerge)
        try await perform { connection throws(SQLFailure) in
            // A copy that stops between these statements starts over, because it lacks some of its marks.
            try connection.run(TransferStatements.createMarks)
            try connection.run("DELETE FROM \(TransferTables.marks)")
            try connection.run("DROP TABLE IF EXISTS \(TransferTables.added)")
            if isMerge { try connection.run(TransferStatements.createAdded) }
            try Self.inTransaction(connection) { () throws(SQLFailure) in
                for mark in marks {
                    _ = try connection.execute(
                        TransferStatements.makeMark,
                        [
                            .text(mark.table), .text(mark.source), .integer(mark.isMerge ? 1 : 0), .null,
                            .integer(0), .integer(TransferMark.Stage.copying.rawValue),
                        ])
                }
            }
        }
    }

    /// See `TransferDatabase`.
    package func update(_ marks: [TransferMark]) async throws(StorageError) {
        try await perform { connection throws(SQLFailure) in
            try Self.inTransaction(connection) { () throws(SQLFailure) in
                for mark in marks { try Self.move(mark, connection) }
            }
        }
    }

    /// See `TransferDatabase`.
    package func end() async throws(StorageError) {
        try await perform { connection throws(SQLFailure) in
            for table in [TransferTables.marks, TransferTables.added] {
                try connection.run("DROP TABLE IF EXISTS \(table)")
            }
        }
    }

    /// See `TransferDatabase`.
    package func addedKeys(
        of table: TransferTable, after digest: String, limit: Int
    ) async throws(StorageError) -> [TransferAddedKey] {
        try await perform { connection throws(SQLFailure) in
            let parameters: [SQLValue] = [.text(table.name), .text(digest), .integer(Int64(limit))]
            var keys: [TransferAddedKey] = []
            for values in try connection.rows(TransferStatements.readAdded, parameters) {
                let row = SQLRow(values)
                guard let key = TransferCoding.decode(hexadecimal: try row.text(1)) else {
                    throw row.wrong(1)
                }
                keys.append(TransferAddedKey(digest: try row.text(0), key: key))
            }
            return keys
        }
    }

    static func move(_ mark: TransferMark, _ connection: Connection) throws(SQLFailure) {
        _ = try connection.execute(
            TransferStatements.moveMark,
            [
                mark.place, .integer(Int64(mark.copied)), .integer(mark.stage.rawValue), .text(mark.table),
            ])
    }
}
