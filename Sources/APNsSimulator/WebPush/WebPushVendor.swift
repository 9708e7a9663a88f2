/// A Web Push service to imitate: the form of its endpoints and responses.
package enum WebPushVendor: String, CaseIterable, Hashable, Sendable {
    case apple, google, mozilla, microsoft
    /// A UnifiedPush distributor's server, such as ntfy.
    case unifiedpush

    /// The target of an endpoint (RFC 9112, section 3.2.1), with a query if the vendor's endpoints have one.
    package func target(of id: String) -> String {
        switch self {
        case .apple: "/Q" + id
        case .google: "/fcm/send/" + id
        case .mozilla: "/wpush/v2/" + id
        case .microsoft: "/w/?token=" + id
        case .unifiedpush: "/up" + id + "?up=1"
        }
    }

    /// The vendor whose endpoints have targets of this form.
    package init?(target: String) {
        let prefixes: [(String, Self)] = [
            ("/Q", .apple), ("/fcm/send/", .google), ("/wpush/", .mozilla), ("/w/", .microsoft),
            ("/up", .unifiedpush),
        ]
        guard let vendor = prefixes.first(where: { target.hasPrefix($0.0) })?.1 else { return nil }
        self = vendor
    }

    /// The status for an accepted push.
    package var acceptedStatus: Int { self == .unifiedpush ? 200 : 201 }

    /// The longest `TTL` that the service applies, in seconds.
    package static let timeToLiveMax = 2_592_000
    /// The largest body that a service accepts, in bytes (RFC 8030, section 7.2).
    package static let bodyBytesMax = 4_096
    /// The largest body that Mozilla's service accepts for Firefox on Android, in bytes.
    package static let androidBodyBytesMax = 3_015
}

/// A fault of a Web Push request.
package enum WebPushFault: CaseIterable, Hashable, Sendable {
    /// No subscription ever had this endpoint.
    case unknownEndpoint
    /// The subscription was deleted.
    case gone
    case method
    /// A header field was sent twice.
    case request
    case missingTimeToLive
    case timeToLive
    case urgency
    case topic
    /// Microsoft's header contradicts the time to live.
    case cachePolicy
    case contentEncoding
    case tooLarge
    /// `Authorization` is missing or malformed.
    case authorization
    /// The signed token is missing or refused.
    case token
    /// `k` is missing or not a key.
    case publicKey
    /// The subscription was made with another key.
    case keyMismatch
}

/// A refused Web Push.
package struct WebPushRefusal: Error, Hashable, Sendable {
    package let fault: WebPushFault
    /// The exact fault, for the developer of the sender.
    ///
    /// Never sent to the client.
    package let detail: String

    /// Creates a refusal.
    package init(_ fault: WebPushFault, _ detail: String) {
        self.fault = fault
        self.detail = detail
    }
}
