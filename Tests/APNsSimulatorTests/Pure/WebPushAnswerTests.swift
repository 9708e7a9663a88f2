import APNsSimulator
import HTTPServer
import JSON
import PushSealing
import Testing
import WebPush

@Suite("Answers to Web Push", .timeLimit(.minutes(2)))
struct WebPushAnswerTests {
    private let id = MessageID(high: 1, low: 2)

    private func response(_ answer: ScriptedAnswer, _ vendor: WebPushVendor?, ttl: Int? = 60) -> Response {
        WebPushWriter.response(answer, by: vendor, id: id, timeToLive: ttl, origin: WebPushFixture.origin)
    }

    private func text(_ response: Response) -> String { String(decoding: response.body, as: UTF8.self) }

    private func json(_ response: Response) throws -> JSON.Value {
        try JSON.parse(response.body, maxBytes: 4_096)
    }

    /// The status and the reason of each fault, by vendor.
    private static let table: [(WebPushFault, [WebPushVendor: (Int, String)])] = [
        (.unknownEndpoint, [.apple: (404, "BadPath"), .mozilla: (404, "102")]),
        (.gone, [.apple: (410, "Unregistered"), .mozilla: (410, "106")]),
        (.missingTimeToLive, [.apple: (400, "BadTtl"), .mozilla: (400, "111")]),
        (.timeToLive, [.apple: (400, "BadTtl"), .mozilla: (400, "112")]),
        (.urgency, [.apple: (400, "BadUrgency")]),
        (.topic, [.apple: (400, "BadWebPushTopic"), .mozilla: (400, "113")]),
        (.contentEncoding, [.apple: (400, "BadWebPushRequest"), .mozilla: (400, "110")]),
        (.tooLarge, [.apple: (413, "PayloadTooLarge"), .mozilla: (413, "104")]),
        (.authorization, [.apple: (403, "BadAuthorizationHeader"), .mozilla: (401, "109")]),
        (.token, [.apple: (403, "BadJwtToken"), .mozilla: (401, "109")]),
        (.publicKey, [.apple: (400, "BadVapidPublicKey"), .mozilla: (401, "109")]),
        (.keyMismatch, [.apple: (400, "VapidPkHashMismatch"), .mozilla: (401, "109")]),
    ]

    @Test("Apple's reasons and Mozilla's numbers are those of their documentation")
    func documented() {
        for (fault, wanted) in Self.table {
            for (vendor, wanted) in wanted {
                let answer = vendor.answer(to: fault)
                #expect(answer.status == wanted.0, "\(fault)")
                #expect(answer.reason.split(separator: " ").first ?? "" == wanted.1, "\(fault)")
            }
        }
    }

    @Test(
        "Every vendor refuses every fault, with a status that says what to do",
        arguments: WebPushVendor.allCases)
    func statuses(vendor: WebPushVendor) {
        for fault in WebPushFault.allCases {
            let answer = vendor.answer(to: fault)
            let statuses: Set<Int> =
                switch fault {
                case .unknownEndpoint: [404]
                case .gone: [vendor == .unifiedpush ? 507 : 410]
                case .method: [405]
                case .tooLarge: [413]
                case .authorization, .token, .publicKey, .keyMismatch: [400, 401, 403]
                default: [400]
                }
            #expect(statuses.contains(answer.status) && !answer.reason.isEmpty, "\(fault)")
        }
    }

    @Test("A refusal has the vendor's form")
    func forms() throws {
        func refused(_ vendor: WebPushVendor) -> Response {
            response(ScriptedAnswer(WebPushRefusal(.gone, ""), by: vendor), vendor)
        }
        #expect(text(refused(.apple)) == #"{"reason":"Unregistered"}"#)
        #expect(refused(.apple).headers["apns-id"] == id.description)
        #expect(text(refused(.google)) == "push subscription has unsubscribed or expired.\n")
        let mozilla = try json(refused(.mozilla))
        #expect(mozilla["code"] == 410 && mozilla["errno"] == 106 && mozilla["error"] == "Gone")
        #expect(mozilla["message"] == "Invalid subscription" && mozilla["more_info"] != nil)
        let microsoft = refused(.microsoft)
        #expect(microsoft.status == 410 && microsoft.body.isEmpty)
        #expect(microsoft.headers["X-WNS-STATUS"] == "dropped")
        #expect(microsoft.headers["X-WNS-ERROR-DESCRIPTION"] == "The channel expired")
        let ntfy = try json(refused(.unifiedpush))
        #expect(ntfy["code"] == 50701 && ntfy["http"] == 507)
    }

    @Test("An accepted push has a location and the TTL that applies")
    func accepted() throws {
        for vendor in WebPushVendor.allCases where vendor != .unifiedpush {
            let accepted = response(ScriptedAnswer(status: vendor.acceptedStatus, reason: nil), vendor)
            #expect(accepted.status == 201 && accepted.body.isEmpty)
            #expect(accepted.headers["Location"] == "https://localhost:8445/m/\(id)")
            #expect(accepted.headers["TTL"] == "60")
        }
        let long = response(ScriptedAnswer(status: 201, reason: nil), .mozilla, ttl: 9_999_999)
        #expect(long.headers["TTL"] == "2592000")
        let ntfy = response(ScriptedAnswer(status: 200, reason: nil), .unifiedpush)
        #expect(ntfy.status == 200 && ntfy.headers["Location"] == nil)
        #expect(try json(ntfy)["event"] == "message")
    }

    @Test("A rule's answer has the vendor's form, a delay to retry, or any body")
    func scripted() throws {
        let busy = ScriptedAnswer(status: 503, reason: "201", retryAfter: 120)
        #expect(try json(response(busy, .mozilla))["errno"] == 201)
        #expect(response(busy, .mozilla).headers["Retry-After"] == "120")
        let throttled = response(ScriptedAnswer(status: 406, reason: "slow down"), .microsoft)
        #expect(throttled.headers["X-WNS-STATUS"] == "channelthrottled")
        #expect(throttled.headers["X-WNS-ERROR-DESCRIPTION"] == "slow down")
        let named = try json(response(ScriptedAnswer(status: 500, reason: "odd"), .mozilla))
        #expect(named["errno"] == 999 && named["message"] == "odd")
        let page = ScriptedAnswer(status: 502, reason: nil, body: .text("<html>"))
        let none = ScriptedAnswer(status: 500, reason: "Shutdown", body: .none)
        for vendor in WebPushVendor.allCases {
            #expect(text(response(page, vendor)) == "<html>")
            #expect(response(none, vendor).body.isEmpty)
        }
    }

    @Test("The relay reacts to each answer as to the vendor's", arguments: WebPushVendor.allCases)
    func relay(vendor: WebPushVendor) throws {
        let service = PushService(rawValue: vendor.rawValue) ?? .other
        for fault in WebPushFault.allCases {
            let sent = response(ScriptedAnswer(WebPushRefusal(fault, ""), by: vendor), vendor)
            let answer = Answer(status: sent.status.rawValue, service: service, body: sent.body)
            guard case .rejected(let rejection) = answer.outcome else {
                Issue.record("\(fault) is accepted")
                continue
            }
            let wanted: Rejection.Kind =
                switch fault {
                case .unknownEndpoint: .gone
                case .gone: vendor == .unifiedpush ? .later : .gone
                case .tooLarge: .tooLarge
                case .authorization, .token, .publicKey: .configuration
                case .keyMismatch: [.apple, .google, .mozilla].contains(vendor) ? .wrongKey : .configuration
                default: .refused
                }
            #expect(rejection.kind == wanted, "\(fault)")
            // The relay doesn't know the reasons for faults that it can't cause, nor the texts of three vendors.
            let hasReason = vendor == .apple && ![.gone, .method].contains(fault)
            if hasReason { #expect(rejection.reason != nil, "\(fault)") }
        }
    }

    @Test("The vendor of an endpoint follows from its target", arguments: WebPushVendor.allCases)
    func vendors(vendor: WebPushVendor) throws {
        #expect(WebPushVendor(target: try WebPushFixture(vendor).subscription.target) == vendor)
        #expect(WebPushVendor(target: "/") == nil)
    }
}
