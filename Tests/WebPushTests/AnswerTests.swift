import Testing
import WebPush

@Suite("Answers of push services", .timeLimit(.minutes(1)))
struct AnswerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let service: PushService
        let status: Int
        let body: String
        let kind: Rejection.Kind
        let reason: Reason?
        var testDescription: String { "\(service.rawValue) \(status) \(body.prefix(60))" }

        init(
            _ service: PushService, _ status: Int, _ body: String, _ kind: Rejection.Kind,
            _ reason: Reason? = nil
        ) {
            self.service = service
            self.status = status
            self.body = body
            self.kind = kind
            self.reason = reason
        }

        static func apple(_ status: Int, _ reason: String, _ kind: Rejection.Kind, _ known: Reason?) -> Case {
            Case(.apple, status, #"{"reason":"\#(reason)"}"#, kind, known)
        }

        static func mozilla(
            _ status: Int, _ errno: Int, _ message: String, _ kind: Rejection.Kind, _ known: Reason?
        ) -> Case {
            let body = #"{"code":\#(status),"errno":\#(errno),"error":"E","message":"\#(message)"}"#
            return Case(.mozilla, status, body, kind, known)
        }
    }

    static let google =
        "the VAPID credentials in the authorization header do not correspond to the credentials used"

    static let cases: [Case] = [
        .apple(400, "VapidPkHashMismatch", .wrongKey, .vapidPkHashMismatch),
        .apple(400, "BadWebPushTopic", .refused, .badWebPushTopic), .apple(400, "BadTtl", .refused, .badTtl),
        .apple(400, "BadUrgency", .refused, .badUrgency),
        .apple(400, "BadWebPushRequest", .refused, .badWebPushRequest),
        .apple(400, "BadAuthorizationHeader", .configuration, .badAuthorizationHeader),
        .apple(400, "BadVapidPublicKey", .configuration, .badVapidPublicKey),
        .apple(403, "BadJwtToken", .configuration, .badJwtToken), .apple(404, "BadPath", .gone, .badPath),
        .apple(410, "Unregistered", .gone, nil), .apple(413, "PayloadTooLarge", .tooLarge, .payloadTooLarge),
        .apple(429, "TooManyRequests", .later, .tooManyRequests), .apple(503, "Shutdown", .later, .shutdown),
        .apple(500, "InternalServerError", .later, nil), .apple(400, "<script>", .refused, nil),
        Case(.google, 403, google + " to create the subscriptions.\n", .wrongKey, .vapidPkHashMismatch),
        Case(.google, 403, "invalid JWT provided", .configuration, .vapidRefused),
        Case(.google, 401, "", .configuration, .vapidRefused), Case(.google, 404, "", .gone),
        Case(.google, 410, "push subscription has unsubscribed or expired.\n", .gone),
        Case(.google, 413, "", .tooLarge), Case(.google, 429, "", .later),
        Case(.google, 502, "<html>", .later),
        Case(.google, 400, "", .refused),
        .mozilla(404, 102, "", .gone, .invalidEndpoint), .mozilla(410, 103, "", .gone, .subscriptionExpired),
        .mozilla(410, 105, "", .gone, .subscriptionExpired),
        .mozilla(410, 106, "", .gone, .subscriptionExpired),
        .mozilla(413, 104, "", .tooLarge, .payloadTooLarge),
        .mozilla(401, 109, "VAPID public key mismatch", .wrongKey, .vapidPkHashMismatch),
        .mozilla(401, 109, "Invalid bearer token", .configuration, .vapidRefused),
        .mozilla(400, 110, "", .refused, .badEncryption), .mozilla(400, 111, "", .refused, .badTtl),
        .mozilla(400, 113, "", .refused, .badTopic), .mozilla(503, 201, "", .later, .serviceBusy),
        .mozilla(502, 901, "", .later, .bridgeFailed), .mozilla(500, 999, "", .later, nil),
        Case(.mozilla, 502, "<html>Bad gateway</html>", .later), Case(.mozilla, 401, "", .configuration),
        Case(.microsoft, 400, "", .refused), Case(.microsoft, 401, "", .configuration),
        Case(.microsoft, 403, "", .configuration), Case(.microsoft, 404, "", .gone),
        Case(.microsoft, 410, "", .gone), Case(.microsoft, 406, "", .later, .throttled),
        Case(.microsoft, 413, "", .tooLarge), Case(.microsoft, 429, "", .later, .throttled),
        Case(.other, 507, #"{"code":50701,"http":507}"#, .later, .noSubscriber),
        Case(.other, 404, #"{"code":40401,"http":404,"error":"page not found"}"#, .gone),
        Case(.other, 429, #"{"code":42901,"http":429}"#, .later), Case(.other, 413, "", .tooLarge),
        Case(.other, 503, "", .later), Case(.other, 406, "", .refused), Case(.other, 400, "", .refused),
        Case(.other, 302, "", .refused), Case(.other, 308, "", .refused), Case(.other, 408, "", .later),
        // A host chosen by users must not control what tenants read.
        Case(.other, 403, #"{"reason":"VapidPkHashMismatch"}"#, .configuration),
        Case(.other, 500, google, .later),
    ]

    @Test("a status and body become one outcome", arguments: cases)
    func outcome(_ given: Case) {
        let answer = Answer(status: given.status, service: given.service, body: Array(given.body.utf8))
        #expect(
            answer.outcome
                == .rejected(
                    Rejection(
                        kind: given.kind, status: given.status, service: given.service, reason: given.reason))
        )
    }

    @Test("every 2xx is accepted, from every service", arguments: [200, 201, 202, 204, 299])
    func accepted(_ status: Int) {
        for service in PushService.allCases {
            #expect(Answer(status: status, service: service, body: [0xFF]).outcome == .accepted)
        }
    }

    @Test("Retry-After counts where a retry makes sense, up to an hour")
    func retryAfter() {
        func seconds(_ status: Int, _ retryAfter: Int?) -> Int? {
            guard
                case .rejected(let rejection) = Answer(
                    status: status, service: .mozilla, retryAfter: retryAfter
                ).outcome
            else { return nil }
            return rejection.retryAfter
        }
        #expect(seconds(503, 120) == 120)
        #expect(seconds(429, 1 << 40) == 3_600)
        #expect(seconds(503, 0) == nil)
        #expect(seconds(503, -5) == nil)
        #expect(seconds(503, nil) == nil)
        #expect(seconds(410, 120) == nil)
    }

    @Test("a rejection is called by its reason, or by its status")
    func names() {
        #expect(Rejection(kind: .gone, status: 410, service: .google).name == "Status 410")
        #expect(Rejection(kind: .refused, status: 400, service: .apple, reason: .badTtl).name == "BadTtl")
    }

    @Test("a body that is too long or broken leaves the status to decide")
    func brokenBodies() {
        let long =
            Array(#"{"reason":"VapidPkHashMismatch","x":""#.utf8) + [UInt8](repeating: 0x61, count: 5_000)
        for body in [long, [0xFF, 0xFE], Array("{".utf8)] {
            #expect(
                Answer(status: 400, service: .apple, body: body).outcome
                    == .rejected(Rejection(kind: .refused, status: 400, service: .apple)))
        }
    }
}
