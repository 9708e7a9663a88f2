internal import Cryptography

/// The text of a private key, hidden from descriptions and mirrors.
///
/// Only `bytes` gives access to it.
package struct KeyText: Sendable {
    /// The text as configured.
    let bytes: [UInt8]

    /// Creates a key text from UTF-8.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Creates a key text.
    package init(_ text: String) { bytes = Array(text.utf8) }
}

extension KeyText: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A constant placeholder.
    package var description: String { "<private key>" }
    /// A constant placeholder.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension KeyText {
    /// The PEM text; see ``PEMText``.
    var pem: [UInt8]? { PEMText.find(in: bytes) }
}

extension KeyText: Equatable {
    /// Whether two texts contain the same key, regardless of its form.
    package static func == (left: KeyText, right: KeyText) -> Bool {
        (left.pem ?? left.bytes) == (right.pem ?? right.bytes)
    }
}
