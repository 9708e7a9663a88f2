import Network
import Storage

extension FakeStorage {
    func acknowledge(
        _ event: EventName, reply: EventReply?, at now: EpochMilliseconds
    ) async throws(StorageError) -> AcknowledgementResult {
        try checked { state in
            let receipt = state.receipts.first {
                $0.claim.key == event.key && $0.claim.eventID.utf8.elementsEqual(event.eventID.utf8)
            }
            guard let offered = receipt?.claim.actions else { return .unknownEvent }
            if let reply, reply.sealed == nil, !offered.isEmpty, !offered.contains(reply.action ?? "") {
                return .notOffered(offered)
            }
            let known = state.acknowledgements[event]
            if let known, reply == nil || known.reply != nil { return .existing(known) }
            var new = known ?? Acknowledgement(at: now)
            if let reply { (new.reply, new.repliedAt) = (reply, now) }
            state.acknowledgements[event] = new
            return .stored(new)
        }
    }

    func report(
        _ result: ReplyResult, of event: EventName, at now: EpochMilliseconds
    ) async throws(StorageError) -> AcknowledgementResult {
        try checked { state in
            let isKnown = state.receipts.contains {
                $0.claim.key == event.key && $0.claim.eventID.utf8.elementsEqual(event.eventID.utf8)
            }
            guard isKnown else { return .unknownEvent }
            var known = state.acknowledgements[event] ?? Acknowledgement(at: now)
            guard known.result == nil else { return .existing(known) }
            (known.result, known.resultAt) = (result, now)
            state.acknowledgements[event] = known
            return .stored(known)
        }
    }

    func acknowledgements(
        of events: Set<EventName>, at now: EpochMilliseconds
    ) async throws(StorageError) -> [EventName: Acknowledgement] {
        state.withLock { $0.acknowledgementReads.append(events.count) }
        return try checked { state in state.acknowledgements.filter { events.contains($0.key) } }
    }

    func state(of event: EventName, at now: EpochMilliseconds) async throws(StorageError) -> EventState {
        try checked { state in
            let receipt = state.receipts.first {
                $0.claim.key == event.key && $0.claim.eventID.utf8.elementsEqual(event.eventID.utf8)
            }
            guard let receipt else { return .unknown }
            return receipt.answer.map { .answered($0) } ?? .inProgress
        }
    }
}
