package import HTTP2
package import HTTPServer

/// The outcome of a push.
package enum PushOutcome: Hashable, Sendable {
    /// Answered with 200 (201 by Web Push services) or with a reason.
    case answered(status: Int, reason: String?)
    /// Never answered.
    case stalled
    /// The stream was reset.
    case reset(ErrorCode)
    /// The connection was closed in response.
    case closed
    /// Not processed: cancelled, cut off or excluded by a GOAWAY before its answer was due.
    case abandoned

    /// Whether the service accepted the push.
    package var isAccepted: Bool {
        if case .answered(200...201, _) = self { true } else { false }
    }
}

/// A request to APNs.
package struct APNsPush: Sendable {
    package let environment: PushEnvironment
    /// The connection's number.
    package let connection: UInt64
    package let stream: StreamID
    package let request: PushRequest
    /// The `apns-unique-id` in the response; in the sandbox only.
    package let uniqueID: MessageID?

    /// Creates the request's description.
    package init(
        environment: PushEnvironment, connection: UInt64, stream: StreamID, request: PushRequest,
        uniqueID: MessageID?
    ) {
        self.environment = environment
        self.connection = connection
        self.stream = stream
        self.request = request
        self.uniqueID = uniqueID
    }
}

/// A request to a Web Push service.
package struct WebPushRequest: Sendable {
    package let vendor: WebPushVendor?
    /// The subscription's ID; `nil` if no subscription has this endpoint.
    package let subscription: String?
    /// The request without its body.
    package let request: Request
    package let bodyBytes: Int
    /// The message as the browser decrypts it; `nil` without a subscription.
    package let message: Result<[UInt8], Undecryptable>?

    /// Describes a request, and decrypts it if there is a subscription.
    package init(_ request: Request, to subscription: WebPushSubscription?) {
        vendor = subscription?.vendor ?? WebPushVendor(target: request.target)
        self.subscription = subscription?.id
        bodyBytes = request.body.count
        message = subscription.map { subscription in
            Result { () throws(Undecryptable) in try MessageOpener.open(request.body, for: subscription) }
        }
        var head = request
        head.body = []
        self.request = head
    }

    /// Whether the browser couldn't read the message.
    package var isUndecryptable: Bool {
        if case .failure = message { true } else { false }
    }
}

/// A recorded push and its outcome.
package struct PushRecord: Sendable {
    /// The push's number, starting at 1, in the order in which outcomes were decided.
    package internal(set) var sequence: UInt64 = 0
    /// When the push was received, in milliseconds since 1970.
    package let receivedAt: Int64
    package let push: Push
    /// The `apns-id` in the response, or the last part of its `Location`.
    package let id: MessageID
    /// The exact fault of a refused push.
    package let detail: String?
    /// The rule that decided the outcome.
    package let rule: String?
    package var outcome: PushOutcome

    /// A push over one of the transports.
    package enum Push: Sendable {
        case apns(APNsPush)
        case webPush(WebPushRequest)
    }

    /// Creates a record without a number.
    package init(
        receivedAt: Int64, push: Push, id: MessageID, detail: String?, rule: String?, outcome: PushOutcome
    ) {
        self.receivedAt = receivedAt
        self.push = push
        self.id = id
        self.detail = detail
        self.rule = rule
        self.outcome = outcome
    }

    /// The push to APNs; `nil` for a Web Push.
    package var apns: APNsPush? {
        if case .apns(let push) = push { push } else { nil }
    }

    /// The Web Push; `nil` for a push to APNs.
    package var webPush: WebPushRequest? {
        if case .webPush(let push) = push { push } else { nil }
    }
}
