internal import JSON

/// A complete response from a push service and the outcome that follows from it.
///
/// The status decides the outcome; the body only adds the reason and distinguishes cases that share a status.
package struct Answer: Sendable {
    /// The longest body that is read, in bytes; services' bodies are shorter than 1,000 bytes.
    package static let bodyBytesMax = 4_096
    /// The longest accepted `Retry-After`, in seconds; the longest seen is 120.
    package static let retryAfterMax = 3_600

    /// The HTTP status.
    package var status: Int
    /// The service that responded.
    package var service: PushService
    /// `Retry-After` in seconds.
    package var retryAfter: Int?
    /// The body, or its beginning.
    package var body: [UInt8]

    /// Creates a response from its parts.
    package init(status: Int, service: PushService, retryAfter: Int? = nil, body: [UInt8] = []) {
        self.status = status
        self.service = service
        self.retryAfter = retryAfter
        self.body = body
    }

    /// The outcome.
    package var outcome: Outcome {
        guard !(200..<300).contains(status) else { return .accepted }
        let reason = reason
        let kind = kind(reason)
        let seconds = retryAfter.flatMap { $0 > 0 ? min($0, Self.retryAfterMax) : nil }
        return .rejected(
            Rejection(
                kind: kind, status: status, service: service, reason: reason,
                retryAfter: kind == .later ? seconds : nil))
    }

    private func kind(_ reason: Reason?) -> Rejection.Kind {
        if reason == .vapidPkHashMismatch { return .wrongKey }
        switch status {
        case 404, 410: return .gone
        case 413: return .tooLarge
        case 401, 403: return .configuration
        case 400 where reason == .badAuthorizationHeader || reason == .badVapidPublicKey:
            return .configuration
        // WNS throttles with 406.
        case 406 where service == .microsoft: return .later
        case 408, 429, 500...: return .later
        default: return .refused
        }
    }

    private var reason: Reason? {
        switch service {
        case .apple: object?["reason"]?.string.flatMap(Reason.init(rawValue:))
        case .google: googleReason
        case .mozilla: mozillaReason
        case .microsoft: status == 406 || status == 429 ? .throttled : nil
        // ntfy: the topic has had no subscriber for hours.
        case .other: status == 507 ? .noSubscriber : nil
        }
    }

    private var object: JSON.Value? { try? JSON.parse(body, maxBytes: Self.bodyBytesMax) }

    /// FCM's bodies are English sentences or HTML.
    private var googleReason: Reason? {
        let text = String(decoding: body, as: UTF8.self)
        if status == 403, text.contains("do not correspond to the credentials") {
            return .vapidPkHashMismatch
        }
        return status == 401 || status == 403 ? .vapidRefused : nil
    }

    private var mozillaReason: Reason? {
        guard let object, let number = object["errno"]?.int else { return nil }
        return switch number {
        case 102: .invalidEndpoint
        case 103, 105, 106: .subscriptionExpired
        case 104: .payloadTooLarge
        case 109:
            object["message"]?.string?.lowercased().contains("mismatch") == true
                ? .vapidPkHashMismatch : .vapidRefused
        case 110: .badEncryption
        case 111, 112, 114: .badTtl
        case 113: .badTopic
        case 201: .serviceBusy
        case 900...903: .bridgeFailed
        default: nil
        }
    }
}
