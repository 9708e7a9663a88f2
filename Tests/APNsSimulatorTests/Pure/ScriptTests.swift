import APNsSimulator
import HTTP2
import Testing

@Suite("Scripted behaviour", .timeLimit(.minutes(2)))
struct ScriptTests {
    private static let busy = ScriptedAnswer(status: 429, reason: "TooManyRequests", retryAfter: 5)

    private func push(_ change: (inout PushFixture) -> Void = { _ in }) throws -> CheckedPush {
        var fixture = PushFixture()
        change(&fixture)
        return try fixture.check().get()
    }

    private func state(_ rules: [Rule]) -> SimulatorState {
        var start = SimulatorState.Start()
        start.rules = rules
        return SimulatorState(start)
    }

    @Test("Without rules a valid push is accepted immediately")
    func noRules() throws {
        var state = state([])
        let decision = state.decide(.success(try push()), id: nil, in: .production)
        #expect(decision.action == .answer(.accepted))
        #expect(decision.delay == .zero)
        #expect(decision.uniqueID == nil)
    }

    @Test(
        "An answer has the client's apns-id or a new one, and in the sandbox also an apns-unique-id"
    )
    func identifiers() throws {
        var state = state([])
        let id = MessageID(high: 1, low: 2)
        #expect(state.decide(.success(try push()), id: id, in: .production).id == id)
        let first = state.decide(.success(try push()), id: nil, in: .sandbox)
        let second = state.decide(.success(try push()), id: nil, in: .sandbox)
        #expect(first.id != second.id)
        #expect(first.uniqueID != nil && first.uniqueID != first.id)
        #expect(MessageID(canonical: Array(first.id.description.utf8)[...]) == first.id)
    }

    @Test("Rules apply only to pushes with valid headers and payload")
    func refusedBeforeRules() {
        var state = state([Rule(id: "a", action: .stall)])
        let refusal = PushRefusal(.badTopic, "wrong")
        let decision = state.decide(.failure(refusal), id: nil, in: .production)
        #expect(decision.action == .answer(ScriptedAnswer(status: 400, reason: "BadTopic")))
        #expect(decision.detail == "wrong")
        #expect(state.rules[0].matched == 0)
    }

    @Test("A rule matches by token, topic, bundle identifier, environment and push type")
    func matching() throws {
        func takes(_ change: (inout Rule.Match) -> Void, _ environment: PushEnvironment = .production) throws
            -> Bool
        {
            var match = Rule.Match()
            change(&match)
            var rule = Rule(id: "a", match: match, action: .stall)
            let voip = try push {
                $0.set("apns-push-type", "voip")
                $0.set("apns-topic", "com.example.app.voip")
            }
            return rule.takes(voip, in: environment)
        }
        let token = String(repeating: "ab", count: 32)
        #expect(try takes { $0.token = token })
        #expect(try !takes { $0.token = "abab" })
        #expect(try takes { $0.topic = "com.example.app" })
        #expect(try takes { $0.topic = "com.example.app.voip" })
        #expect(try !takes { $0.topic = "com.example" })
        #expect(try takes { $0.environment = .production })
        #expect(try !takes { $0.environment = .sandbox })
        #expect(try takes { $0.type = .voip })
        #expect(try !takes { $0.type = .alert })
    }

    @Test("A rule skips the first pushes and applies to a limited number")
    func afterAndCount() throws {
        var rule = Rule(id: "a", action: .stall, after: 2, count: 3)
        let push = try push()
        #expect(
            (0..<7).map { _ in rule.takes(push, in: .sandbox) } == [
                false, false, true, true, true, false, false,
            ])
        #expect(rule.hits == 3)
    }

    @Test("A share is respected, and the same seed makes the same choices")
    func share() throws {
        let push = try push()
        func choices(seed: UInt64) -> [Bool] {
            var rule = Rule(id: "a", action: .stall, share: 0.3, seed: seed)
            return (0..<10_000).map { _ in rule.takes(push, in: .sandbox) }
        }
        let hits = choices(seed: 1).filter { $0 }.count
        // Five standard deviations of the binomial distribution with n = 10,000 and p = 0.3.
        #expect((3_000 - 230...3_000 + 230).contains(hits))
        #expect(choices(seed: 1) == choices(seed: 1))
        #expect(choices(seed: 1) != choices(seed: 2))
    }

    @Test("The first matching rule decides, before the state of the device token")
    func orderOfRules() throws {
        var state = state([
            Rule(id: "first", action: .answer(Self.busy), count: 1),
            Rule(id: "second", action: .reset(.refusedStream), count: 1),
        ])
        state.settings.acceptsUnknownTokens = false
        let push = try push()
        let decisions = (0..<3).map { _ in state.decide(.success(push), id: nil, in: .production) }
        #expect(decisions.map(\.rule) == ["first", "second", nil])
        #expect(decisions[0].action == .answer(Self.busy))
        #expect(decisions[1].action == .reset(.refusedStream))
        #expect(decisions[2].action == .answer(ScriptedAnswer(status: 400, reason: "BadDeviceToken")))
    }

    @Test("A rule with action pass changes only the latency")
    func passingRule() throws {
        var state = state([Rule(id: "slow", action: .pass, latency: .fixed(20))])
        state.settings.latency = .fixed(5)
        state.settings.acceptsUnknownTokens = false
        let decision = state.decide(.success(try push()), id: nil, in: .production)
        #expect(decision.delay == .milliseconds(20))
        #expect(decision.action == .answer(ScriptedAnswer(status: 400, reason: "BadDeviceToken")))
        let refused = state.decide(.failure(PushRefusal(.badTopic, "")), id: nil, in: .production)
        #expect(refused.delay == .milliseconds(5))
    }

    @Test(
        "A latency's text round-trips",
        arguments: [
            "50ms", "0ms", "10ms-50ms", "normal:50ms,10ms", "percentiles:50=20ms,99=100ms,99.9=500ms",
            "0.5ms",
        ])
    func latencyText(text: String) throws {
        #expect(try #require(Latency(text)).description == text)
    }

    @Test(
        "Anything but a latency is rejected",
        arguments: [
            "", "50", "ms", "-5ms", "50ms-10ms", "1ms-2ms-3ms", "normal:50ms", "normal:1ms,2ms,3ms",
            "percentiles:",
            "percentiles:50", "percentiles:101=1ms", "percentiles:50=2ms,40=3ms", "percentiles:50=5ms,60=1ms",
            "601s",
            "nanms", "infs", "1e3ms", "5 ms",
        ])
    func badLatency(text: String) {
        #expect(Latency(text) == nil)
    }

    @Test("Units are distinguished")
    func units() {
        #expect(Latency("1500us") == .fixed(1.5))
        #expect(Latency("2s") == .fixed(2_000))
        #expect(Latency("0") == Latency.none)
    }

    private func samples(_ latency: Latency) -> [Double] {
        var generator = SeededGenerator(seed: 7)
        return (0..<20_000).map { _ in latency.sample(using: &generator) / .milliseconds(1) }
    }

    @Test("Latencies follow their distributions")
    func distributions() {
        #expect(samples(.fixed(3)).allSatisfy { $0 == 3 })
        let uniform = samples(.uniform(10, 20))
        #expect(uniform.allSatisfy { (10...20).contains($0) })
        let uniformMean = uniform.reduce(0, +) / 20_000
        #expect(abs(uniformMean - 15) < 0.15)
        let normal = samples(.normal(mean: 50, deviation: 10))
        let mean = normal.reduce(0, +) / 20_000
        let variance = normal.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / 20_000
        #expect(abs(mean - 50) < 0.5)
        #expect(abs(variance.squareRoot() - 10) < 0.3)
        #expect(samples(.normal(mean: 0, deviation: 10)).allSatisfy { $0 >= 0 })
        let table = Latency.percentiles([
            .init(percent: 50, milliseconds: 20), .init(percent: 90, milliseconds: 60),
            .init(percent: 100, milliseconds: 100),
        ])
        let sorted = samples(table).sorted()
        #expect(sorted[0] == 20)
        #expect(abs(sorted[14_000] - 40) < 2)
        #expect(abs(sorted[18_000] - 60) < 2)
        #expect(sorted[19_999] <= 100)
    }

    @Test("No latency is longer than ten minutes")
    func longestLatency() {
        #expect(samples(.normal(mean: 600_000, deviation: 600_000)).allSatisfy { $0 <= 600_000 })
    }

    @Test("A delay queue returns due elements in order")
    func delayQueue() {
        var queue = DelayQueue<Int>()
        var generator = SeededGenerator(seed: 3)
        let dues = (0..<1_000).map { _ in generator.next() % 100 }
        for (index, due) in dues.enumerated() { queue.insert(index, due: due) }
        var out: [Int] = []
        for now: UInt64 in 0..<100 {
            while let index = queue.removeFirst(dueBy: now) {
                #expect(dues[index] == now)
                out.append(index)
            }
            #expect(queue.firstDue ?? 100 > now)
        }
        #expect(out == dues.indices.sorted { (dues[$0], $0) < (dues[$1], $1) })
        #expect(queue.count == 0)
    }
}
