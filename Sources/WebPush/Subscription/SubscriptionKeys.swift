internal import Cryptography

/// A user agent's keys, which encrypt messages so that only it can read them (RFC 8291, section 2).
///
/// `auth` is a secret, so descriptions show neither key.
package struct SubscriptionKeys: Hashable, Sendable {
    /// The public key: 65 bytes, uncompressed and on the curve P-256.
    package let p256dh: [UInt8]
    /// The authentication secret, 16 bytes.
    package let auth: [UInt8]

    /// The public key in base64url, for storage.
    package var p256dhText: String { Base64.urlText(p256dh) }
    /// The authentication secret in base64url, for storage; never log it.
    package var authText: String { Base64.urlText(auth) }

    /// The size of the authentication secret, in bytes.
    package static let authBytes = 16

    /// Validates both keys.
    package init(p256dh: [UInt8], auth: [UInt8]) throws(SubscriptionRefusal) {
        guard p256dh.count == P256.publicKeyBytes, p256dh[0] == 4 else { throw .publicKeyFormat }
        guard P256.isPublicKey(p256dh) else { throw .publicKeyNotOnCurve }
        guard auth.count == Self.authBytes else { throw .authSize }
        self.p256dh = p256dh
        self.auth = auth
    }

    /// Validates both keys in base64url, as in browsers' `PushSubscription.toJSON()`.
    ///
    /// Padding and the standard alphabet are also accepted, because pages convert the keys with `btoa`.
    package init(p256dh: String, auth: String) throws(SubscriptionRefusal) {
        guard let publicKey = Base64.decode(Array(p256dh.utf8)) else { throw .publicKeyFormat }
        guard let secret = Base64.decode(Array(auth.utf8)) else { throw .authSize }
        try self.init(p256dh: publicKey, auth: secret)
    }
}

extension SubscriptionKeys: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A constant placeholder.
    package var description: String { "<subscription keys>" }
    /// A constant placeholder.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
