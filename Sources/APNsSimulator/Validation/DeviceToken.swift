/// The form of a device token in the path: hexadecimal digits, two a byte.
///
/// Apple warns against assuming a length.
package enum DeviceToken {
    /// The longest token in characters.
    package static let lengthMax = 400

    /// The device token in `/3/device/TOKEN`, in lower case.
    ///
    /// - Throws: `BadPath` for another path, `MissingDeviceToken` where it ends, `BadDeviceToken` for a wrong form.
    package static func inPath(_ path: ArraySlice<UInt8>) throws(Refusal) -> ArraySlice<UInt8> {
        guard path.begins(with: prefix) else { throw badPath }
        let rest = path.dropFirst(prefix.utf8CodeUnitCount)
        guard let slash = rest.first else { throw missing }
        guard slash == UInt8(ascii: "/") else { throw badPath }
        let token = rest.dropFirst()
        guard !token.isEmpty else { throw missing }
        guard isWellFormed(token) else {
            guard !token.contains(UInt8(ascii: "/")) else { throw badPath }
            throw Refusal(.badDeviceToken, "a device token is an even number of hexadecimal digits")
        }
        return normalized(token)
    }

    /// Whether the text could be a device token.
    package static func isWellFormed(_ text: ArraySlice<UInt8>) -> Bool {
        text.count % 2 == 0 && (2...lengthMax).contains(text.count) && Hexadecimal.isAllDigits(text)
    }

    /// The token as it is kept and compared: in lower case.
    package static func normalized(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        Hexadecimal.hasCapitals(text) ? text.map { $0 | 0x20 }[...] : text
    }

    /// What stands before the token and its slash.
    package static let prefix: StaticString = "/3/device"

    private static let badPath = Refusal(.badPath, "the path must be /3/device/ and a device token")
    private static let missing = Refusal(
        .missingDeviceToken, "the path ends where the device token should be")
}
