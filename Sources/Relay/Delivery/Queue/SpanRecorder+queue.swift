import Instruments
import Storage

/// A queued push has its own trace, because its attempts may be made hours later and by another relay.
///
/// That trace and the event's trace link to each other.
extension SpanRecorder {
    /// Records that a push of the event was stored in the queue.
    func queued(_ push: PendingPush, _ reason: String, _ begun: Begun) {
        let place = tracer.place(ofPush: push.id)
        let details: [LogField] = [.apnsID(push.id), .reason(reason)]
        // Pushes that are stored together share `begun`, so each ends a copy.
        end(begun.copy(), "queue", .producer, details, links: place.map { [$0] } ?? [])
        guard let place else { return }
        add(
            Span(
                trace: place.trace, id: place.span, parent: nil, name: "queue", kind: .producer,
                began: begun.began, ended: now, details: details, links: [self.place]))
    }

    /// Records that an attempt to send a queued push ended.
    func retried(_ push: PendingPush, _ end: PushEnd) {
        let details: [LogField] = [
            .apnsID(push.id), .secretHash(push.secretHash), .count("earlier_attempts", push.attempts),
        ]
        var isSent = false
        if case .sent = end { isSent = true }
        finish("retry", .consumer, details, isFailed: !isSent)
    }
}
