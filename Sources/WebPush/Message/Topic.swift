internal import Cryptography

/// Identifies messages that replace each other (RFC 8030, section 5.4).
package struct Topic: Hashable, Sendable, CustomStringConvertible {
    /// The longest topic, in characters.
    package static let countMax = 32

    /// 32 characters of base64url.
    ///
    /// Apple decodes a topic and refuses lengths that base64 can't have (mod 4 = 1).
    package let text: String

    /// The topic for a collapse ID.
    ///
    /// - Parameter key: Makes the topic a keyed hash, so that push services learn nothing about the ID. Different keys
    ///   for different tenants keep services from linking the tenants.
    package init(collapseID: String, key: [UInt8]) {
        let code = SHA256.authenticationCode(of: Array(collapseID.utf8), key: key)
        text = Base64.urlText(Array(code.prefix(Self.countMax / 4 * 3)))
    }

    /// The topic.
    package var description: String { text }
}
