import Instruments
import Storage

/// A queued push has a trace of its own, to which its attempts belong, since they may be made hours later and by
/// another relay. It and the event's trace have links to each other.
extension SpanRecorder {
    /// A push of the event was stored in the queue.
    func queued(_ push: PendingPush, _ reason: String, _ begun: Begun) {
        let place = tracer.place(ofPush: push.id)
        let details: [LogField] = [.apnsID(push.id), .reason(reason)]
        // Several pushes are stored at once.
        end(begun.copy(), "queue", .producer, details, links: place.map { [$0] } ?? [])
        guard let place else { return }
        add(
            Span(
                trace: place.trace, id: place.span, parent: nil, name: "queue", kind: .producer,
                began: begun.began, ended: now, details: details, links: [self.place]))
    }

    /// A queued push's attempt ended.
    func retried(_ push: PendingPush, _ end: PushEnd) {
        let details: [LogField] = [
            .apnsID(push.id), .secretHash(push.secretHash), .count("earlier_attempts", push.attempts),
        ]
        var isSent = false
        if case .sent = end { isSent = true }
        finish("retry", .consumer, details, isFailed: !isSent)
    }
}
