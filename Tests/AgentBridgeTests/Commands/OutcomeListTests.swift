import JSON
import Programs
import Testing
import WebClient

@testable import AgentBridge

@Suite("agent-bridge outcomes", .timeLimit(.minutes(2)))
struct OutcomeListTests {
    private static func page(_ body: String, status: Int = 200) -> WebAnswer {
        WebAnswer(status: status, body: Array(body.utf8))
    }

    private static let outcomes = """
        {"ok":true,"outcomes":[
        {"type":"push","at":"2026-11-23T12:40:02.004Z","status":"failed","reason":"Expired","device":"…d4e5f6a7",
         "eventID":"per_1","eventType":"permission"},
        {"type":"push","at":"2026-11-23T12:40:03.004Z","status":"sent","removed":true,"eventType":"com\\u001b[31mplete"},
        {"type":"acknowledgement","at":"2026-11-23T12:40:05.120Z","eventID":"per_1"},
        {"type":"reply","at":"2026-11-23T12:40:05.120Z","eventID":"per_1","action":"once"},
        {"type":"later"}],"cursor":"1-0-0-"}
        """

    @Test("Each outcome is a line, whose texts can't control the terminal")
    func table() {
        var list = OutcomeList()
        #expect(list.add(Self.page(Self.outcomes)) == "1-0-0-" && !list.isComplete)
        #expect(
            list.text(.plain) == """
                TIME (UTC)           OUTCOME          DEVICE     EVENT               EVENT ID
                2026-11-23 12:40:02  failed: Expired  …d4e5f6a7  permission          per_1
                2026-11-23 12:40:03  sent             gone       com\\u{1B}[31mplete  -
                2026-11-23 12:40:05  acknowledged     -          -                   per_1
                2026-11-23 12:40:05  replied: once    -          -                   per_1
                -                    later            -          -                   -

                """)
        #expect(list.json.split(separator: "\n").count == 5)
    }

    @Test("An empty page ends the list, and a response that isn't a page gives no cursor")
    func pages() {
        var list = OutcomeList()
        #expect(list.add(Self.page(#"{"ok":true,"outcomes":[],"cursor":"0-0-0-"}"#)) == "0-0-0-")
        #expect(list.isComplete && list.text(.plain).hasPrefix("No outcomes"))
        #expect(list.add(Self.page(#"{"ok":false,"code":"forbidden"}"#, status: 403)) == nil)
        #expect(list.add(Self.page("<html>")) == nil)
    }
}
