/// Why a subscription isn't accepted.
package enum SubscriptionRefusal: Error, Hashable, Sendable, CaseIterable {
    /// The endpoint isn't an `https` URL.
    case notHTTPS
    /// The endpoint is longer than ``PushEndpoint/bytesMax``.
    case endpointTooLong
    /// The endpoint contains characters that URLs can't contain, or has no path.
    case endpointFormat
    /// The endpoint contains a user name or password.
    case userInfo
    /// The endpoint has a fragment.
    case fragment
    /// The endpoint's host is neither a name nor an IP address.
    case host
    /// The endpoint's port isn't a number from 1 to 65535.
    case port
    /// The relay's operator doesn't allow the host.
    case hostNotAllowed
    /// `p256dh` isn't base64url of an uncompressed point.
    case publicKeyFormat
    /// `p256dh` isn't on the curve.
    case publicKeyNotOnCurve
    /// `auth` isn't base64url of 16 bytes.
    case authSize

    /// The invalid field of a `PushSubscription`.
    package enum Field: String, Sendable, CaseIterable {
        case endpoint
        case p256dh = "keys.p256dh"
        case auth = "keys.auth"
    }

    /// The invalid field.
    package var field: Field {
        switch self {
        case .notHTTPS, .endpointTooLong, .endpointFormat, .userInfo, .fragment, .host, .port,
            .hostNotAllowed:
            .endpoint
        case .publicKeyFormat, .publicKeyNotOnCurve: .p256dh
        case .authSize: .auth
        }
    }
}

extension SubscriptionRefusal: CustomStringConvertible {
    /// A message to follow the name of the field; contains no part of the subscription.
    package var description: String {
        switch self {
        case .notHTTPS: "must begin with https://"
        case .endpointTooLong: "must be at most \(PushEndpoint.bytesMax) bytes long"
        case .endpointFormat: "must be a URL with a path, in printable ASCII characters"
        case .userInfo: "must not have a user name or password"
        case .fragment: "must not have a fragment"
        case .host: "must have a host name or an IP address"
        case .port: "must have a port from 1 to 65535, or none"
        case .hostNotAllowed: "is at a push service that the relay's operator does not allow"
        case .publicKeyFormat: "must be a P-256 public key in base64url: 65 bytes that begin with 04"
        case .publicKeyNotOnCurve: "is not a point on the curve P-256"
        case .authSize: "must be \(SubscriptionKeys.authBytes) bytes in base64url"
        }
    }
}
