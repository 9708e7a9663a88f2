/// Acknowledgements and replies: every change is one statement whose condition checks the expected state.
extension SQLSession {
    /// The maximum number of attempts per call; an attempt fails only if another caller has made progress.
    private static var acknowledgeAttemptsMax: Int { 8 }

    func acknowledge(
        _ event: EventName, adding addition: Acknowledgement.Addition, at now: EpochMilliseconds,
        markingItem: Bool
    ) throws(SQLFailure) -> AcknowledgementResult {
        try transaction { () throws(SQLFailure) in
            guard let receipt = try receipt(of: event, at: now) else { return .unknownEvent }
            if case .reply(let reply) = addition, reply.sealed == nil, let offered = receipt.actions,
                !offered.contains(reply.action ?? "")
            {
                return .notOffered(offered)
            }
            let seen = Acknowledgement(at: now)
            let new = seen.with(addition, at: now) ?? seen
            for _ in 0..<Self.acknowledgeAttemptsMax {
                let found = try rows(of: event)
                // An expired row belongs to an earlier event with the same ID.
                for row in found where row.expiresAt <= now { try remove(row, of: event) }
                guard let row = found.filter({ $0.expiresAt > now }).min(by: Self.comesFirst) else {
                    guard try insert(new, of: event, until: receipt.end) else { continue }
                    try removeAcknowledgements(
                        of: event.key.primary, beyond: StorageLimits.acknowledgementsMax)
                    if markingItem { try acknowledgeItem(of: event, at: now) }
                    return .stored(new)
                }
                guard let changed = row.acknowledgement.with(addition, at: now) else {
                    return .existing(row.acknowledgement)
                }
                guard try add(addition, to: row, of: event, at: now) else { continue }
                return .stored(changed)
            }
            throw SQLFailure(.other, .unavailable(logDetail: "an event's reply changed too often"))
        }
    }

    func acknowledgements(
        of events: Set<EventName>, at now: EpochMilliseconds
    ) throws(SQLFailure) -> [EventName: Acknowledgement] {
        var names: [Name: EventName] = [:]
        for event in events {
            for hash in event.key.hashes { names[Name(hash, event.eventID)] = event }
        }
        var found: [EventName: ReplyRow] = [:]
        for chunk in Insertion.chunks(of: Array(names.keys)) {
            let pairs = Array(repeating: "(secret_hash = ? AND event_id = ?)", count: chunk.count)
            let values = chunk.flatMap { name in
                [SQLValue.hash(name.hash), .text(String(decoding: name.eventID, as: UTF8.self))]
            }
            try query(
                "SELECT \(Self.replyColumns) FROM event_reply WHERE " + pairs.joined(separator: " OR "),
                values
            ) { sqlRow throws(SQLFailure) in
                let row = try ReplyRow(sqlRow)
                guard row.expiresAt > now, let event = names[Name(row.hash, try sqlRow.text(11))] else {
                    return
                }
                if let known = found[event], Self.comesFirst(known, row) { return }
                found[event] = row
            }
        }
        return found.mapValues(\.acknowledgement)
    }

    func state(of event: EventName, at now: EpochMilliseconds) throws(SQLFailure) -> EventState {
        var state = EventState.unknown
        try query(
            """
            SELECT answer FROM event_receipt
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND event_id = ? AND expires_at > ?
            """, .anyHash(of: event.key) + [.text(event.eventID), .integer(now)]
        ) { row throws(SQLFailure) in
            if !row.isNull(0) {
                state = .answered(try row.blob(0))
            } else if state == .unknown {
                state = .inProgress
            }
        }
        return state
    }
}

// MARK: - Parts

extension SQLSession {
    /// A row's key, with the ID as bytes, because Swift strings with different bytes can be equal.
    private struct Name: Hashable {
        let hash: SecretHash
        let eventID: [UInt8]

        init(_ hash: SecretHash, _ eventID: String) {
            self.hash = hash
            self.eventID = Array(eventID.utf8)
        }
    }

    private static var replyColumns: String {
        """
        secret_hash, acked_at, replied_at, action, reply_text, sealed, expires_at, result_at, outcome, reason,
        sealed_result, event_id
        """
    }

    /// Whether a row takes precedence over another.
    ///
    /// An event can have rows under two of a secret's hashes: a row with a reply takes precedence, then a row with a
    /// result, then the earlier row.
    private static func comesFirst(_ one: ReplyRow, _ other: ReplyRow) -> Bool {
        let (left, right) = (one.acknowledgement, other.acknowledgement)
        return (left.repliedAt ?? .max, left.resultAt ?? .max, left.at)
            < (right.repliedAt ?? .max, right.resultAt ?? .max, right.at)
    }

    /// When the event's receipt expires, and the actions that it offers; nil if the event has no receipt.
    private func receipt(
        of event: EventName, at now: EpochMilliseconds
    ) throws(SQLFailure) -> (end: EpochMilliseconds, actions: [String]?)? {
        var receipt: (end: EpochMilliseconds, actions: [String]?)?
        try query(
            """
            SELECT expires_at, actions FROM event_receipt
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND event_id = ? AND expires_at > ?
            ORDER BY expires_at DESC LIMIT 1
            """, .anyHash(of: event.key) + [.text(event.eventID), .integer(now)]
        ) { row throws(SQLFailure) in
            let actions = try row.optionalText(1)?.split(separator: " ").map(String.init)
            receipt = (try row.integer(0), actions)
        }
        return receipt
    }

    private func rows(of event: EventName) throws(SQLFailure) -> [ReplyRow] {
        var rows: [ReplyRow] = []
        try query(
            """
            SELECT \(Self.replyColumns) FROM event_reply
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND event_id = ?
            """, .anyHash(of: event.key) + [.text(event.eventID)]
        ) { row throws(SQLFailure) in rows.append(try ReplyRow(row)) }
        return rows
    }

    private func insert(
        _ new: Acknowledgement, of event: EventName, until end: EpochMilliseconds
    ) throws(SQLFailure) -> Bool {
        try execute(
            statements.insertReply,
            [
                .hash(event.key.primary), .text(event.eventID), .integer(new.at),
                new.repliedAt.map { .integer($0) } ?? .null, .text(new.reply?.action),
                .text(new.reply?.text), .text(new.reply?.sealed),
                new.resultAt.map { .integer($0) } ?? .null, .text(new.result?.outcome),
                .text(new.result?.reason), .text(new.result?.sealed), .integer(end),
            ]) > 0
    }

    private func add(
        _ addition: Acknowledgement.Addition, to row: ReplyRow, of event: EventName,
        at now: EpochMilliseconds
    ) throws(SQLFailure) -> Bool {
        let columns: (time: String, texts: String)
        let texts: [SQLValue]
        switch addition {
        case .nothing: return false
        case .reply(let reply):
            columns = ("replied_at", "action = ?, reply_text = ?, sealed = ?")
            texts = [.text(reply.action), .text(reply.text), .text(reply.sealed)]
        case .result(let result):
            columns = ("result_at", "outcome = ?, reason = ?, sealed_result = ?")
            texts = [.text(result.outcome), .text(result.reason), .text(result.sealed)]
        }
        return try execute(
            """
            UPDATE event_reply SET \(columns.time) = ?, \(columns.texts)
            WHERE secret_hash = ? AND event_id = ? AND \(columns.time) IS NULL AND expires_at = ?
            """,
            [.integer(now)] + texts + [.hash(row.hash), .text(event.eventID), .integer(row.expiresAt)]) > 0
    }

    private func remove(_ row: ReplyRow, of event: EventName) throws(SQLFailure) {
        _ = try execute(
            "DELETE FROM event_reply WHERE secret_hash = ? AND event_id = ? AND expires_at = ?",
            [.hash(row.hash), .text(event.eventID), .integer(row.expiresAt)])
    }

    /// Removes the oldest rows beyond the limit, and any others from the same millisecond.
    private func removeAcknowledgements(of hash: SecretHash, beyond limit: Int) throws(SQLFailure) {
        let last = try integer(
            "SELECT acked_at FROM event_reply WHERE secret_hash = ? ORDER BY acked_at DESC LIMIT 1 OFFSET ?",
            [.hash(hash), .limit(limit)])
        guard let last else { return }
        _ = try execute(
            "DELETE FROM event_reply WHERE secret_hash = ? AND acked_at <= ?", [.hash(hash), .integer(last)])
    }

    private func acknowledgeItem(of event: EventName, at now: EpochMilliseconds) throws(SQLFailure) {
        _ = try execute(
            """
            UPDATE history_item SET acked_at = ?
            WHERE secret_hash IN (\(SQLStatements.anyHash)) AND event_id = ? AND acked_at IS NULL
            """, [.integer(now)] + .anyHash(of: event.key) + [.text(event.eventID)])
    }
}

/// A row of `event_reply`.
private struct ReplyRow {
    let hash: SecretHash
    let acknowledgement: Acknowledgement
    let expiresAt: EpochMilliseconds

    init(_ row: SQLRow) throws(SQLFailure) {
        hash = try row.hash(0)
        var acknowledgement = Acknowledgement(at: try row.integer(1))
        if !row.isNull(2) {
            acknowledgement.repliedAt = try row.integer(2)
            acknowledgement.reply = EventReply(
                action: try row.optionalText(3), text: try row.optionalText(4),
                sealed: try row.optionalText(5))
        }
        if !row.isNull(7) {
            acknowledgement.resultAt = try row.integer(7)
            acknowledgement.result = ReplyResult(
                outcome: try row.optionalText(8), reason: try row.optionalText(9),
                sealed: try row.optionalText(10))
        }
        self.acknowledgement = acknowledgement
        expiresAt = try row.integer(6)
    }
}

extension Acknowledgement {
    /// What a call stores in addition to the acknowledgement.
    enum Addition: Sendable {
        case nothing
        case reply(EventReply)
        case result(ReplyResult)
    }

    /// The acknowledgement with a first reply or result added; nil if it doesn't change.
    func with(_ addition: Addition, at now: EpochMilliseconds) -> Acknowledgement? {
        var changed = self
        switch addition {
        case .reply(let reply) where self.reply == nil: (changed.reply, changed.repliedAt) = (reply, now)
        case .result(let result) where self.result == nil: (changed.result, changed.resultAt) = (result, now)
        case .nothing, .reply, .result: return nil
        }
        return changed
    }
}
