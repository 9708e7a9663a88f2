import JSON
import Network
import Testing
import WebClient

@testable import AgentBridge

@Suite("Finding the server and the relay", .timeLimit(.minutes(2)))
struct ServerPlaceTests {
    private func file(_ text: String) -> [(String, [UInt8])] { [("/run/service.json", Array(text.utf8))] }

    @Test("the setting takes precedence, then the service file, then OpenCode's port")
    func order() throws {
        let service = file(#"{"url":"http://127.0.0.1:5000/","pid":7,"password":"pw"}"#)
        let given = try WebAddress("http://host:1")
        let set = ServerPlace.find(given: given, environment: ["OPENCODE_PASSWORD": "x"]) { service }
        #expect(set?.address == given && set?.origin == .setting && set?.credentials?.password == "x")
        let found = ServerPlace.find(given: nil, environment: ["OPENCODE_PASSWORD": "x"]) { service }
        #expect(found?.address.text == "http://127.0.0.1:5000" && found?.credentials?.password == "pw")
        for text in ["", "{}", "[]", #"{"url":7}"#, #"{"url":"ftp://x"}"#] {
            let standard = ServerPlace.find(given: nil, environment: [:]) { file(text) }
            #expect(standard?.address.text == "http://127.0.0.1:4096" && standard?.origin == .standard)
        }
    }

    @Test("the password is that of 2.x, then that of 1.x")
    func credentials() {
        func found(_ environment: [String: String]) -> WebCredentials? {
            ServerPlace.credentials(environment)
        }
        let old = ["OPENCODE_SERVER_PASSWORD": "a:b", "OPENCODE_SERVER_USERNAME": "ada"]
        #expect(found(old) == WebCredentials(user: "ada", password: "a:b"))
        #expect(
            found(old.merging(["OPENCODE_PASSWORD": "new"]) { $1 })
                == WebCredentials(user: "opencode", password: "new"))
        #expect(found(["OPENCODE_SERVER_PASSWORD": "p"]) == WebCredentials(user: "opencode", password: "p"))
        #expect(found(["OPENCODE_PASSWORD": "", "OPENCODE_SERVER_USERNAME": "ada"]) == nil)
    }

    @Test("addresses are checked and shortened")
    func addresses() throws {
        #expect(try WebAddress("127.0.0.1:4096").text == "http://127.0.0.1:4096")
        #expect(try WebAddress("https://Relay.example.org/push/").text == "https://Relay.example.org/push")
        #expect(try WebAddress("https://Relay.example.org").host == "relay.example.org")
        #expect(try WebAddress("http://[::1]:80").isLoopback)
        for local in ["http://localhost", "127.1.2.3:9", "http://a.localhost"] {
            #expect(try WebAddress(local).isLoopback)
        }
        for remote in ["http://127.example.org", "http://localhost.example.org", "http://10.0.0.1"] {
            #expect(try !WebAddress(remote).isLoopback)
        }
        for (text, problem) in [
            ("ftp://x", WebAddress.Problem.notHTTP), ("http://:80", .noHost), ("http://a b", .noHost),
            ("http://u:p@h", .credentials), ("http://h?x", .query), ("http://h#x", .query),
        ] {
            #expect(throws: problem) { try WebAddress(text) }
        }
        #expect(WebAddress.encoded("/home/ä b&c") == "%2Fhome%2F%C3%A4%20b%26c")
    }

    @Test("a missing server that isn't configured is no fault, but the check explains how to start one")
    func absence() throws {
        func finding(_ fault: ServerError, given: WebAddress? = nil) throws -> CheckCommand.Finding? {
            CheckCommand.absence(
                of: try #require(ServerPlace.find(given: given, environment: [:]) { [] }), fault)
        }
        let refused = ServerError.unreachable("x", isTimeout: false)
        let found = try #require(try finding(refused))
        #expect(found.isGood)
        for text in [found.text, refused.description] {
            #expect(text.contains("opencode --port 4096") && text.contains("opencode attach"))
        }
        #expect(try finding(refused, given: try WebAddress("http://127.0.0.1:4096")) == nil)
        #expect(try finding(.unauthorized) == nil)
    }

    @Test("unreadable lists are reported once, and again when they are readable")
    func unlisted() {
        let memory = ServerMemory()
        memory.note(list: "/a", isReadable: true)
        #expect(memory.takeReports() == [])
        for _ in 1...2 { memory.note(list: "/a", isReadable: false) }
        memory.note(list: "", isReadable: false)
        let reports = memory.takeReports()
        #expect(reports.count == 2 && reports[0].contains("its own directory") && reports[1].contains("/a"))
        #expect(memory.unlisted == ["", "/a"] && memory.takeReports() == [])
        memory.note(list: "/a", isReadable: true)
        #expect(memory.takeReports() == ["OpenCode can list the open requests of /a again"])
    }

    @Test("the last message shows how a run ended")
    func readings() throws {
        func first(_ info: JSON.Value) -> Outcome? { SessionReading.first([["info": info]]).outcome }
        #expect(first(["role": "assistant", "finish": "stop"]) == .completed)
        #expect(first(["role": "assistant", "finish": "tool-calls"]) == .interrupted)
        #expect(first(["role": "assistant"]) == nil)
        #expect(first(["role": "user", "finish": "stop"]) == nil)
        #expect(first(["role": "assistant", "error": ["name": "MessageAbortedError"]]) == .interrupted)
        #expect(
            first(["role": "assistant", "error": ["name": "APIError"]]) == .failed(RunError(name: "APIError"))
        )
        #expect(first(["role": "assistant", "error": nil, "finish": "length"]) == .completed)
        func second(_ message: JSON.Value) -> Outcome? { SessionReading.second(["data": [message]]).outcome }
        #expect(second(["type": "idle", "outcome": "succeeded"]) == .completed)
        #expect(second(["type": "idle", "outcome": "interrupted"]) == .interrupted)
        #expect(second(["type": "assistant", "finish": "stop"]) == .completed)
        #expect(second(["type": "assistant", "error": ["type": "aborted"]]) == .interrupted)
        #expect(second(["type": "user", "text": "x"]) == nil)
        #expect(second(["type": "compaction", "status": "completed"]) == .summarized)
        #expect(SessionReading.first(nil) == Reading() && SessionReading.second(7) == Reading())
    }

    @Test("texts are the agent's last visible ones in the last turn, never the user's")
    func texts() {
        let messages: JSON.Value = [
            ["info": ["id": "m1", "role": "user"], "parts": [["type": "text", "text": "question"]]],
            ["info": ["id": "m2", "role": "assistant"], "parts": [["type": "text", "text": "first"]]],
            [
                "info": ["id": "m3", "role": "assistant"],
                "parts": [
                    ["type": "reasoning", "text": "hm"], ["type": "text", "text": "hidden", "ignored": true],
                    ["type": "text", "text": "one"], ["type": "text", "text": "two"],
                ],
            ],
            ["info": ["id": "m4", "role": "assistant"], "parts": [["type": "tool"]]],
        ]
        let reading = SessionReading.first(messages)
        #expect(reading.text == "one two" && reading.mark == "m4")
        #expect(SessionReading.first(.array(Array(messages.array?.prefix(1) ?? []))).text == nil)
        let asked = (messages.array ?? []) + [["info": ["id": "m5", "role": "user"], "parts": []]]
        #expect(SessionReading.first(.array(asked)).text == nil)
        let next: JSON.Value = [
            "data": [
                ["type": "idle"], ["type": "assistant", "content": [["type": "tool"]]],
                ["type": "user", "text": "question"],
                ["type": "assistant", "content": [["type": "text", "text": "old answer"]]],
            ]
        ]
        #expect(SessionReading.second(next).text == nil)
    }
}
