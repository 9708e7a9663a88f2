import PushSealing

/// A pairing for which texts can be sealed.
struct SealingPairing: Sendable {
    let serverID: String?
    let key: NotificationKey

    /// Parses a pairing link or its JSON; throws `missing("key")` if it has no key.
    init(parsing text: String) throws(PairingFailure) {
        let pairing = try Pairing(parsing: text)
        guard let secret = pairing.key else { throw .missing("key") }
        self.init(serverID: pairing.serverID, key: secret)
    }

    init(serverID: String?, key: PairingSecret) {
        self.serverID = serverID
        self.key = key.notificationKey
    }
}
