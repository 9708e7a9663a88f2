import APNs
import Testing

private func rejection(status: Int, body: String) throws -> Rejection {
    guard case .rejected(let rejection) = Answer(status: status, body: Array(body.utf8)).outcome(of: "id")
    else {
        throw WrongOutcome()
    }
    return rejection
}

private struct WrongOutcome: Error {}

@Suite("APNs' answers", .timeLimit(.minutes(2)))
struct AnswerTests {
    let id = "0193a1b2-0000-7000-8000-000000000001"

    @Test("200 means accepted, with the received identifiers")
    func accepted() {
        #expect(Answer(status: 200).outcome(of: id) == .accepted(apnsID: id, uniqueID: nil))
        let full = Answer(status: 200, apnsID: "EA2F-1", uniqueID: "c1", body: Array("anything".utf8))
        #expect(full.outcome(of: id) == .accepted(apnsID: "EA2F-1", uniqueID: "c1"))
    }

    @Test("a reason and a timestamp are read from the body")
    func rejected() throws {
        let rejection = try rejection(
            status: 410, body: #"{"reason":"Unregistered","timestamp":1763800000123}"#)
        #expect(
            rejection == Rejection(status: 410, reason: Reason(.unregistered), timestamp: 1_763_800_000_123))
        #expect(rejection.name == "Unregistered")
    }

    @Test(
        "the status counts if the body can't be parsed",
        arguments: [
            "", "{", "<html>Bad Gateway</html>", "null", "[]", "{}", #"{"reason":null}"#, #"{"reason":5}"#,
            #"{"reason":""}"#, #"{"reason":"a\nb"}"#, #"{"reason":"Bad\u0000"}"#, #"{"reason":"é"}"#,
            #"{"reason":"\#(String(repeating: "x", count: 65))"}"#, "\u{FEFF}{}",
        ])
    func bodyIsOptional(body: String) throws {
        let rejection = try rejection(status: 502, body: body)
        #expect(rejection == Rejection(status: 502, reason: nil))
        #expect(rejection.name == "Status 502")
    }

    @Test("a body over the limit isn't parsed")
    func longBody() throws {
        let fill = String(repeating: " ", count: Answer.bodyBytesMax - 21)
        #expect(
            try rejection(status: 503, body: #"{"reason":"Shutdown"}"# + fill).reason == Reason(.shutdown))
        #expect(try rejection(status: 503, body: #"{"reason":"Shutdown"}"# + fill + " ").reason == nil)
    }

    @Test("an undocumented reason is kept unchanged")
    func unknownReason() throws {
        let rejection = try rejection(status: 400, body: #"{"reason":"BrandNewReason"}"#)
        #expect(rejection.name == "BrandNewReason")
        #expect(rejection.reason?.documented == nil)
        #expect(rejection.reason != nil)
    }

    @Test(
        "a timestamp that isn't milliseconds since 1970 is ignored",
        arguments: ["-1", "1.5", "1e12", #""1763800000123""#, "null", "99999999999999999999"])
    func badTimestamp(text: String) throws {
        let rejection = try rejection(status: 410, body: #"{"reason":"Unregistered","timestamp":\#(text)}"#)
        #expect(rejection == Rejection(status: 410, reason: Reason(.unregistered)))
    }

    @Test(
        "Retry-After is read in seconds, at most 15 minutes; anything else is ignored",
        arguments: [
            ("0", 0), ("120", 120), ("901", 900), ("99999999999999999999999", 900), ("", nil),
            ("-1", nil),
            ("1.5", nil), ("Wed, 21 Oct 2026 07:28:00 GMT", nil),
        ] as [(String, Int?)])
    func retryAfter(text: String, seconds: Int?) {
        let outcome = Answer(status: 429, retryAfter: text).outcome(of: id)
        #expect(outcome == .rejected(Rejection(status: 429, reason: nil, retryAfter: seconds)))
    }

    @Test("identifiers that could break a log line aren't kept")
    func hostileIdentifiers() {
        for text in ["a\nb", "\u{1B}[31m", "", String(repeating: "a", count: 65), "é"] {
            let answer = Answer(status: 200, apnsID: text, uniqueID: text)
            #expect(answer.outcome(of: id) == .accepted(apnsID: id, uniqueID: nil))
        }
    }
}

@Suite("Reasons", .timeLimit(.minutes(2)))
struct ReasonTests {
    @Test(
        "each documented reason is found by its name and has its status",
        arguments: Reason.Documented.allCases)
    func documented(reason: Reason.Documented) {
        #expect(Reason(rawValue: reason.name)?.documented == reason)
        #expect(Reason(reason).rawValue == reason.name)
        #expect([400, 403, 404, 405, 410, 413, 429, 500, 503].contains(reason.status))
        #expect(!reason.name.contains(" "))
    }

    @Test("the name is the text on the wire")
    func words() {
        #expect(Reason(.badDeviceToken).rawValue == "BadDeviceToken")
        #expect(Reason.Documented.badDeviceToken.status == 400)
        #expect(Reason(.badEnvironmentKeyInToken) != Reason(.badEnvironmentKeyIdInToken))
        #expect(Reason.Documented.allCases.count == 33)
    }

    @Test("a reason is read from GOAWAY's debug data")
    func debugData() {
        #expect(Reason(body: Array(#"{"reason":"Shutdown"}"#.utf8)) == Reason(.shutdown))
        #expect(Reason(body: Array("bye".utf8)) == nil)
        #expect(Reason(body: []) == nil)
    }
}
