import PushSealing

/// Encrypts the texts of events for the phones of a pairing (docs/reference/encryption.md).
struct Sealer: Sendable {
    private let secret: PairingSecret
    private let key: NotificationKey
    private let serverID: String
    private let hidesSessions: Bool

    /// A sealer for a pairing.
    ///
    /// - Parameter hidesSessions: Whether relay and Apple see a keyed hash in place of a session's ID.
    init(_ secret: PairingSecret, serverID: String, hidesSessions: Bool) {
        self.secret = secret
        key = secret.notificationKey
        self.serverID = serverID
        self.hidesSessions = hidesSessions
    }

    /// The event without a readable text; an event that is already sealed stays unchanged.
    ///
    /// - Parameter now: The time of sealing.
    func sealed(_ event: QueuedEvent, at now: EpochMilliseconds) -> QueuedEvent {
        guard case .readable(let title, let body) = event.text else {
            var event = event
            event.state = event.state?.withoutText
            return event
        }
        // An unkeyed hash would let others confirm guesses about the event; the ID must be the same at each sealing.
        let id = "oc-" + hash(event.id)
        return QueuedEvent(
            id: id, at: event.at, type: event.type, session: visible(event.session),
            text: envelope(id, event, title, body, now).map { .sealed($0) } ?? .general,
            awaitsAnswer: event.awaitsAnswer, state: event.state?.withoutText, actions: event.actions)
    }

    /// A hash of a text that only the pairing's parties can compute.
    func hash(_ text: String) -> String { secret.privateSessionID(of: text) }

    /// The session ID that relay and Apple see.
    func visible(_ session: SessionID) -> SessionID {
        hidesSessions ? SessionID(secret.privateSessionID(of: session.text)) ?? session : session
    }

    /// The envelope; `nil` if no part of the text fits, or if cryptography is unavailable.
    private func envelope(
        _ id: String, _ event: QueuedEvent, _ title: String, _ body: String, _ now: EpochMilliseconds
    ) -> String? {
        var message = SealedMessage(id: id, sentAt: Int(now / 1000))
        message.sessionID = event.session.text
        message.serverID = serverID
        if !event.actions.isEmpty {
            message.properties.category = NotificationCategory.permission
            message.properties.actions = event.actions
        }
        // A text fits at the first attempt unless many of its characters are escaped in JSON.
        for bytesMax in Bounds.sealedTextBytesMax {
            message.title = NotificationText.cut(title, bytes: bytesMax)
            message.body = NotificationText.cut(body, bytes: bytesMax)
            guard let sealed = try? Envelope.seal(message, type: event.type.rawValue, with: key) else {
                continue
            }
            if sealed.utf8.count <= Bounds.sealedCharactersMax { return sealed }
        }
        return nil
    }
}

extension QueueRecord {
    /// The record without a readable text, if there is a sealer.
    func sealed(by sealer: Sealer?, at now: EpochMilliseconds) -> QueueRecord {
        guard let sealer, case .put(let event) = self else { return self }
        return .put(sealer.sealed(event, at: now))
    }

    /// Whether it has a text that can be read without a key.
    var isReadable: Bool {
        guard case .put(let event) = self else { return false }
        return event.isReadable
    }
}
