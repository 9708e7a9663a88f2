/// The secret that a phone and a sender share: 32 random bytes that only the pairing link carries.
///
/// The relay's secret and the keys are derived from it with a one-way function, so the relay, which sees its own secret
/// in each request, can't compute the others. A pairing secret can't be made from a password, because the relay could
/// test guesses. Descriptions and mirrors don't reveal the bytes. See docs/reference/encryption.md.
public struct PairingSecret: Sendable, Equatable {
    /// The size of a pairing secret, in bytes.
    public static let byteCount = 32

    /// The secret's bytes.
    public let bytes: [UInt8]

    /// The secret in base64url without padding: the member `key` of a pairing link.
    public var base64URL: String { Base64URL.encode(bytes) }

    /// Creates a secret from exactly 32 bytes, which must be random; `nil` for any other number.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Creates a secret from its base64url form; `nil` unless that decodes to 32 bytes.
    public init?(base64URL: String) {
        guard let bytes = Base64URL.decode(base64URL) else { return nil }
        self.init(bytes: bytes)
    }

    /// Creates a secret with the system's cryptographic random number generator.
    public init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    /// Creates a secret with a random number generator.
    ///
    /// - Parameter generator: Must be cryptographically secure outside of tests.
    public init(using generator: inout some RandomNumberGenerator) {
        bytes = RandomBytes.make(Self.byteCount, using: &generator)
    }

    /// The secret that requests to the relay carry: 32 characters.
    public var relaySecret: String { Base64URL.encode(derived("relay secret", count: 24)) }

    /// The key that seals and opens notifications.
    public var notificationKey: NotificationKey {
        NotificationKey(
            idBytes: derived("notification key id", count: NotificationKey.idByteCount),
            bytes: derived("notification key", count: NotificationKey.byteCount))
    }

    /// An ID that a sender may show the relay instead of the session's own: 22 characters, constant per session.
    public func privateSessionID(of sessionID: String) -> String {
        let code = SystemCiphers.authenticationCode(
            of: Array(sessionID.utf8), key: derived("session id key", count: 32))
        return Base64URL.encode(Array(code.prefix(16)))
    }

    func derived(_ info: String, count: Int) -> [UInt8] {
        KeyDerivation.key(
            from: bytes, salt: Array("apn-relay pairing v1".utf8), info: Array(info.utf8), count: count)
    }
}

extension PairingSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always the same placeholder.
    public var description: String { "<pairing secret>" }
    /// Always the same placeholder.
    public var debugDescription: String { "<pairing secret>" }
    /// A mirror without children, so that it doesn't reveal the bytes.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// Random bytes from a generator.
enum RandomBytes {
    static func make(_ count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
