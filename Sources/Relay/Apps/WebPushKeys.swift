import APNs
import Cryptography
import Programs
import Storage
import WebPush

/// What all loops share for Web Push: keys, tokens, and the push services that the relay sends to.
final class WebPushKeys: Sendable {
    /// The key that pages subscribe with.
    let current: VAPIDKey
    /// All keys by ID, including the keys that older subscriptions were made with.
    private let byID: [String: VAPIDKey]
    /// Signs tokens, each of which is used for hours.
    let tokens: VAPIDTokenSource
    /// The push services that devices may use.
    let hosts: HostRule
    /// Derives topics, so that push services learn nothing from them.
    private let topicKey: [UInt8]

    /// Keys in order of preference, the current one first.
    init(current: VAPIDKey, others: [VAPIDKey] = [], subject: VAPIDSubject, hosts: HostRule) {
        self.current = current
        byID = Dictionary(([current] + others).map { ($0.keyID, $0) }) { first, _ in first }
        tokens = VAPIDTokenSource(subject: subject)
        self.hosts = hosts
        topicKey = SHA256.authenticationCode(
            of: Array("apn-relay topic 1".utf8), key: Array(current.privateKeyText.utf8))
    }

    /// Whether there are keys for older subscriptions.
    var areSeveral: Bool { byID.count > 1 }

    /// The key with this ID; `nil` if the relay no longer has it.
    subscript(keyID: String) -> VAPIDKey? { byID[keyID] }

    /// The topic for a tenant's collapse ID; services can neither read it nor compare two tenants' topics.
    func topic(_ collapseID: CollapseID, of tenant: SecretHash) -> WebPush.Topic {
        let key = SHA256.authenticationCode(of: Array(tenant.hex.utf8), key: topicKey)
        return WebPush.Topic(collapseID: collapseID.text, key: key)
    }
}
