/// A signed provider token, hidden from descriptions and mirrors.
package struct ProviderToken: Sendable {
    /// The number of the token within its source, to match a refusal with the refused token.
    package let serial: UInt64
    /// The value of the `authorization` header: `bearer` and the token, in ASCII.
    package let authorization: [UInt8]
    /// Whether the token was signed within 20 minutes of the previous one.
    ///
    /// If so, APNs refuses it on connections that carried the previous one (`TooManyProviderTokenUpdates`).
    package internal(set) var needsNewConnections = false

    init(serial: UInt64, authorization: [UInt8]) {
        self.serial = serial
        self.authorization = authorization
    }
}

extension ProviderToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Shows only the serial.
    package var description: String { "<provider token \(serial)>" }
    /// Shows only the serial.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
