import APNsSimulator
import Testing

@Suite("Live Activities of the simulator", .timeLimit(.minutes(2)))
struct SimulatedActivityTests {
    private var state = SimulatorState(SimulatorState.Start())

    /// The simulator's reason for refusing a push; nil if it accepts the push.
    private mutating func answer(
        _ type: String, _ aps: String, token: String = "ab",
        id: String = "123e4567-e89b-12d3-a456-426614174000"
    ) -> Reason? {
        var fixture = PushFixture()
        fixture.set(":path", "/3/device/" + token)
        fixture.set("apns-id", id)
        fixture.set("apns-push-type", type)
        fixture.set("apns-topic", "com.example.app" + (type == "alert" ? "" : ".push-type." + type))
        fixture.payload = "{\"aps\":{\(aps)}}"
        let push = fixture.check()
        if let reason = push.reason { return reason }
        let decision = state.decide(push, id: MessageID(canonical: Array(id.utf8)[...]), in: .production)
        guard case .answer(let answer) = decision.action else { return nil }
        return answer.reason.flatMap(Reason.init(rawValue:))
    }

    private static func update(_ timestamp: Int, event: String = "update") -> String {
        "\"timestamp\":\(timestamp),\"event\":\"\(event)\",\"content-state\":{}"
    }

    private static func id(_ number: Int) -> String { "123e4567-e89b-12d3-a456-42661417400\(number)" }

    @Test("Timestamps of an activity must grow, except for a repeated push")
    mutating func timestamps() {
        #expect(answer("liveactivity", Self.update(10), id: Self.id(1)) == nil)
        #expect(answer("liveactivity", Self.update(10), id: Self.id(1)) == nil)
        #expect(answer("liveactivity", Self.update(10), id: Self.id(2)) == .badRequestPayload)
        #expect(answer("liveactivity", Self.update(9), id: Self.id(2)) == .badRequestPayload)
        #expect(answer("liveactivity", Self.update(9), token: "cd", id: Self.id(2)) == nil)
        #expect(answer("liveactivity", Self.update(11, event: "end"), id: Self.id(3)) == nil)
        #expect(answer("liveactivity", Self.update(11, event: "end"), id: Self.id(3)) == nil)
        #expect(answer("liveactivity", Self.update(12), id: Self.id(4)) == .badRequestPayload)
    }

    @Test("The card shows the state")
    func card() {
        var push = PushFixture()
        push.set("apns-push-type", "liveactivity")
        push.payload = #"{"aps":{"event":"update","content-state":{"status":"a\u001b"},"timestamp":1}}"#
        let record = PushRecord(
            receivedAt: 0, push: push.recorded(), id: MessageID(high: 0, low: 0), detail: nil, rule: nil,
            outcome: .answered(status: 200, reason: nil))
        let card = PushCard.text(record, utcOffset: 0)
        #expect(
            card.contains("│ Live Activity: update\n│   status: a\\u{1B}\n│ aps: timestamp 1\n"))
    }

    @Test("Each kind of token is for its own pushes")
    mutating func kinds() {
        let start = Self.update(10, event: "start") + #","alert":"x","attributes-type":"A","attributes":{}"#
        #expect(answer("liveactivity", start, id: Self.id(1)) == nil)
        #expect(answer("liveactivity", start, id: Self.id(2)) == nil)
        #expect(answer("liveactivity", Self.update(11), id: Self.id(3)) == .deviceTokenNotForTopic)
        #expect(answer("alert", #""alert":"x""#, id: Self.id(3)) == .deviceTokenNotForTopic)
        #expect(answer("alert", #""alert":"x""#, token: "cd", id: Self.id(3)) == nil)
        #expect(answer("liveactivity", Self.update(12), token: "ef", id: Self.id(4)) == nil)
        #expect(answer("liveactivity", start, token: "ef", id: Self.id(5)) == .deviceTokenNotForTopic)
    }

    @Test("Times are in seconds", arguments: ["timestamp", "stale-date", "dismissal-date"])
    mutating func seconds(_ name: String) {
        let others = name == "timestamp" ? "" : #""timestamp":1,"#
        let aps = others + #""event":"update","content-state":{},"\#(name)":1800000000000"#
        #expect(answer("liveactivity", aps) == .badRequestPayload)
    }
}
