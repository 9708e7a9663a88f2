import PushSealing

/// Encrypts event texts for a pairing's phones (docs/reference/encryption.md).
struct Sealer: Sendable {
    private let secret: PairingSecret
    private let key: NotificationKey
    private let serverID: String
    private let hidesSessions: Bool

    /// A sealer for a pairing.
    ///
    /// - Parameter hidesSessions: Whether the relay and Apple see a keyed hash instead of a session's ID.
    init(_ secret: PairingSecret, serverID: String, hidesSessions: Bool) {
        self.secret = secret
        key = secret.notificationKey
        self.serverID = serverID
        self.hidesSessions = hidesSessions
    }

    /// The event without readable text; a text that is already sealed stays unchanged.
    ///
    /// - Parameter now: The time of sealing.
    func sealed(_ event: QueuedEvent, at now: EpochMilliseconds) -> QueuedEvent {
        guard case .readable(let title, let body) = event.text else {
            var event = event
            event.state = event.state?.withoutText
            return event
        }
        // An unkeyed hash would let others confirm guesses about the event; the ID must be the same each time the event
        // is sealed.
        let id = "oc-" + hash(event.id)
        return QueuedEvent(
            id: id, at: event.at, type: event.type, session: visible(event.session),
            text: envelope(id, event, title, body, now).map { .sealed($0) } ?? .general,
            awaitsAnswer: event.awaitsAnswer, state: event.state?.withoutText, actions: event.actions)
    }

    /// The event with a request that people answer from the phone, and the possible replies; `nil` if not even the
    /// beginning of the request fits.
    ///
    /// A request that doesn't fit can only be rejected.
    ///
    /// - Parameter end: When the wait for a reply ends.
    func sealed(
        _ event: QueuedEvent, asking request: AskedRequest, end: EpochMilliseconds? = nil,
        at now: EpochMilliseconds
    ) -> (event: QueuedEvent, offer: ReplyOffer)? {
        let id = "oc-" + hash(event.id)
        guard case .readable(let title, _) = event.text else { return nil }
        let lengthMax =
            event.session.text.utf8.count <= Bounds.sessionBytesUsual
            ? Envelope.lengthMax : Bounds.sealedCharactersMax
        func attempt(_ body: String, _ offer: ReplyOffer, isCut: Bool) -> (QueuedEvent, ReplyOffer)? {
            var message = SealedMessage(id: id, sentAt: Int(now / 1000), title: title, body: body)
            message.sessionID = event.session.text
            message.serverID = serverID
            // No category: iOS would show its buttons even under a notification that it has shortened.
            message.properties.actions = offer.names
            var asked = SealedMessage.Request()
            asked.end = end.map { Int($0 / 1000) }
            asked.isCut = isCut
            asked.questions = offer.questions
            message.request = asked
            guard let sealed = try? Envelope.seal(message, type: event.type.rawValue, with: key),
                sealed.utf8.count <= lengthMax
            else { return nil }
            let event = QueuedEvent(
                id: id, at: event.at, type: event.type, session: visible(event.session),
                text: .sealed(sealed),
                awaitsAnswer: event.awaitsAnswer, state: event.state?.withoutText, actions: offer.names)
            return (event, offer)
        }
        if let whole = attempt(request.text, request.offer, isCut: false) { return whole }
        let refusal = ReplyOffer(actions: request.offer.actions.filter { $0 == .reject })
        for bytes in Bounds.cutRequestBytesMax {
            let text = RequestText.cut(request.text, bytes: bytes, digest: request.digest)
            if let cut = attempt(text, refusal, isCut: true) { return cut }
        }
        return nil
    }

    /// A hash of text that only the pairing's parties can compute.
    func hash(_ text: String) -> String { secret.privateSessionID(of: text) }

    /// The session ID that the relay and Apple see.
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
        // A text fits on the first attempt unless many of its characters are escaped in JSON.
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

    /// Whether the record contains text that can be read without a key.
    var isReadable: Bool {
        guard case .put(let event) = self else { return false }
        return event.isReadable
    }
}
