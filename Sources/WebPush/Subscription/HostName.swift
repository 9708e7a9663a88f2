internal import Network

/// The syntax of host names in endpoints and rules.
enum HostName {
    private static let countMax = 253
    private static let labelCountMax = 63

    /// The name in lower case; `nil` unless it is a DNS name or an IPv4 address in its usual form.
    ///
    /// Resolvers also read numbers in other forms as addresses (`127.1`, `0x7f000001`, `2130706433`), so a name whose
    /// last label begins with a digit is refused.
    static func lowercased(_ text: String) -> String? {
        let name = text.lowercased()
        guard (1...countMax).contains(name.utf8.count) else { return nil }
        if SocketAddress(ip: name, port: 0) != nil { return name }
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.allSatisfy(isLabel), let first = labels.last?.first, first &- UInt8(ascii: "0") >= 10
        else {
            return nil
        }
        return name
    }

    private static func isLabel(_ label: Substring.UTF8View) -> Bool {
        (1...labelCountMax).contains(label.count) && label.first != UInt8(ascii: "-")
            && label.allSatisfy { byte in
                byte &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-")
                    || byte == UInt8(ascii: "_")
            }
    }
}
