/// What a phone and a sender share: 32 random bytes that only the pairing link carries.
///
/// The relay's secret and the keys are derived from it one way, so the relay, which sees its own secret in each
/// request, can't compute the others. There is no way to make one from a password: the relay could test guesses.
/// Nothing that describes values reveals the bytes. See docs/reference/encryption.md.
public struct PairingSecret: Sendable, Equatable {
    /// The number of bytes.
    public static let byteCount = 32

    /// The bytes.
    public let bytes: [UInt8]

    /// The secret in base64url without padding: the member `key` of a pairing link.
    public var base64URL: String { Base64URL.encode(bytes) }

    /// A secret from exactly 32 bytes, which must be random; `nil` for any other number.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// A secret from its base64url form; `nil` if that isn't one of 32 bytes.
    public init?(base64URL: String) {
        guard let bytes = Base64URL.decode(base64URL) else { return nil }
        self.init(bytes: bytes)
    }

    /// A new secret from the system's cryptographic random numbers.
    public init() {
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }

    /// A new secret.
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

    /// What a sender may show the relay instead of a session's ID: 22 characters that are always the same for it.
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
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// Bytes from a generator of random numbers.
enum RandomBytes {
    static func make(_ count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
