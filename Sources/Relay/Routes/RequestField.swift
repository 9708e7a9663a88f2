import APNs

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
        case .deviceToken: "hexadecimal, of even length, 2 to \(DeviceToken.countMax) characters"
        case .bundleID: "1 to \(Topic.countMax) characters of A-Z a-z 0-9 . -"
        case .apnsEnvironment: "\"sandbox\" or \"production\""
        case .eventType: "\"complete\", \"permission\" or \"error\""
        case .sessionID, .serverID: "a string of 1 to \(Bounds.identifierBytesMax) bytes without NUL"
        case .eventID: "a string of 1 to \(Bounds.eventIDBytesMax) bytes without NUL"
        case .title, .body: "a string that is not empty"
        }
    }
}
