internal import JSON

/// APNs' reason for refusing a push.
///
/// An open set: Apple adds reasons without notice.
package struct Reason: RawRepresentable, Hashable, Sendable {
    /// The text as sent.
    package let rawValue: String

    /// Creates a reason.
    ///
    /// Accepts only text that is safe to log and forward: 1 to 64 ASCII letters, digits and spaces.
    package init?(rawValue: String) {
        guard !rawValue.isEmpty, rawValue.utf8.count <= 64, rawValue.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.rawValue = rawValue
    }

    /// Creates a documented reason.
    package init(_ documented: Documented) { rawValue = documented.name }

    /// Reads `reason` from the JSON in a response body or in GOAWAY debug data; `nil` if there is none.
    package init?(body: [UInt8]) {
        guard let value = try? JSON.parse(body, maxBytes: Answer.bodyBytesMax) else { return nil }
        self.init(of: value)
    }

    init?(of body: JSON.Value) {
        guard let word = body["reason"]?.string else { return nil }
        self.init(rawValue: word)
    }

    /// The documented reason; `nil` if Apple doesn't list it.
    package var documented: Documented? { Documented.byName[rawValue] }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "):
            true
        default: false
        }
    }
}

extension Reason: CustomStringConvertible {
    /// The text.
    package var description: String { rawValue }
}

extension Reason {
    /// The reasons that Apple documents for a push to a device, with their statuses.
    ///
    /// Source: Apple, "Handling notification responses from APNs".
    package enum Documented: String, Hashable, Sendable, CaseIterable {
        case badCollapseId = "400 BadCollapseId"
        case badDeviceToken = "400 BadDeviceToken"
        case badExpirationDate = "400 BadExpirationDate"
        case badMessageId = "400 BadMessageId"
        case badPriority = "400 BadPriority"
        case badTopic = "400 BadTopic"
        case deviceTokenNotForTopic = "400 DeviceTokenNotForTopic"
        case duplicateHeaders = "400 DuplicateHeaders"
        case idleTimeout = "400 IdleTimeout"
        case invalidPushType = "400 InvalidPushType"
        case missingDeviceToken = "400 MissingDeviceToken"
        case missingTopic = "400 MissingTopic"
        case payloadEmpty = "400 PayloadEmpty"
        case topicDisallowed = "400 TopicDisallowed"
        case badCertificate = "403 BadCertificate"
        case badCertificateEnvironment = "403 BadCertificateEnvironment"
        case expiredProviderToken = "403 ExpiredProviderToken"
        case forbidden = "403 Forbidden"
        case invalidProviderToken = "403 InvalidProviderToken"
        case missingProviderToken = "403 MissingProviderToken"
        case unrelatedKeyIdInToken = "403 UnrelatedKeyIdInToken"
        /// The documented spelling; servers have been seen to send ``badEnvironmentKeyInToken``.
        case badEnvironmentKeyIdInToken = "403 BadEnvironmentKeyIdInToken"
        /// The spelling that servers send.
        case badEnvironmentKeyInToken = "403 BadEnvironmentKeyInToken"
        case badPath = "404 BadPath"
        case methodNotAllowed = "405 MethodNotAllowed"
        case expiredToken = "410 ExpiredToken"
        case unregistered = "410 Unregistered"
        case payloadTooLarge = "413 PayloadTooLarge"
        case tooManyProviderTokenUpdates = "429 TooManyProviderTokenUpdates"
        case tooManyRequests = "429 TooManyRequests"
        case internalServerError = "500 InternalServerError"
        case serviceUnavailable = "503 ServiceUnavailable"
        case shutdown = "503 Shutdown"

        /// The reason without its status.
        package var name: String { String(rawValue.dropFirst(4)) }

        /// The status that Apple documents for the reason.
        package var status: Int { Int(rawValue.prefix(3)) ?? 0 }

        static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })
    }
}
