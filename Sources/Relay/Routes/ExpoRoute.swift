import Gzip
import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A route of Expo's HTTP API (https://docs.expo.dev/push-notifications/sending-notifications/#http2-api).
///
/// A sender needs nothing but its recipients' names, so `Authorization` is ignored.
protocol ExpoRoute: AnsweringRoute {}

extension ExpoRoute {
    static func decodes(_ coding: String) -> Bool { Gzip.isName(coding) }

    /// Reads the body as JSON; SDKs may compress it.
    static func value(of request: Request) throws(APIError) -> JSON.Value {
        let bounds = BodyBounds.batch
        guard let body = request.body(unzippedUpTo: bounds.bytesMax) else {
            throw APIError(
                .invalidBody, hint: "Its gzip must be valid and decode to at most \(bounds.bytesMax) bytes.")
        }
        do throws(JSON.ParseError) {
            return try JSON.parse(
                body, maxBytes: bounds.bytesMax, maxDepth: bounds.depthMax, loneSurrogates: .replaced)
        } catch {
            throw APIError(.invalidBody, hint: BodyMistake.hint(body), logDetail: error.description)
        }
    }

    func reply(to error: APIError) -> Reply {
        let code =
            switch error.code.status {
            case 429: "TOO_MANY_REQUESTS"
            case 500...: "INTERNAL_SERVER_ERROR"
            default: "VALIDATION_ERROR"
            }
        return reply(to: error, named: code)
    }

    /// The response to a refused request, with one of Expo's error codes.
    func reply(to error: APIError, named code: String) -> Reply {
        var reply = Reply(error)
        let shown: JSON.Value = ["code": .string(code), "message": .string(error.sentence)]
        reply.body = (["errors": [shown]] as JSON.Value).encoded()
        return reply
    }
}

/// Why a notification failed, in Expo's terms.
enum ExpoFault: String {
    case deviceNotRegistered = "DeviceNotRegistered"
    case messageTooBig = "MessageTooBig"
    case messageRateExceeded = "MessageRateExceeded"
    case invalidCredentials = "InvalidCredentials"
    /// The message is invalid.
    case developerError = "DeveloperError"
    /// The push service refused the push.
    case providerError = "ProviderError"
    /// The relay couldn't send the notification.
    case expoError = "ExpoError"

    /// The fault to report for a message that wasn't sent.
    init(_ error: APIError) {
        switch error.code {
        case .invalidToken, .forbidden, .noDevices: self = .deviceNotRegistered
        case .payloadTooLarge: self = .messageTooBig
        case .rateLimited: self = .messageRateExceeded
        case .invalidField, .missingField: self = .developerError
        default: self = .expoError
        }
    }

    /// The fault to report for a failed push, whose reason comes from the push service or the relay.
    init(reason: String) {
        switch reason {
        case "Unregistered", "ExpiredToken", "BadDeviceToken", "DeviceTokenNotForTopic",
            "SubscriptionExpired", "InvalidEndpoint", "NoSubscriber", "Status 404", "Status 410",
            FailureReason.deviceRemoved, FailureReason.invalidRegistration:
            self = .deviceNotRegistered
        case "PayloadTooLarge": self = .messageTooBig
        case "TooManyRequests", FailureReason.deviceRateLimited: self = .messageRateExceeded
        case "InvalidProviderToken", "ExpiredProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken",
            "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadCertificate",
            "BadCertificateEnvironment", "VapidRefused", "VapidPkHashMismatch", "Forbidden",
            "TopicDisallowed", FailureReason.unknownBundle,
            FailureReason.environmentNotAllowed:
            self = .invalidCredentials
        default: self = FailureReason.all.contains(reason) ? .expoError : .providerError
        }
    }

    /// A ticket or receipt that reports this fault.
    func result(_ message: String, name: String? = nil) -> JSON.Value {
        var details = JSON.Object()
        details["error"] = .string(rawValue)
        details["expoPushToken"] = name.map { .string($0) }
        return ["status": "error", "message": .string(message), "details": .object(details)]
    }
}

/// The ID of a ticket, which is enough to find the receipt, so the relay stores no table of tickets.
enum ExpoReceiptID {
    /// The push service accepted the push, or nothing had to be sent, so the receipt is known.
    case final(UUIDv7)
    /// The push was waiting when the sender got the ticket.
    ///
    /// The digest of the access token identifies the tenant, but only to the relay, and grants access to nothing but
    /// receipts.
    case queued(UUIDv7, token: Digest256)

    init?(_ text: String) {
        guard let id = UUIDv7(String(text.prefix(36))) else { return nil }
        guard text.utf8.count > 36 else {
            self = .final(id)
            return
        }
        let rest = text.utf8.dropFirst(36)
        guard rest.first == UInt8(ascii: "-"), let token = Digest256(hex: rest.dropFirst()) else {
            return nil
        }
        self = .queued(id, token: token)
    }

    /// The push's ID, which contains the time at which the push was created.
    var push: UUIDv7 {
        switch self {
        case .final(let id), .queued(let id, _): id
        }
    }

    var text: String {
        switch self {
        case .final(let id): id.text
        case .queued(let id, let token): "\(id.text)-\(token.hex)"
        }
    }
}
