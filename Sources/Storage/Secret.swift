internal import COpenSSL

/// Bytes that must never be printed: a tenant's secret, a pepper, a password.
///
/// Interpolation, `print`, `debugPrint`, `dump`, `Mirror` and descriptions of values that contain a secret never reveal
/// the bytes. Only `bytes` gives access to them.
package struct Secret: Sendable {
    /// The bytes exactly as given: never trimmed, case-folded or normalised.
    package let bytes: [UInt8]

    /// Creates a secret from bytes.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Creates a secret from a string's UTF-8 bytes.
    package init(_ text: String) {
        self.bytes = Array(text.utf8)
    }
}

extension Secret: Equatable {
    /// Compares two secrets of the same length in a time that doesn't depend on where they differ.
    package static func == (left: Secret, right: Secret) -> Bool {
        guard left.bytes.count == right.bytes.count else { return false }
        return unsafe CRYPTO_memcmp(left.bytes, right.bytes, left.bytes.count) == 0
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always the same placeholder.
    package var description: String { "<secret>" }
    /// Always the same placeholder.
    package var debugDescription: String { "<secret>" }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
