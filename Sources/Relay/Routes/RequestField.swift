import Storage

/// The fields that requests have, and what each must be: the other half of the table in docs/API.md.
enum RequestField: String, CaseIterable, Sendable {
    case secret
    case deviceToken
    case bundleID = "bundleId"
    case apnsEnvironment = "apnsEnv"
    case eventType
    case sessionID
    case serverID
    case title
    case body
    case eventID

    /// What the field must be, to follow "must be".
    var rule: String {
        switch self {
        case .secret: "a string of at most \(Bounds.secretBytesMax) bytes"
        case .deviceToken: "hexadecimal, of even length, 2 to \(Bounds.deviceTokenCountMax) characters"
        case .bundleID: "1 to \(Bounds.bundleIDCountMax) characters of A-Z a-z 0-9 . -"
        case .apnsEnvironment: "\"sandbox\" or \"production\""
        case .eventType: "\"complete\", \"permission\" or \"error\""
        case .sessionID, .serverID: "a string of 1 to \(Bounds.identifierBytesMax) bytes without NUL"
        case .eventID: "a string of 1 to \(Bounds.eventIDBytesMax) bytes without NUL"
        case .title, .body: "a string that is not empty"
        }
    }
}

/// An app's bundle identifier.
enum BundleID {
    /// Whether bytes are 1 to 155 of `A-Z a-z 0-9 . -`.
    static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        (1...Bounds.bundleIDCountMax).contains(bytes.count)
            && bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"): true
                default: false
                }
            }
    }
}

/// A device token of APNs.
enum DeviceTokenText {
    /// The token in lower case, or `nil` when it is no hexadecimal of even length, 2 to 400 characters.
    static func fold(_ text: String) -> String? {
        let bytes = text.utf8
        guard (2...Bounds.deviceTokenCountMax).contains(bytes.count), bytes.count.isMultiple(of: 2) else {
            return nil
        }
        var isLower = true
        for byte in bytes {
            switch byte {
            case 0x30...0x39, 0x61...0x66: break
            case 0x41...0x46: isLower = false
            default: return nil
            }
        }
        return isLower ? text : text.lowercased()
    }
}
