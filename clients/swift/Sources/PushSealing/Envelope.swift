/// A sealed notification: the string that a push carries beside `aps` as `sealed`.
///
/// docs/reference/encryption.md specifies the format, version 1.
///
/// The sender and the phone have the same `secret`, a ``PairingSecret``:
///
/// ```swift
/// let message = SealedMessage(id: "evt_1", sentAt: now, title: "Done", body: "All tests pass.")
/// let sealed = try Envelope.seal(message, type: "complete", with: secret.notificationKey)
///
/// let opened = try Envelope.open(sealed, type: "complete", with: [secret.notificationKey])
/// ```
public enum Envelope {
    /// The version that this library seals and opens; register a device with it.
    public static let version = 1
    /// The maximum length of the string, in characters.
    public static let lengthMax = 3600
    /// The type of a notification without a `kind`.
    public static let defaultType = "notify"

    /// Plaintexts are padded to a multiple of this many bytes, so that their length doesn't give the text away.
    static let paddingUnit = 256
    /// The maximum size of the plaintext's JSON, in bytes.
    static let contentBytesMax = 10 * paddingUnit - 1
    private static let headBytes = 1 + NotificationKey.idByteCount + CipherSizes.nonce

    /// Seals a message with a new random nonce.
    ///
    /// Seal a message once and repeat requests with the same string: to the relay, another string is different content.
    ///
    /// - Parameter type: What the relay sees: an event's `eventType`, or a notification's `kind`, or ``defaultType``.
    /// - Throws: ``SealingFailure``; if it is ``SealingFailure/tooLarge``, shorten the text.
    public static func seal(
        _ message: SealedMessage, type: String, with key: NotificationKey
    ) throws(SealingFailure) -> String {
        var generator = SystemRandomNumberGenerator()
        let nonce = RandomBytes.make(CipherSizes.nonce, using: &generator)
        return try seal(content: try message.content(), type: type, with: key, nonce: nonce)
    }

    /// Opens an envelope.
    ///
    /// Before showing the message, check it for repetition and age.
    ///
    /// - Parameters:
    ///   - type: The visible type of the push that carried the envelope.
    ///   - keys: The keys of all pairings.
    /// - Throws: ``Refusal``; then show the push's visible text.
    public static func open(
        _ sealed: String, type: String, with keys: [NotificationKey]
    ) throws(Refusal) -> SealedMessage {
        let (content, _) = try openContent(sealed, type: type, with: keys)
        return try SealedMessage(content: content)
    }

    /// Opens an envelope like ``open(_:type:with:)``, and also returns the key that opened it.
    public static func openNamingKey(
        _ sealed: String, type: String, with keys: [NotificationKey]
    ) throws(Refusal) -> (message: SealedMessage, key: NotificationKey) {
        let (content, key) = try openContent(sealed, type: type, with: keys)
        return (try SealedMessage(content: content), key)
    }

    /// The key ID in an envelope, not yet authenticated; `nil` if the text isn't an envelope of this version.
    package static func keyID(of sealed: String) -> String? {
        guard sealed.utf8.count <= lengthMax, let bytes = Base64URL.decode(sealed), bytes.count > headBytes,
            bytes[0] == version
        else { return nil }
        return Hexadecimal.text(Array(bytes[1..<1 + NotificationKey.idByteCount]))
    }

    static func seal(
        content: [UInt8], type: String, with key: NotificationKey, nonce: [UInt8]
    ) throws(SealingFailure) -> String {
        guard content.count <= contentBytesMax else { throw .tooLarge }
        let sealed = SystemCiphers.seal(
            padded(content), key: key.bytes, nonce: nonce, context: context(key.idBytes, type))
        guard let sealed else { throw .unavailable }
        return Base64URL.encode([UInt8(version)] + key.idBytes + nonce + sealed)
    }

    static func openContent(
        _ sealed: String, type: String, with keys: [NotificationKey]
    ) throws(Refusal) -> (content: [UInt8], key: NotificationKey) {
        guard sealed.utf8.count <= lengthMax, let bytes = Base64URL.decode(sealed), let first = bytes.first
        else { throw .malformed }
        guard first == version else { throw .unsupportedVersion }
        let plaintextCount = bytes.count - headBytes - CipherSizes.tag
        guard plaintextCount > 0, plaintextCount.isMultiple(of: paddingUnit) else { throw .malformed }
        let id = bytes[1..<1 + NotificationKey.idByteCount]
        let candidates = keys.filter { $0.idBytes.elementsEqual(id) }
        guard !candidates.isEmpty else { throw .unknownKey }
        let nonce = Array(bytes[(1 + NotificationKey.idByteCount)..<headBytes])
        let ciphertext = Array(bytes[headBytes...])
        for key in candidates {
            let plaintext = SystemCiphers.open(
                ciphertext, key: key.bytes, nonce: nonce, context: context(key.idBytes, type))
            guard let plaintext else { continue }
            guard let content = unpadded(plaintext) else { throw .badPadding }
            return (content, key)
        }
        throw .notAuthentic
    }

    private static func context(_ id: [UInt8], _ type: String) -> [UInt8] {
        Array("apn-relay/1".utf8) + [0] + id + Array(type.utf8)
    }

    // ISO/IEC 7816-4.
    private static func padded(_ content: [UInt8]) -> [UInt8] {
        let count = (content.count / paddingUnit + 1) * paddingUnit
        return content + [0x80] + [UInt8](repeating: 0, count: count - content.count - 1)
    }

    private static func unpadded(_ plaintext: [UInt8]) -> [UInt8]? {
        guard let end = plaintext.lastIndex(where: { $0 != 0 }), plaintext[end] == 0x80,
            plaintext.count - end <= paddingUnit
        else { return nil }
        return Array(plaintext[..<end])
    }
}

/// Why an envelope isn't opened or shown, named as in docs/reference/encryption.md.
public enum Refusal: String, Error, Sendable, CaseIterable {
    /// Not an envelope.
    case malformed
    /// A version that this library doesn't know; a newer app may.
    case unsupportedVersion
    /// Sealed under a key that wasn't passed.
    case unknownKey
    /// Changed since it was sealed, or sent under another type.
    case notAuthentic
    /// Authentic, but its sender padded it incorrectly.
    case badPadding
    /// Authentic, but its content isn't a message.
    case badContent
    /// Older than its time to live.
    case stale
    /// Shown before.
    case repeated
}

/// Why a message can't be sealed.
public enum SealingFailure: Error, Sendable, Equatable {
    /// The message has more than 2,559 bytes; shorten the body.
    case tooLarge
    /// A property's value isn't allowed; carries the property's name.
    case invalid(String)
    /// The platform's cryptography failed.
    case unavailable
}
