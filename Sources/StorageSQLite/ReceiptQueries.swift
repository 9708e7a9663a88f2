internal import Storage

/// Changes event receipts; for the writing connection, within a transaction.
struct ReceiptWrites {
    private let find: SQLiteStatement
    private let delete: SQLiteStatement
    private let insert: SQLiteStatement
    private let storeAnswer: SQLiteStatement
    private let deleteClaim: SQLiteStatement
    private let deleteExpired: SQLiteStatement
    private let shorten: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StorageError) {
        // The primary hash's row first; expired rows are as good as none.
        find = try connection.prepare(
            """
            SELECT content_digest, lease_until, answer FROM event_receipt
            WHERE secret_hash IN (?1, ?2, ?3) AND event_id = ?4 AND expires_at > ?5
            ORDER BY secret_hash = ?1 DESC LIMIT 1
            """)
        delete = try connection.prepare(
            "DELETE FROM event_receipt WHERE secret_hash IN (\(SQLiteStatement.anyHash)) AND event_id = ?")
        insert = try connection.prepare(
            """
            INSERT INTO event_receipt
                (secret_hash, event_id, content_digest, claim_id, lease_until, expires_at)
            VALUES (?, ?, ?, ?, ?, ?)
            """)
        storeAnswer = try connection.prepare(
            "UPDATE event_receipt SET answer = ? WHERE secret_hash = ? AND event_id = ? AND claim_id = ?")
        deleteClaim = try connection.prepare(
            """
            DELETE FROM event_receipt
            WHERE secret_hash = ? AND event_id = ? AND claim_id = ? AND answer IS NULL
            """)
        deleteExpired = try connection.prepare(
            """
            DELETE FROM event_receipt WHERE (secret_hash, event_id) IN
                (SELECT secret_hash, event_id FROM event_receipt
                 WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
            """)
        shorten = try connection.prepare(Self.shortening)
    }

    private static let shortening = """
        UPDATE event_receipt SET lease_until = ?5
        WHERE secret_hash IN (?1, ?2, ?3) AND event_id = ?4 AND answer IS NULL AND lease_until > ?5
        """

    func claim(_ event: EventClaim) throws(StorageError) -> EventClaimResult {
        if let standing = try standingReceipt(event) { return standing }
        try delete.execute {
            $0.anyHash(of: event.key)
            $0.text(event.eventID)
        }
        try insert.execute {
            $0.hash(event.key.primary)
            $0.text(event.eventID)
            $0.digest(event.content)
            $0.text(event.id.text)
            $0.integer(event.leaseUntil)
            $0.integer(event.at + StorageLimits.receiptLifetime)
        }
        return .claimed
    }

    /// Ends every claim without an answer: whoever opens the file for writing is alone, so their holders are dead.
    static func endLeases(_ connection: SQLiteConnection) throws(StorageError) {
        try connection.execute(
            "UPDATE event_receipt SET lease_until = 0 WHERE answer IS NULL AND lease_until > 0")
    }

    func complete(_ event: EventClaim, answer: [UInt8]) throws(StorageError) -> Bool {
        try storeAnswer.execute {
            $0.blob(answer)
            $0.hash(event.key.primary)
            $0.text(event.eventID)
            $0.text(event.id.text)
        } > 0
    }

    func release(_ event: EventClaim) throws(StorageError) {
        try deleteClaim.execute {
            $0.hash(event.key.primary)
            $0.text(event.eventID)
            $0.text(event.id.text)
        }
    }

    func prune(at now: EpochMilliseconds, limit: Int) throws(StorageError) -> Int {
        try deleteExpired.execute {
            $0.integer(now)
            $0.integer(max(limit, 0))
        }
    }

    /// What a receipt that is there makes of a claim; nil when the event is free.
    private func standingReceipt(_ event: EventClaim) throws(StorageError) -> EventClaimResult? {
        var result: EventClaimResult?
        var leaseUntil = event.at
        try find.query {
            $0.anyHash(of: event.key)
            $0.text(event.eventID)
            $0.integer(event.at)
        } row: { row throws(StorageError) in
            if try row.text(0) != event.content.hex {
                result = .conflict
            } else if !row.isNull(2) {
                result = .answered(try row.blob(2))
            } else {
                leaseUntil = try row.integer(1)
                if leaseUntil > event.at { result = .inProgress }
            }
        }
        // The clock was ahead when it was taken. It isn't taken over, because its holder may still be at work.
        if leaseUntil > event.at + StorageLimits.receiptLeaseMax {
            try shorten.execute {
                $0.anyHash(of: event.key)
                $0.text(event.eventID)
                $0.integer(event.leaseUntil)
            }
        }
        return result
    }
}
