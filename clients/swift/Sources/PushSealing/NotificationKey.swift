/// The key that seals and opens notifications, and its ID.
///
/// Store it where the notification service extension can read it while the device is locked: in a shared Keychain
/// access group, accessible after the first unlock. Descriptions and mirrors don't reveal the key.
public struct NotificationKey: Sendable, Equatable {
    /// The size of a key, in bytes.
    public static let byteCount = CipherSizes.key
    /// The size of a key's ID, in bytes.
    public static let idByteCount = 4

    /// The key's ID: the four bytes at the start of each envelope, as eight lower-case hexadecimal digits.
    public var id: String { Hexadecimal.text(idBytes) }

    /// The key itself.
    public let bytes: [UInt8]
    let idBytes: [UInt8]

    /// Restores a stored key; `nil` if the ID isn't eight hexadecimal digits or the key isn't 32 bytes.
    public init?(id: String, bytes: [UInt8]) {
        guard let idBytes = Hexadecimal.bytes(id), idBytes.count == Self.idByteCount,
            bytes.count == Self.byteCount
        else { return nil }
        self.init(idBytes: idBytes, bytes: bytes)
    }

    init(idBytes: [UInt8], bytes: [UInt8]) {
        self.idBytes = idBytes
        self.bytes = bytes
    }
}

extension NotificationKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Only the key's ID.
    public var description: String { "<notification key \(id)>" }
    /// Only the key's ID.
    public var debugDescription: String { description }
    /// A mirror without children, so that it doesn't reveal the key.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
