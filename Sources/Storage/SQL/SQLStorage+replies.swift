/// Acknowledgements, replies and their results.
extension SQLStorage {
    /// Implements `Storage`.
    package func acknowledge(
        _ event: EventName, reply: EventReply?, at now: EpochMilliseconds
    ) async throws(StorageError) -> AcknowledgementResult {
        try reply?.validate()
        return try await acknowledge(event, adding: reply.map { .reply($0) } ?? .nothing, at: now)
    }

    /// Implements `Storage`.
    package func report(
        _ result: ReplyResult, of event: EventName, at now: EpochMilliseconds
    ) async throws(StorageError) -> AcknowledgementResult {
        try result.validate()
        return try await acknowledge(event, adding: .result(result), at: now)
    }

    private func acknowledge(
        _ event: EventName, adding addition: Acknowledgement.Addition, at now: EpochMilliseconds
    ) async throws(StorageError) -> AcknowledgementResult {
        try event.validate()
        do throws(StorageError) {
            return try await write { session throws(SQLFailure) in
                try session.acknowledge(event, adding: addition, at: now, markingItem: true)
            }
        } catch {
            guard !error.isTransient else { throw error }
            return try await write { session throws(SQLFailure) in
                try session.acknowledge(event, adding: addition, at: now, markingItem: false)
            }
        }
    }

    /// Implements `Storage`.
    package func acknowledgements(
        of events: Set<EventName>, at now: EpochMilliseconds
    ) async throws(StorageError) -> [EventName: Acknowledgement] {
        guard !events.isEmpty else { return [:] }
        return try await read { session throws(SQLFailure) in
            try session.acknowledgements(of: events, at: now)
        }
    }

    /// Implements `Storage`.
    package func state(
        of event: EventName, at now: EpochMilliseconds
    ) async throws(StorageError) -> EventState {
        try event.validate()
        return try await read { session throws(SQLFailure) in try session.state(of: event, at: now) }
    }
}
