internal import COpenSSL

/// Bytes that must never be printed: a tenant's secret, a pepper, a password.
///
/// Nothing that describes values shows them: not interpolation, `print`, `debugPrint`, `dump`, `Mirror` or a
/// description of something that holds one. They come out only where `bytes` is written.
package struct Secret: Sendable {
    /// The bytes themselves, exactly as they were given: never trimmed, folded or normalised.
    package let bytes: [UInt8]

    /// A secret of some bytes.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A secret of a text's UTF-8.
    package init(_ text: String) {
        self.bytes = Array(text.utf8)
    }
}

extension Secret: Equatable {
    /// Compares in a time that does not depend on where two secrets of one length differ.
    package static func == (left: Secret, right: Secret) -> Bool {
        guard left.bytes.count == right.bytes.count else { return false }
        return unsafe CRYPTO_memcmp(left.bytes, right.bytes, left.bytes.count) == 0
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always the same word.
    package var description: String { "<secret>" }
    /// Always the same word.
    package var debugDescription: String { "<secret>" }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
