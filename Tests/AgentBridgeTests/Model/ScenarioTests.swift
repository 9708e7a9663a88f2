import Testing

@testable import AgentBridge

@Suite("Rules, on recorded streams", .timeLimit(.minutes(2)))
struct ScenarioTests {
    @Test("each stream rings as its file specifies", arguments: Scenario.all)
    func plays(name: String) throws {
        let checks = try Scenario(name).play()
        #expect(!checks.isEmpty, "the file expects nothing")
        for check in checks {
            #expect(check.rings == check.expected, "\(name), line \(check.line)")
        }
    }

    @Test("both generations have streams")
    func present() throws {
        #expect(Scenario.all.count { $0.hasPrefix("1.x-") } >= 15)
        #expect(Scenario.all.count { $0.hasPrefix("2.x-") } >= 10)
    }
}
