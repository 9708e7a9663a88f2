import APNsSimulator
import JSON
import Testing

@Suite("The control API", .serialized, .timeLimit(.minutes(2)))
struct ControlTests {
    @Test("Pushes are paged and filtered by token, with a count of dropped ones")
    func pages() async throws {
        let simulator = try await RunningSimulator(["--keep", "4"])
        for index in 0..<6 { _ = try await simulator.push(to: index.isMultiple(of: 2) ? "aa" : "BB") }
        let first = try await simulator.control("GET", "/pushes?limit=3")
        #expect(first["missed"]?.int == 2 && first["more"]?.bool == true && first["next"]?.int == 5)
        #expect(first["pushes"]?.array?.compactMap { $0["sequence"]?.int } == [3, 4, 5])
        let rest = try await simulator.control("GET", "/pushes?since=5")
        #expect(rest["pushes"]?.array?.count == 1 && rest["more"]?.bool == false)
        let filtered = try await simulator.control("GET", "/pushes?token=bb")["pushes"]?.array ?? []
        #expect(filtered.map { $0["deviceToken"]?.string } == ["bb", "bb"])
        let stats = try await simulator.control("GET", "/stats")
        #expect(stats["dropped"]?.int == 2 && stats["kept"]?.int == 4 && stats["lastPush"]?.int == 6)
    }

    @Test("A reader can wait for a push up to a timeout")
    func waiting() async throws {
        let simulator = try await RunningSimulator()
        #expect(try await simulator.control("GET", "/pushes?wait=0.1")["pushes"]?.array?.isEmpty == true)
        async let waited = simulator.control("GET", "/pushes?wait=30&token=ee")
        _ = try await simulator.push(to: "dd")
        _ = try await simulator.push(to: "ee")
        #expect(try await waited["pushes"]?.array?.map { $0["deviceToken"]?.string } == ["ee"])
    }

    @Test("A push that is accepted twice is counted")
    func duplicates() async throws {
        let simulator = try await RunningSimulator()
        let id = ["apns-id": "123e4567-e89b-12d3-a456-426614174000"]
        try await simulator.control("PUT", "/rules", #"{"reason":"ServiceUnavailable","count":1}"#)
        for status in [503, 200, 200] { #expect(try await simulator.push(id).status == status) }
        let stats = try await simulator.control("GET", "/stats")["production"]
        #expect(stats?["repeatedIDs"]?.int == 2)
        #expect(stats?["acceptedTwice"]?.int == 1)
        #expect(stats?["statuses"] == ["503": 1])
        #expect(stats?["reasons"] == ["ServiceUnavailable": 1])
    }

    @Test("Limits can be changed individually and restored")
    func limits() async throws {
        let simulator = try await RunningSimulator(["--streams", "7", "--topic", "com.example.app"])
        #expect(try await simulator.push(["apns-topic": "com.example.other"]).reason == "TopicDisallowed")
        let changed = try await simulator.control(
            "PUT", "/limits", #"{"topics":null,"providerTokenAgeMax":0}"#)
        #expect(changed["streams"]?.int == 7 && changed["topics"]?.isNull == true)
        let old = "bearer " + PushFixture.unsignedToken(issuedAt: 1_700_000_000)
        #expect(try await simulator.push(["authorization": old]).reason == "ExpiredProviderToken")
        let back = try await simulator.control("DELETE", "/limits")
        #expect(back["topics"] == ["com.example.app"] && back["providerTokenAgeMax"]?.int == 3_600)
    }

    @Test("A reset restores the initial tokens, rules and limits and removes all pushes")
    func reset() async throws {
        let simulator = try await RunningSimulator(["--rule", #"{"id":"first","latency":0}"#])
        try await simulator.control("PUT", "/rules", #"{"id":"second","reason":"Shutdown"}"#)
        try await simulator.control("PUT", "/tokens", #"{"token":"aa","state":"expired"}"#)
        try await simulator.control("PUT", "/limits", #"{"unknownTokens":"reject"}"#)
        _ = try await simulator.push()
        try await simulator.control("POST", "/reset")
        #expect(try await simulator.pushes().isEmpty)
        #expect(try await simulator.push(to: "aa").status == 200)
        let rules = try await simulator.control("GET", "/rules")["rules"]?.array
        #expect(rules?.map { $0["id"]?.string } == ["first"])
    }

    private static let problems: [(method: String, path: String, body: String?, sentence: String)] = [
        ("PUT", "/rules", #"{"reson":"Shutdown"}"#, "has no field `reson`"),
        ("PUT", "/rules", #"{"reason":"Unknown"}"#, "needs a `status`"),
        ("PUT", "/rules", #"{"action":"stall","status":500}"#, "can't have the fields of an answer"),
        ("PUT", "/rules", #"{"share":2}"#, "from 0.0 to 1.0"), ("PUT", "/rules", "{", "not JSON"),
        ("PUT", "/rules", #"{"rules":[{"id":"a"},{"id":"a"}]}"#, "two rules"),
        ("PUT", "/rules", #"{"action":"reset","errorCode":"NOPE"}"#, "an error code is"),
        ("PUT", "/tokens", #"{"token":"xyz"}"#, "must be a device token"),
        ("PUT", "/tokens", #"{"token":"ab","state":"gone"}"#, "\"valid\", \"unregistered\", \"expired\""),
        ("PUT", "/tokens", #"{"token":"ab","since":5}"#, "`since` is only for"),
        ("PUT", "/limits", #"{"streams":-1}"#, "an integer from 0"),
        ("PUT", "/limits", #"{"latency":"soon"}"#, "`latency` of limits must be"),
        ("PUT", "/limits", "[]", "must be a JSON object"),
        ("POST", "/goaway", #"{"lastStream":"x"}"#, "`lastStream` must be"),
        ("POST", "/streams", "{}", "streams needs a `limit`"),
        ("POST", "/streams", #"{"limit":-1}"#, "an integer from 0"),
        ("POST", "/close", #"{"environment":"test"}"#, "`environment` of close must be"),
        ("GET", "/pushes?wait=99", nil, "`wait` must be"),
        ("GET", "/pushes?since=x", nil, "`since` must be"),
        ("GET", "/pushes?limit=0", nil, "`limit` must be"),
        ("GET", "/pushes?format=xml", nil, "`format` must be"),
        ("GET", "/tokens?token=x", nil, "not a device token"),
        ("DELETE", "/tokens?token=ab", nil, "not registered"),
        ("DELETE", "/rules?id=x", nil, "no such rule"),
        ("GET", "/rules?id=x", nil, "no such rule"), ("GET", "/nope", nil, "nothing at this path"),
        ("POST", "/pushes", nil, "does not support this method"),
    ]

    @Test("An invalid request gets an error message")
    func problems() async throws {
        let simulator = try await RunningSimulator()
        for (method, path, body, sentence) in Self.problems {
            let answer = try await simulator.control(method, path, body)
            #expect(answer["ok"]?.bool == false)
            #expect(answer["error"]?.string?.contains(sentence) == true, "\(answer["error"]?.string ?? "")")
        }
    }
}
