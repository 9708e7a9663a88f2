/// The device token in the path: hexadecimal digits, two per byte.
///
/// Apple warns against assuming a length.
package enum DeviceToken {
    /// The longest token in characters.
    package static let lengthMax = 400

    /// The device token in `/3/device/TOKEN`, in lower case.
    ///
    /// - Throws: `BadPath`, `MissingDeviceToken` for an empty token, `BadDeviceToken` for a malformed one.
    package static func inPath(_ path: ArraySlice<UInt8>) throws(PushRefusal) -> ArraySlice<UInt8> {
        guard path.begins(with: prefix) else { throw badPath }
        let rest = path.dropFirst(prefix.utf8CodeUnitCount)
        guard let slash = rest.first else { throw missing }
        guard slash == UInt8(ascii: "/") else { throw badPath }
        let token = rest.dropFirst()
        guard !token.isEmpty else { throw missing }
        guard isWellFormed(token) else {
            guard !token.contains(UInt8(ascii: "/")) else { throw badPath }
            throw PushRefusal(.badDeviceToken, "a device token must be an even number of hexadecimal digits")
        }
        return normalized(token)
    }

    /// Whether the text is a well-formed device token.
    package static func isWellFormed(_ text: ArraySlice<UInt8>) -> Bool {
        text.count % 2 == 0 && (2...lengthMax).contains(text.count) && Hexadecimal.isAllDigits(text)
    }

    /// The token in lower case, as it is stored and compared.
    package static func normalized(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        Hexadecimal.hasCapitals(text) ? text.map { $0 | 0x20 }[...] : text
    }

    /// The path before the slash and the token.
    package static let prefix: StaticString = "/3/device"

    private static let badPath = PushRefusal(
        .badPath, "the path must be /3/device/ followed by a device token")
    private static let missing = PushRefusal(
        .missingDeviceToken, "the path has no device token")
}
