/// The statements of `ServerStorage` that depend on the dialect, put together once.
struct ServerStatements: Sendable {
    // Whoever may add a device holds its secret's row of this table; the update is a write, which a cluster that
    // certifies writes (Galera) sees too.
    let makeLock: String
    let takeLock = "UPDATE secret_lock SET registrations = registrations + 1 WHERE secret_hash = ?"
    let insertReceipt: String
    let insertDeliveries: Insertion
    let insertDeliveriesUnlessPresent: Insertion
    let insertPushes: Insertion
    let insertPushesUnlessPresent: Insertion
    /// Writes down the ends of the pushes of a device that is going, save those that somebody holds.
    let logRemovedPushes: String
    let deleteOldDeliveries: String
    let deleteOldReceipts: String
    /// A page of one hash's log.
    let page: String
    let revokeDevices: String
    let revokePushes: String
    let revokeReceipts: String

    /// A place for each hash that a key may have, for `IN (…)`; `[SQLValue].anyHash(of:)` fills them.
    static let anyHash = Array(repeating: "?", count: SecretKey.legacyMax + 1).joined(separator: ", ")

    init(_ dialect: SQLDialect) {
        makeLock = dialect.insertUnlessPresent(
            "INTO secret_lock (secret_hash, registrations) VALUES (?, 0)")
        insertReceipt = dialect.insertUnlessPresent(
            """
            INTO event_receipt
                (secret_hash, event_id, content_digest, claim_id, lease_until, expires_at)
            VALUES (?, ?, ?, ?, ?, ?)
            """)
        let delivery = Insertion.into("delivery_log", Self.deliveryColumns)
        insertDeliveries = Insertion("INSERT " + delivery, columns: Self.deliveryColumns)
        insertDeliveriesUnlessPresent = Insertion(
            dialect.insertUnlessPresent(delivery + Insertion.mark), columns: Self.deliveryColumns)
        let push = Insertion.into("pending_push", Self.pushColumns)
        insertPushes = Insertion("INSERT " + push, columns: Self.pushColumns)
        insertPushesUnlessPresent = Insertion(
            dialect.insertUnlessPresent(push + Insertion.mark), columns: Self.pushColumns)
        // The rows stay as they were read until they are deleted.
        logRemovedPushes = dialect.insertUnlessPresent(
            """
            INTO delivery_log (\(Self.deliveryColumns.joined(separator: ", ")))
            SELECT id, secret_hash, event_type, session_id, '\(DeliveryStatus.failed.rawValue)',
                '\(Delivery.deviceRemoved)', ?, device_id
            FROM pending_push WHERE secret_hash = ? AND device_id = ? AND lease_owner IS NULL FOR UPDATE
            """)
        deleteOldDeliveries = dialect.deleteFirst(
            LimitedDeletion(
                from: "delivery_log", key: ["secret_hash", "created_at", "id"], where: "created_at < ?",
                orderedBy: "created_at"))
        deleteOldReceipts = dialect.deleteFirst(
            LimitedDeletion(
                from: "event_receipt", key: ["secret_hash", "event_id"], where: "expires_at <= ?",
                orderedBy: "expires_at"))
        page = Self.page(dialect)
        func revocation(_ table: String, _ column: String) -> String {
            dialect.deleteFirst(
                LimitedDeletion(
                    from: table, key: ["secret_hash", column], where: "secret_hash = ?", orderedBy: column))
        }
        revokeDevices = revocation("device_registration", "device_token")
        revokePushes = revocation("pending_push", "id")
        revokeReceipts = revocation("event_receipt", "event_id")
    }

    private static let deliveryColumns = [
        "id", "secret_hash", "event_type", "session_id", "status", "error", "created_at", "device_id",
    ]

    /// The columns of `pending_push`, in the order in which `ServerQueue` reads and writes them.
    static let pushColumns = [
        "secret_hash", "id", "device_id", "event_type", "session_id", "payload", "push_type", "priority",
        "collapse_id", "attempts", "due_at", "lease_owner", "created_at", "expires_at",
    ]

    private static func page(_ dialect: SQLDialect) -> String {
        let id = dialect.bytewise("id")
        // The first bound on created_at says nothing new; an index can be read up to it.
        return """
            SELECT \(deliveryColumns.joined(separator: ", ")) FROM delivery_log
            WHERE secret_hash = ? AND created_at <= ? AND (created_at < ? OR created_at = ? AND \(id) < ?)
            ORDER BY created_at DESC, \(id) DESC LIMIT ?
            """
    }
}

/// An `INSERT` of several rows at once, in few sizes, because each is a statement of its own that is prepared.
struct Insertion: Sendable {
    /// Rows that one statement may insert.
    static let chunkSizes = [64, 16, 4, 1]
    /// Where the rows come in a statement that goes on behind them.
    static let mark = "\u{1}"

    private let statements: [Int: String]

    /// A statement that ends where its rows belong, or has `mark` there.
    init(_ statement: String, columns: [String]) {
        let row = "(" + Array(repeating: "?", count: columns.count).joined(separator: ", ") + ")"
        var statements: [Int: String] = [:]
        for size in Self.chunkSizes {
            let rows = Array(repeating: row, count: size).joined(separator: ", ")
            let parts = statement.split(separator: Self.mark, omittingEmptySubsequences: false)
            statements[size] = parts[0] + rows + parts.dropFirst().joined()
        }
        self.statements = statements
    }

    /// Elements in order, in few pieces whose sizes are among `chunkSizes`.
    static func chunks<Element>(of elements: [Element]) -> [ArraySlice<Element>] {
        var chunks: [ArraySlice<Element>] = []
        var rest = elements[...]
        while !rest.isEmpty {
            let size = chunkSizes.first { $0 <= rest.count } ?? 1
            chunks.append(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        return chunks
    }

    /// The statement for one of the sizes.
    func sql(rows: Int) -> String {
        statements[rows] ?? ""
    }

    /// What follows `INSERT`: the table, its columns, and the word before the rows.
    static func into(_ table: String, _ columns: [String]) -> String {
        "INTO \(table) (\(columns.joined(separator: ", "))) VALUES "
    }
}

extension [SQLValue] {
    /// Each hash of a key, where a statement has `ServerStatements.anyHash`.
    static func anyHash(of key: SecretKey) -> [SQLValue] { key.hashesPadded.map { .hash($0) } }
}
