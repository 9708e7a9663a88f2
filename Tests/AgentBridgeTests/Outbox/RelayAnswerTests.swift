import Instruments
import Network
import Testing
import WebClient

@testable import AgentBridge

@Suite("The meaning of a response to an event", .timeLimit(.minutes(2)))
struct RelayAnswerTests {
    /// How the bridge interprets a response.
    private func meaning(_ status: Int, _ body: String) -> RelayClient.Answer {
        RelayClient.interpret(WebAnswer(status: status, body: Array(body.utf8)))
    }

    @Test(
        "a response that isn't the relay's loses no event",
        arguments: [
            "", "<html>Moved</html>", "{}", "[]", #"{"ok":true}"#, #"{"error":"blocked"}"#, #"{"ok":false}"#,
            #"{"ok":false,"error":"captive portal"}"#, #"{"ok":"false","code":"invalid_field"}"#,
        ])
    func proxy(body: String) {
        for status in [201, 204, 301, 302, 307, 400, 401, 403, 404, 405, 407, 409, 410, 413, 415, 451] {
            guard case .later(let reason, _) = meaning(status, body) else {
                Issue.record("\(status) with \(body) is final")
                continue
            }
            #expect(reason.contains("\(status)"))
        }
    }

    @Test("the relay's own refusals are final, except temporary ones")
    func own() {
        let body = #"{"ok":false,"code":"invalid_field","error":"bad","field":"title"}"#
        for status in [400, 401, 403, 413, 415] {
            #expect(meaning(status, body) == .refused("status \(status): bad"))
        }
        for status in [404, 408, 429, 500, 502, 503] {
            #expect(meaning(status, body) == .later("status \(status): bad", .zero))
        }
        #expect(
            meaning(409, #"{"ok":false,"code":"event_conflict","error":"x"}"#) == .accepted("sent before"))
        #expect(meaning(200, #"{"ok":true,"sent":1}"#) == .accepted("sent 1"))
    }

    @Test("all requests about an event are in one trace, in which each has its place; others are in none")
    func trace() throws {
        let relay = RelayClient(address: try WebAddress("http://127.0.0.1:1"), secret: "secret")
        let places = try ["e1", "e1", "e2"].map { id in
            let header = try #require(relay.request("/v1/event", [], about: id).headers.first)
            #expect(header.hasPrefix("traceparent: "))
            return try #require(TraceContext(header.utf8.dropFirst(13)))
        }
        #expect(places[0].trace == places[1].trace && places[0].span != places[1].span)
        #expect(places[2].trace != places[0].trace && !places.contains(where: \.isSampled))
        #expect(relay.request("/v1/event", [], about: nil).headers.isEmpty)
    }

    @Test("a response can request a pause of at most a minute")
    func pause() {
        var answer = WebAnswer(status: 503, body: [])
        answer.retryAfter = .seconds(3_600)
        #expect(RelayClient.interpret(answer) == .later("status 503: no reason given", .seconds(60)))
    }
}
