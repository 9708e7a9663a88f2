internal import Storage

/// Reads the delivery log; for a reading connection.
struct DeliveryReads {
    private let page: SQLiteStatement

    private static let columns = "id, event_type, session_id, status, error, created_at, device_id"

    private let ofAll: Tally
    private let ofHash: Tally

    init(_ connection: SQLiteConnection) throws(StorageError) {
        page = try connection.prepare(
            """
            SELECT \(Self.columns) FROM delivery_log
            WHERE secret_hash = ? AND (created_at, id) < (?, ?)
            ORDER BY created_at DESC, id DESC LIMIT ?
            """)
        ofAll = try Tally(connection, where: "")
        ofHash = try Tally(connection, where: "secret_hash = ? AND ")
    }

    func deliveries(
        of key: SecretKey, before cursor: DeliveryCursor?, limit: Int
    ) throws(StorageError) -> [Delivery] {
        // A page of each hash's rows, because for several SQLite would read and sort them all.
        var deliveries: [Delivery] = []
        for hash in key.hashes {
            try page.query {
                $0.hash(hash)
                $0.integer(cursor?.createdAt ?? .max)
                $0.text(cursor?.id ?? "")
                $0.integer(max(limit, 0))
            } row: { row throws(StorageError) in
                deliveries.append(try Self.delivery(row, hash))
            }
        }
        return !key.hasLegacy ? deliveries : deliveries.newestFirst(limit)
    }

    func tally(
        of hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) throws(StorageError) -> DeliveryTally {
        try (hash == nil ? ofAll : ofHash).count(hash, from: start, before: end, limit: limit)
    }

    private static func delivery(
        _ row: borrowing SQLiteRow, _ hash: SecretHash
    ) throws(StorageError) -> Delivery {
        guard let status = DeliveryStatus(rawValue: try row.text(3)) else { throw row.wrong(3) }
        return Delivery(
            id: try row.text(0), secretHash: hash,
            eventType: try row.text(1), sessionID: try row.text(2), status: status,
            error: try row.optionalText(4), createdAt: try row.integer(5), deviceID: try row.optionalText(6))
    }
}

/// Counts rows of the log: of one hash or of all.
private struct Tally {
    private let next: SQLiteStatement
    private let byOutcome: SQLiteStatement
    private let events: SQLiteStatement

    init(_ connection: SQLiteConnection, where condition: String) throws(StorageError) {
        let span = "\(condition)created_at >= ? AND created_at < ?"
        next = try connection.prepare(
            "SELECT created_at FROM delivery_log WHERE \(span) ORDER BY created_at LIMIT 1 OFFSET ?")
        byOutcome = try connection.prepare(
            "SELECT status, error, count(*) FROM delivery_log WHERE \(span) GROUP BY status, error")
        events = try connection.prepare(
            """
            SELECT count(*) FROM (SELECT DISTINCT secret_hash, event_type, session_id, created_at
                FROM delivery_log WHERE \(span))
            """)
    }

    func count(
        _ hash: SecretHash?, from start: EpochMilliseconds, before end: EpochMilliseconds, limit: Int
    ) throws(StorageError) -> DeliveryTally {
        func span(_ end: EpochMilliseconds) -> (inout SQLiteBinder) -> Void {
            { binder in
                if let hash { binder.hash(hash) }
                binder.integer(start)
                binder.integer(end)
            }
        }
        var behind: EpochMilliseconds?
        try next.query {
            span(end)(&$0)
            $0.integer(max(limit, 1))
        } row: { row throws(StorageError) in
            behind = try row.integer(0)
        }
        var tally = DeliveryTally(end: DeliveryTally.end(from: start, next: behind, before: end))
        try byOutcome.query(span(tally.end)) { row throws(StorageError) in
            guard let status = DeliveryStatus(rawValue: try row.text(0)) else { throw row.wrong(0) }
            tally.add(status, try row.optionalText(1), count: Int(try row.integer(2)))
        }
        try events.query(span(tally.end)) { row throws(StorageError) in
            tally.events = Int(try row.integer(0))
        }
        return tally
    }
}

/// Changes the delivery log; for the writing connection, within a transaction.
struct DeliveryWrites {
    /// Rows of one statement: it costs about as much to begin one as to insert a row.
    private static let rowsPerStatement = 32
    /// What the texts of a row take as a rule: two ids, a hash, and short words.
    private static let textBytesPerRow = 224

    private let insert: SQLiteStatement
    private let insertMany: SQLiteStatement
    private let deleteOld: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        // A call that fails is taken back as a whole. `OR FAIL` spares SQLite from being able to take back the statement
        // alone, for which it would copy every page before the statement's first change of it.
        insert = try connection.prepare(Self.insertion("INSERT OR FAIL"))
        insertMany = try connection.prepare(
            Self.insertion("INSERT OR FAIL", rows: Self.rowsPerStatement),
            textBytes: Self.rowsPerStatement * Self.textBytesPerRow)
        deleteOld = try connection.prepare(
            """
            DELETE FROM delivery_log WHERE (created_at, id) IN
                (SELECT created_at, id FROM delivery_log WHERE created_at < ? ORDER BY created_at, id LIMIT ?)
            """)
    }

    func append(_ deliveries: [Delivery]) throws(StorageError) {
        // In the table's order each row goes behind the one before it, where SQLite need not look for its place.
        var rest = deliveries.inTableOrder[...]
        while !rest.isEmpty {
            let count = rest.count < Self.rowsPerStatement ? 1 : Self.rowsPerStatement
            let rows = rest.prefix(count)
            try (count == 1 ? insert : insertMany).execute { binder in
                for index in rows.indices { binder.delivery(rows[index]) }
            }
            rest = rest.dropFirst(count)
        }
    }

    /// The statement that stores rows, begun with `INSERT` or a kind of it; `SQLiteBinder.delivery` binds each.
    static func insertion(_ words: String, rows: Int = 1) -> String {
        """
        \(words) INTO delivery_log
            (id, secret_hash, event_type, session_id, status, error, created_at, device_id)
        VALUES \(Array(repeating: "(?, ?, ?, ?, ?, ?, ?, ?)", count: rows).joined(separator: ", "))
        """
    }

    func prune(before time: EpochMilliseconds, limit: Int) throws(StorageError) -> Int {
        try deleteOld.execute {
            $0.integer(time)
            $0.integer(max(limit, 0))
        }
    }
}

extension [Delivery] {
    /// The rows by time and id; they come nearly so, and mostly just so.
    fileprivate var inTableOrder: [Delivery] {
        isInTableOrder ? self : sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// By index, which copies no row.
    private var isInTableOrder: Bool {
        indices.dropFirst().allSatisfy { index in
            let (time, timeBefore) = (self[index].createdAt, self[index - 1].createdAt)
            return time == timeBefore ? self[index - 1].id <= self[index].id : timeBefore < time
        }
    }
}

extension SQLiteBinder {
    /// Binds every column of a delivery, in the order of `DeliveryWrites.insertion`.
    mutating func delivery(_ delivery: Delivery) {
        text(delivery.id)
        hash(delivery.secretHash)
        text(delivery.eventType)
        text(delivery.sessionID)
        text(delivery.status.rawValue)
        text(delivery.error)
        integer(delivery.createdAt)
        text(delivery.deviceID)
    }
}
