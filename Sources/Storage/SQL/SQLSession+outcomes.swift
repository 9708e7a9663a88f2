/// Outcomes, merged from the delivery log, acknowledgements and replies.
extension SQLSession {
    func outcomes(
        of key: SecretKey, after position: OutcomePosition, before end: EpochMilliseconds, limit: Int
    ) throws(SQLFailure) -> [FinalOutcome] {
        var outcomes: [FinalOutcome] = []
        for hash in key.hashes {
            for kind in OutcomePosition.Kind.allCases {
                let (time, id) = position.start(of: kind)
                // The row at the position is read again, because some of a log row's pushes may not have been listed
                // yet.
                let values: [SQLValue] = [
                    .hash(hash), .integer(time), .integer(end), .integer(time), .text(id), .limit(limit + 1),
                ]
                try query(statements.outcomes(kind), values) { row throws(SQLFailure) in
                    outcomes += try Self.outcomes(kind, row)
                }
            }
        }
        let following = outcomes.filter { $0.position > position }.sorted { $0.position < $1.position }
        return Array(following.prefix(limit))
    }

    private static func outcomes(
        _ kind: OutcomePosition.Kind, _ row: SQLRow
    ) throws(SQLFailure) -> [FinalOutcome] {
        let content: FinalOutcome.Content
        switch kind {
        case .push:
            let delivery = try Delivery(row)
            return delivery.singles.enumerated().map { index, single in
                let (time, id) = (delivery.createdAt, delivery.id)
                return FinalOutcome(
                    .push(single), at: OutcomePosition(time: time, kind: kind, id: id, number: index + 1))
            }
        case .acknowledgement: content = .acknowledgement
        case .reply:
            content = .reply(
                EventReply(
                    action: try row.optionalText(2), text: try row.optionalText(3),
                    sealed: try row.optionalText(4)))
        }
        return [
            FinalOutcome(
                content, at: OutcomePosition(time: try row.integer(0), kind: kind, id: try row.text(1)))
        ]
    }
}

extension SQLStorage {
    /// Implements `Storage`.
    package func outcomes(
        of key: SecretKey, after position: OutcomePosition, before end: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> [FinalOutcome] {
        try StorageText.check(position.id, field: "cursor", bytes: StorageLimits.eventIDBytes)
        return try await read { session throws(SQLFailure) in
            try session.outcomes(of: key, after: position, before: end, limit: limit)
        }
    }
}
