extension WebPushVendor {
    /// The status and the reason with which the vendor refuses a push.
    ///
    /// The reason is Apple's keyword, Mozilla's `errno` and message, or the other vendors' text. Where a vendor's
    /// reason is unknown, it is a plausible one with the right status.
    package func answer(to fault: WebPushFault) -> (status: Int, reason: String) {
        switch self {
        case .apple: Self.apple(fault)
        case .google: Self.google(fault)
        case .mozilla: Self.mozilla(fault)
        case .microsoft: Self.microsoft(fault)
        case .unifiedpush: Self.ntfy(fault)
        }
    }

    /// Source: Apple, "Sending web push notifications in web apps and browsers".
    private static func apple(_ fault: WebPushFault) -> (Int, String) {
        switch fault {
        case .unknownEndpoint: (404, "BadPath")
        case .gone: (410, "Unregistered")
        case .method: (405, "MethodNotAllowed")
        case .request, .cachePolicy, .contentEncoding: (400, "BadWebPushRequest")
        case .missingTimeToLive, .timeToLive: (400, "BadTtl")
        case .urgency: (400, "BadUrgency")
        case .topic: (400, "BadWebPushTopic")
        case .tooLarge: (413, "PayloadTooLarge")
        case .authorization: (403, "BadAuthorizationHeader")
        case .token: (403, "BadJwtToken")
        case .publicKey: (400, "BadVapidPublicKey")
        case .keyMismatch: (400, "VapidPkHashMismatch")
        }
    }

    private static func google(_ fault: WebPushFault) -> (Int, String) {
        switch fault {
        case .unknownEndpoint: (404, "A valid push subscription endpoint should be specified in the URL.")
        case .gone: (410, "push subscription has unsubscribed or expired.")
        case .method: (405, "Method Not Allowed")
        case .request, .cachePolicy: (400, "Invalid request.")
        case .missingTimeToLive: (400, "TTL header must be specified.")
        case .timeToLive: (400, "invalid TTL header.")
        case .urgency: (400, "invalid Urgency header.")
        case .topic: (400, "invalid Topic header.")
        case .contentEncoding: (400, "invalid content encoding.")
        case .tooLarge: (413, "payload too large.")
        case .authorization: (401, "authorization header must be specified.")
        case .token, .publicKey: (403, "invalid JWT provided")
        case .keyMismatch:
            (
                403,
                "the VAPID credentials in the authorization header do not correspond to the credentials used to "
                    + "create the subscriptions."
            )
        }
    }

    /// Source: autopush-rs, autoendpoint/src/error.rs.
    private static func mozilla(_ fault: WebPushFault) -> (Int, String) {
        switch fault {
        case .unknownEndpoint: (404, "102 Invalid endpoint")
        case .gone: (410, "106 Invalid subscription")
        case .method: (405, "999 Method not allowed")
        case .request, .cachePolicy: (400, "999 Invalid request")
        case .urgency: (400, "999 Invalid Urgency header value")
        case .missingTimeToLive: (400, "111 Missing TTL header")
        case .timeToLive: (400, "112 Invalid TTL header value")
        case .topic: (400, "113 Invalid Topic header value")
        case .contentEncoding: (400, "110 Invalid content encoding")
        case .tooLarge: (413, "104 Data payload too large")
        case .authorization: (401, "109 Missing or invalid authorization")
        case .token: (401, "109 Invalid VAPID token")
        case .publicKey: (401, "109 Invalid VAPID public key")
        case .keyMismatch: (401, "109 VAPID public key mismatch")
        }
    }

    private static func microsoft(_ fault: WebPushFault) -> (Int, String) {
        switch fault {
        case .unknownEndpoint: (404, "The channel URI is not recognized")
        case .gone: (410, "The channel expired")
        case .method: (405, "Method Not Allowed")
        case .request: (400, "A header is repeated")
        case .cachePolicy: (400, "X-WNS-Cache-Policy does not match the TTL")
        case .missingTimeToLive: (400, "TTL is missing")
        case .timeToLive: (400, "TTL is invalid")
        case .urgency: (400, "Urgency is invalid")
        case .topic: (400, "Topic is invalid")
        case .contentEncoding: (400, "Content-Encoding is invalid")
        case .tooLarge: (413, "The payload exceeds the size limit")
        case .authorization: (401, "Authorization is missing or invalid")
        case .token, .publicKey: (401, "The token is invalid")
        case .keyMismatch: (403, "The key does not match the channel")
        }
    }

    /// Source: ntfy, server/errors.go; unlike ntfy, the simulator checks the token.
    private static func ntfy(_ fault: WebPushFault) -> (Int, String) {
        switch fault {
        case .unknownEndpoint: (404, "page not found")
        case .gone: (507, "cannot publish to UnifiedPush topic without previously active subscriber")
        case .method: (405, "method not allowed")
        case .tooLarge: (413, "request entity too large")
        case .authorization, .token, .publicKey: (401, "unauthorized")
        case .keyMismatch: (403, "forbidden")
        case .request, .missingTimeToLive, .timeToLive, .urgency, .topic, .cachePolicy, .contentEncoding:
            (400, "invalid request")
        }
    }
}
