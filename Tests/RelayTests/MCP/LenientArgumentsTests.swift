import JSON
import Testing

@testable import Relay

@Suite("Arguments as models write them", .timeLimit(.minutes(1)))
struct LenientArgumentsTests {
    private func arguments(_ tool: MCPTool, _ given: JSON.Value) -> JSON.Value? {
        let body = MCPTests.legacy(
            "tools/call", ["name": .string(tool.rawValue), "arguments": given])
        guard case .call(let call) = MCP.step(body.encoded(), MCPHeaders()) else { return nil }
        return .object(call.arguments)
    }

    @Test("Objects, lists and numbers that arrive as text are read as what the schema says")
    func text() {
        let every: JSON.Value = ["unit": "day", "interval": 2, "at": ["08:00"], "timeZone": "Europe/Berlin"]
        let texts: [JSON.Value] = [
            #"{"unit":"day","interval":2,"at":["08:00"],"timeZone":"Europe/Berlin"}"#,
            #" {"unit":"day","interval":"2","at":"[\"08:00\"]","timeZone":"Europe/Berlin","until":null,"on":""}"#,
        ]
        for text in texts {
            #expect(arguments(.scheduleNotification, ["every": text]) == ["every": every])
        }
        #expect(arguments(.scheduleNotification, ["in": "60"]) == ["in": 60])
    }

    @Test("null and empty text stand for optional arguments that aren't given")
    func absent() {
        #expect(
            arguments(.sendNotification, ["title": "T", "message": "", "urgency": nil, "eventID": ""])
                == ["title": "T", "message": ""])
        #expect(arguments(.cancelScheduled, ["name": "n", "id": nil]) == ["name": "n"])
    }

    @Test("All arguments may be null or one text")
    func whole() {
        #expect(arguments(.listDevices, nil) == [:])
        #expect(arguments(.listDevices, "") == [:])
        #expect(
            arguments(.sendNotification, #"{"title":"T","message":"M"}"#) == ["title": "T", "message": "M"])
        #expect(arguments(.sendNotification, "text") == nil)
        #expect(arguments(.sendNotification, ["T"]) == nil)
    }

    @Test("Text that isn't what the schema says, and text that should be text, stay as they are")
    func unchanged() {
        for given: JSON.Value in [
            ["every": "daily"], ["every": "[1]"], ["in": "soon"], ["in": "1e3"], ["title": "{}"],
            ["unknown": nil],
        ] {
            #expect(arguments(.scheduleNotification, given) == given)
        }
    }

    @Test("What the relay doesn't have is an empty list, in both eras")
    func emptyLists() throws {
        for (method, member) in [
            ("resources/list", "resources"), ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            let modern = MCPTests.modern(method)
            for (body, headers) in [modern, (MCPTests.legacy(method, nil), MCPHeaders())] {
                guard case .reply(let reply) = MCP.step(body.encoded(), headers) else {
                    Issue.record("no reply")
                    continue
                }
                #expect(reply.status == 200)
                #expect(reply.body?["result"]?[member] == [])
            }
        }
        guard
            case .reply(let reply) = MCP.step(
                MCPTests.legacy("tools/list", ["cursor": nil]).encoded(), MCPHeaders())
        else { return }
        #expect(reply.body?["result"]?["tools"]?.array?.isEmpty == false)
    }
}
