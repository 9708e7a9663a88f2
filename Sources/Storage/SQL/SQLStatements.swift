/// The statements that depend on the dialect, built once.
final class SQLStatements: Sendable {
    /// The end of a `SELECT` that locks its rows until the transaction ends.
    let lockRows: String
    // Adding a device locks its secret's row in `secret_lock`. Locking is an update, so that a cluster that certifies
    // writes (Galera) notices it.
    let makeLock: String
    let takeLock = "UPDATE secret_lock SET registrations = registrations + 1 WHERE secret_hash = ?"
    let insertReceipts: Insertion
    let insertDeliveries: Insertion
    let insertDeliveriesUnlessPresent: Insertion
    let insertPushes: Insertion
    let insertPushesUnlessPresent: Insertion
    /// Logs the results of a removed device's queued pushes, except those that a worker has leased.
    let logRemovedPushes: String
    /// Selects a page of one hash's delivery log.
    let page: String
    private let logOutcomes: String
    private let acknowledgementOutcomes: String
    private let replyOutcomes: String
    let revokeDevices: String
    let revokePushes: String
    let revokeReceipts: String
    let revokeHistory: String
    let revokeSchedules: String
    let revokeReplies: String
    let revokeTokens: String
    let insertItems: Insertion
    /// Selects a page of one hash's history.
    let historyPage: String
    /// Selects the newest of a hash's history items beyond a limit.
    let firstItemBeyond: String
    let deleteItemsFrom: String
    let insertSchedules: Insertion
    /// A schedule's ID, as an expression that is ordered byte for byte.
    let scheduleID: String
    let insertReply: String

    /// A parameter for each hash that a key may have, for `IN (…)`; `[SQLValue].anyHash(of:)` provides the values.
    static let anyHash = Array(repeating: "?", count: SecretKey.legacyMax + 1).joined(separator: ", ")

    init(
        lockingRows: String, bytewise: (String) -> String,
        insertUnlessPresent: (String) -> String, deleteFirst: (LimitedDeletion) -> String
    ) {
        lockRows = lockingRows
        makeLock = insertUnlessPresent(
            "INTO secret_lock (secret_hash, registrations) VALUES (?, 0)")
        let receipt = Insertion.into("event_receipt", Self.receiptColumns)
        insertReceipts = Insertion(
            insertUnlessPresent(receipt + Insertion.mark), columns: Self.receiptColumns,
            sizes: Insertion.paddedSizes)
        let delivery = Insertion.into("delivery_log", Self.deliveryColumns)
        insertDeliveries = Insertion(
            "INSERT " + delivery, columns: Self.deliveryColumns, sizes: [512] + Insertion.chunkSizes)
        insertDeliveriesUnlessPresent = Insertion(
            insertUnlessPresent(delivery + Insertion.mark), columns: Self.deliveryColumns)
        let push = Insertion.into("pending_push", Self.pushColumns)
        insertPushes = Insertion("INSERT " + push, columns: Self.pushColumns)
        insertPushesUnlessPresent = Insertion(
            insertUnlessPresent(push + Insertion.mark), columns: Self.pushColumns)
        // Locking keeps the rows from changing between being read and being deleted.
        logRemovedPushes = insertUnlessPresent(
            """
            INTO delivery_log (\(Self.deliveryColumns.filter { $0 != "others" }.joined(separator: ", ")))
            SELECT id, secret_hash, event_type, session_id, '\(DeliveryStatus.failed.rawValue)',
                '\(Delivery.deviceRemoved)', ?, device_id, event_id
            FROM pending_push WHERE secret_hash = ? AND device_id = ? AND lease_owner IS NULL\(lockingRows)
            """)
        page = Self.page(of: "delivery_log", Self.deliveryColumns, id: bytewise("id"))
        logOutcomes = Self.following(
            Self.deliveryColumns, of: "delivery_log", by: "created_at", then: bytewise("id"))
        acknowledgementOutcomes = Self.following(
            ["acked_at", "event_id"], of: "event_reply", by: "acked_at", then: bytewise("event_id"))
        replyOutcomes = Self.following(
            ["replied_at", "event_id", "action", "reply_text", "sealed"], of: "event_reply",
            by: "replied_at", then: bytewise("event_id"))
        let item = Insertion.into("history_item", Self.historyColumns)
        insertItems = Insertion(insertUnlessPresent(item + Insertion.mark), columns: Self.historyColumns)
        historyPage = Self.page(of: "history_item", Self.historyColumns, id: bytewise("id"))
        firstItemBeyond = """
            SELECT created_at, id FROM history_item WHERE secret_hash = ?
            ORDER BY created_at DESC, \(bytewise("id")) DESC LIMIT 1 OFFSET ?
            """
        deleteItemsFrom = """
            DELETE FROM history_item
            WHERE secret_hash = ? AND created_at <= ? AND (created_at < ? OR \(bytewise("id")) <= ?)
            """
        let schedule = Insertion.into("schedule", Self.scheduleColumns)
        insertSchedules = Insertion(
            insertUnlessPresent(schedule + Insertion.mark), columns: Self.scheduleColumns)
        scheduleID = bytewise("id")
        insertReply = insertUnlessPresent(
            """
            INTO event_reply
                (secret_hash, event_id, acked_at, replied_at, action, reply_text, sealed, result_at, outcome,
                    reason, sealed_result, expires_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        func revocation(_ table: String, _ columns: String...) -> String {
            deleteFirst(
                LimitedDeletion(
                    from: table, key: ["secret_hash"] + columns, where: "secret_hash = ?",
                    orderedBy: columns[0]))
        }
        revokeDevices = revocation("device_registration", "device_token")
        revokePushes = revocation("pending_push", "id")
        revokeReceipts = revocation("event_receipt", "event_id")
        revokeHistory = revocation("history_item", "created_at", "id")
        revokeSchedules = revocation("schedule", "id")
        revokeReplies = revocation("event_reply", "event_id")
        revokeTokens = revocation("push_token", "kind", "session_id", "token")
    }

    /// Stores responses in event receipts; keyed by the number of rows, one of ``Insertion/paddedSizes``.
    ///
    /// The parameters are first each row's claim and response, then each row's hash, event and claim.
    static let completions = Dictionary(
        uniqueKeysWithValues: Insertion.paddedSizes.map { rows in
            let answers = Array(repeating: "WHEN ? THEN ?", count: rows).joined(separator: " ")
            let places = SQLSession.anyOf("secret_hash = ? AND event_id = ? AND claim_id = ?", rows)
            return (
                rows,
                """
                UPDATE event_receipt SET answer = CASE claim_id \(answers) ELSE answer END WHERE \(places)
                """
            )
        })

    /// Reads one secret's event receipts; keyed by the number of events, one of ``Insertion/paddedSizes``.
    ///
    /// The parameters are the secret's hashes, then the events.
    static let receiptsOfEvents = Dictionary(
        uniqueKeysWithValues: Insertion.paddedSizes.map { events in
            let places = Array(repeating: "?", count: events).joined(separator: ", ")
            return (
                events,
                """
                SELECT secret_hash, content_digest, claim_id, lease_until, answer, expires_at, event_id
                FROM event_receipt WHERE secret_hash IN (\(anyHash)) AND event_id IN (\(places))
                """
            )
        })

    private static let receiptColumns = [
        "secret_hash", "event_id", "content_digest", "claim_id", "lease_until", "expires_at",
        "actions",
    ]

    /// The columns of `delivery_log`, in the order in which ``SQLSession`` reads and writes them.
    static let deliveryColumns = [
        "id", "secret_hash", "event_type", "session_id", "status", "error", "created_at", "device_id",
        "others", "event_id",
    ]

    /// The columns of `pending_push`, in the order in which ``SQLSession`` reads and writes them.
    static let pushColumns = [
        "secret_hash", "id", "device_id", "event_type", "session_id", "payload", "push_type", "priority",
        "collapse_id", "attempts", "due_at", "lease_owner", "created_at", "expires_at", "bucket",
        "event_id", "kind",
    ]

    private static let historyColumns = [
        "id", "secret_hash", "event_id", "event_type", "session_id", "server_id", "created_at", "read_at",
        "title", "body", "sealed", "acked_at",
    ]

    /// The columns of `schedule`, in the order in which ``SQLSession`` reads and writes them.
    static let scheduleColumns = [
        "secret_hash", "id", "kind", "name", "rule", "content", "bucket", "next_at", "due_at", "ends_at",
        "late_by", "spread", "created_at", "last_at", "last_outcome", "skipped", "lease_owner",
        "lease_until",
    ]

    /// Selects one hash's rows that can have outcomes of the given kind, at or after a position and before a time.
    func outcomes(_ kind: OutcomePosition.Kind) -> String {
        switch kind {
        case .push: logOutcomes
        case .acknowledgement: acknowledgementOutcomes
        case .reply: replyOutcomes
        }
    }

    private static func following(
        _ columns: [String], of table: String, by time: String, then id: String
    ) -> String {
        """
        SELECT \(columns.joined(separator: ", ")) FROM \(table)
        WHERE secret_hash = ? AND \(time) >= ? AND \(time) < ? AND (\(time) > ? OR \(id) >= ?)
        ORDER BY \(time), \(id) LIMIT ?
        """
    }

    private static func page(of table: String, _ columns: [String], id: String) -> String {
        // The first bound on created_at is redundant, but limits the part of the index that is read.
        """
        SELECT \(columns.joined(separator: ", ")) FROM \(table)
        WHERE secret_hash = ? AND created_at <= ? AND (created_at < ? OR created_at = ? AND \(id) < ?)
        ORDER BY created_at DESC, \(id) DESC LIMIT ?
        """
    }
}

/// An `INSERT` of several rows, in only a few sizes, because each size is a separate prepared statement.
struct Insertion: Sendable {
    /// The allowed numbers of rows per statement.
    static let chunkSizes = [64, 16, 4, 1]
    /// Marks where the rows go in a statement that continues after them.
    static let mark = "\u{1}"

    private let statements: [Int: String]
    /// The numbers of rows for which this insertion has a statement.
    let sizes: [Int]

    /// Creates an insertion from a statement whose rows go at its end, or at `mark`.
    init(_ statement: String, columns: [String], sizes: [Int] = chunkSizes) {
        self.sizes = sizes
        let row = "(" + Array(repeating: "?", count: columns.count).joined(separator: ", ") + ")"
        var statements: [Int: String] = [:]
        for size in sizes {
            let rows = Array(repeating: row, count: size).joined(separator: ", ")
            let parts = statement.split(separator: Self.mark, omittingEmptySubsequences: false)
            statements[size] = parts[0] + rows + parts.dropFirst().joined()
        }
        self.statements = statements
    }

    /// Splits elements, in order, into few chunks whose sizes are among `sizes`.
    static func chunks<Element>(of elements: [Element], sizes: [Int] = chunkSizes) -> [ArraySlice<Element>] {
        var chunks: [ArraySlice<Element>] = []
        var rest = elements[...]
        while !rest.isEmpty {
            let size = sizes.first { $0 <= rest.count } ?? 1
            chunks.append(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        return chunks
    }

    /// The numbers of rows per statement that ``padded(_:)`` uses.
    static let paddedSizes = [128, 64, 32, 16, 8, 4, 2, 1]

    /// Splits elements into chunks with one of ``paddedSizes``; the last chunk is filled by repeating its last element.
    ///
    /// Use it only for statements that have the same effect if a row occurs twice. Filling pays off because one
    /// statement costs less than several, each with its own transaction.
    static func padded<Element>(_ elements: [Element]) -> [(chunk: ArraySlice<Element>, filled: [Element])] {
        var chunks: [(ArraySlice<Element>, [Element])] = []
        var rest = elements[...]
        while let last = rest.last {
            let size = paddedSizes.last { $0 >= rest.count } ?? paddedSizes[0]
            let chunk = rest.prefix(size)
            chunks.append((chunk, chunk + Array(repeating: last, count: size - chunk.count)))
            rest = rest.dropFirst(size)
        }
        return chunks
    }

    /// The statement that inserts `rows` rows, a number in `sizes`.
    func sql(rows: Int) -> String {
        statements[rows] ?? ""
    }

    /// The text after `INSERT`: the table, its columns and the keyword before the rows.
    static func into(_ table: String, _ columns: [String]) -> String {
        "INTO \(table) (\(columns.joined(separator: ", "))) VALUES "
    }
}

extension [SQLValue] {
    /// A key's hashes, as values for `SQLStatements.anyHash`.
    static func anyHash(of key: SecretKey) -> [SQLValue] { key.hashesPadded.map { .hash($0) } }
}
