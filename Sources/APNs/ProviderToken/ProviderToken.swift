/// A signed provider token, which nothing that describes values shows.
package struct ProviderToken: Sendable {
    /// Counts the tokens of one source, so that a refusal can be matched with the token that was refused.
    package let serial: UInt64
    /// The value of the header `authorization`: `bearer` and the token, ASCII.
    package let authorization: [UInt8]
    /// Whether it was signed within 20 minutes of the one before, so that APNs refuses it (`TooManyProviderTokenUpdates`)
    /// on connections that have carried that one.
    package internal(set) var needsNewConnections = false

    init(serial: UInt64, authorization: [UInt8]) {
        self.serial = serial
        self.authorization = authorization
    }
}

extension ProviderToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The serial alone.
    package var description: String { "<provider token \(serial)>" }
    /// The serial alone.
    package var debugDescription: String { description }
    /// A mirror without children.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
