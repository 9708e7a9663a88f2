/// Event receipts: every change is one statement whose condition checks the expected state.
extension SQLSession {
    /// The maximum number of attempts at a claim; an attempt fails only if another caller has made progress.
    private static var claimAttemptsMax: Int { 16 }

    private struct Receipt {
        let hash: SecretHash
        let content: String
        let claimID: String
        let leaseUntil: EpochMilliseconds
        let answer: [UInt8]?
        let expiresAt: EpochMilliseconds
    }

    func claim(_ event: EventClaim) throws(SQLFailure) -> EventClaimResult {
        if !event.key.hasLegacy, try insert(event) { return .claimed }
        for _ in 0..<Self.claimAttemptsMax {
            let receipts = try receipts(of: event)
            if let standing = receipts.first(where: { $0.expiresAt > event.at }),
                let result = result(of: event, standing)
            {
                if case .inProgress = result { try shorten(standing, for: event) }
                return result
            }
            if try take(event, from: receipts) { return .claimed }
        }
        throw SQLFailure(.other, .unavailable(logDetail: "an event's receipt changed too often"))
    }

    /// Claims several events with few statements.
    ///
    /// New events are inserted together, and events that already have a result are read together. The others, whose
    /// receipts can be taken over, are claimed one by one.
    func claim(_ events: [EventClaim]) throws(SQLFailure) -> [Result<EventClaimResult, StorageError>] {
        guard events.count > 1 else { return try events.map(outcome(of:)) }
        // All claims use the same order, so that concurrent claims wait for each other less often.
        let inOrder = events.filter { !$0.key.hasLegacy }
            .sorted { ($0.key.primary, $0.eventID) < ($1.key.primary, $1.eventID) }
        var known: [UUIDv7: EventClaimResult] = [:]
        for (chunk, filled) in Insertion.padded(inOrder) {
            let inserted = try execute(
                statements.insertReceipts.sql(rows: filled.count), filled.flatMap(receiptValues))
            if inserted == chunk.count {
                for event in chunk { known[event.id] = .claimed }
            } else {
                // Receipts that were just inserted are recognised by their claim's ID.
                for (key, ofSecret) in Dictionary(grouping: chunk, by: \.key) {
                    known.merge(try results(of: ofSecret, key)) { one, _ in one }
                }
            }
        }
        return try events.map { event throws(SQLFailure) in
            if let result = known[event.id] { return .success(result) }
            return try outcome(of: event)
        }
    }

    /// The results of one secret's claims, as far as existing receipts determine them without a change.
    private func results(
        of events: [EventClaim], _ key: SecretKey
    ) throws(SQLFailure) -> [UUIDv7: EventClaimResult] {
        var receipts: [String: Receipt] = [:]
        for (_, filled) in Insertion.padded(events) {
            try query(
                SQLStatements.receiptsOfEvents[filled.count] ?? "",
                .anyHash(of: key) + filled.map { .text($0.eventID) }
            ) { row throws(SQLFailure) in receipts[try row.text(6)] = try receipt(row) }
        }
        var results: [UUIDv7: EventClaimResult] = [:]
        for event in events {
            guard let receipt = receipts[event.eventID], receipt.expiresAt > event.at,
                let result = result(of: event, receipt), result != .inProgress
            else { continue }
            results[event.id] = result
        }
        return results
    }

    private func outcome(
        of event: EventClaim
    ) throws(SQLFailure) -> Result<EventClaimResult, StorageError> {
        do throws(SQLFailure) {
            return .success(try claim(event))
        } catch {
            guard error.kind == .other else { throw error }
            return .failure(error.errorOfChange)
        }
    }

    /// Stores the responses to several events.
    func complete(_ events: [CompletedEvent]) throws(SQLFailure) -> [Bool] {
        guard events.count > 1 else { return try events.map(complete) }
        var completed: Set<UUIDv7> = []
        let inOrder = events.sorted {
            ($0.claim.key.primary, $0.claim.eventID) < ($1.claim.key.primary, $1.claim.eventID)
        }
        for (chunk, filled) in Insertion.padded(inOrder) {
            let answers = filled.flatMap { [.text($0.claim.id.text), .blob($0.answer)] as [SQLValue] }
            let updated = try execute(
                SQLStatements.completions[filled.count] ?? "", answers + filled.flatMap(\.place))
            // If some claims were lost, each response is stored again on its own, to find out which.
            if updated == chunk.count { completed.formUnion(chunk.map(\.claim.id)) }
        }
        return try events.map { event throws(SQLFailure) in
            if completed.contains(event.claim.id) { return true }
            return try complete(event)
        }
    }

    private func complete(_ event: CompletedEvent) throws(SQLFailure) -> Bool {
        try complete(event.claim, answer: event.answer)
    }

    func complete(_ event: EventClaim, answer: [UInt8]) throws(SQLFailure) -> Bool {
        try execute(
            "UPDATE event_receipt SET answer = ? WHERE secret_hash = ? AND event_id = ? AND claim_id = ?",
            [.blob(answer), .hash(event.key.primary), .text(event.eventID), .text(event.id.text)]) > 0
    }

    func release(_ event: EventClaim) throws(SQLFailure) {
        _ = try execute(
            """
            DELETE FROM event_receipt
            WHERE secret_hash = ? AND event_id = ? AND claim_id = ? AND answer IS NULL
            """,
            [.hash(event.key.primary), .text(event.eventID), .text(event.id.text)])
    }
}

// MARK: - Parts

extension SQLSession {
    private func insert(_ event: EventClaim) throws(SQLFailure) -> Bool {
        try execute(statements.insertReceipts.sql(rows: 1), receiptValues(event)) > 0
    }

    private func receiptValues(_ event: EventClaim) -> [SQLValue] {
        [
            .hash(event.key.primary), .text(event.eventID), .text(event.content.hex),
            .text(event.id.text), .integer(event.leaseUntil),
            .integer(event.at + StorageLimits.receiptLifetime), .text(event.storedActions),
        ]
    }

    /// The event's receipts, including expired ones, with the one under the primary hash first.
    private func receipts(of event: EventClaim) throws(SQLFailure) -> [Receipt] {
        var receipts: [Receipt] = []
        try query(
            """
            SELECT secret_hash, content_digest, claim_id, lease_until, answer, expires_at FROM event_receipt
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND event_id = ?
            """, .anyHash(of: event.key) + [.text(event.eventID)]
        ) { row throws(SQLFailure) in
            receipts.append(try receipt(row))
        }
        return receipts.sorted { $0.hash == event.key.primary && $1.hash != event.key.primary }
    }

    private func receipt(_ row: SQLRow) throws(SQLFailure) -> Receipt {
        Receipt(
            hash: try row.hash(0), content: try row.text(1), claimID: try row.text(2),
            leaseUntil: try row.integer(3), answer: row.isNull(4) ? nil : try row.blob(4),
            expiresAt: try row.integer(5))
    }

    /// The result of claiming an event that has a valid receipt; nil if the lease has expired and can be taken over.
    private func result(of event: EventClaim, _ receipt: Receipt) -> EventClaimResult? {
        guard receipt.content == event.content.hex else { return .conflict }
        if let answer = receipt.answer { return .answered(answer) }
        // This call itself made the claim, in an earlier attempt whose connection was lost.
        if receipt.claimID == event.id.text { return .claimed }
        return receipt.leaseUntil > event.at ? .inProgress : nil
    }

    /// Shortens a lease that ends later than allowed, because its owner's clock was ahead.
    ///
    /// The receipt isn't taken over, because its owner may still be working.
    private func shorten(_ receipt: Receipt, for event: EventClaim) throws(SQLFailure) {
        guard receipt.leaseUntil > event.at + StorageLimits.receiptLeaseMax else { return }
        _ = try execute(
            """
            UPDATE event_receipt SET lease_until = ?
            WHERE secret_hash = ? AND event_id = ? AND claim_id = ? AND lease_until = ?
            """,
            [
                .integer(event.leaseUntil), .hash(receipt.hash), .text(event.eventID),
                .text(receipt.claimID), .integer(receipt.leaseUntil),
            ])
    }

    /// Takes over the event, unless another caller has changed a receipt since it was read.
    private func take(_ event: EventClaim, from receipts: [Receipt]) throws(SQLFailure) -> Bool {
        for legacy in receipts where legacy.hash != event.key.primary {
            guard try delete(legacy, event) else { return false }
        }
        guard let primary = receipts.first(where: { $0.hash == event.key.primary }) else {
            return try insert(event)
        }
        return try execute(
            """
            UPDATE event_receipt
            SET content_digest = ?, claim_id = ?, lease_until = ?, answer = NULL, expires_at = ?,
                actions = ?
            WHERE secret_hash = ? AND event_id = ? AND claim_id = ? AND (answer IS NULL OR expires_at <= ?)
            """,
            [
                .text(event.content.hex), .text(event.id.text), .integer(event.leaseUntil),
                .integer(event.at + StorageLimits.receiptLifetime), .text(event.storedActions),
                .hash(primary.hash), .text(event.eventID), .text(primary.claimID), .integer(event.at),
            ]) > 0
    }

    private func delete(_ receipt: Receipt, _ event: EventClaim) throws(SQLFailure) -> Bool {
        try execute(
            """
            DELETE FROM event_receipt
            WHERE secret_hash = ? AND event_id = ? AND claim_id = ? AND (answer IS NULL OR expires_at <= ?)
            """,
            [.hash(receipt.hash), .text(event.eventID), .text(receipt.claimID), .integer(event.at)]) > 0
    }
}

/// An event and the response to store.
struct CompletedEvent: Sendable {
    let claim: EventClaim
    let answer: [UInt8]

    /// The parameters that identify the event's receipt.
    fileprivate var place: [SQLValue] {
        [.hash(claim.key.primary), .text(claim.eventID), .text(claim.id.text)]
    }
}
