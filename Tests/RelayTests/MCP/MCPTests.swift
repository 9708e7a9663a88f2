import JSON
import Programs
import Testing

@testable import Relay

@Suite("MCP messages", .timeLimit(.minutes(1)))
struct MCPTests {
    static let meta: JSON.Value = [
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": [:],
    ]

    /// A request of the stateless version with its headers.
    static func modern(
        _ method: String, _ params: JSON.Value = [:], id: JSON.Value = 1
    ) -> (body: JSON.Value, headers: MCPHeaders) {
        var all = params.object ?? JSON.Object()
        all["_meta"] = meta
        return (
            ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": .object(all)],
            MCPHeaders(version: "2026-07-28", method: method, name: params["name"]?.string)
        )
    }

    /// A request of an older version.
    static func legacy(_ method: String, _ params: JSON.Value = [:], id: JSON.Value = 1) -> JSON.Value {
        ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": params]
    }

    private func reply(_ body: JSON.Value, _ headers: MCPHeaders = MCPHeaders()) throws -> MCPReply {
        try reply(body.encoded(), headers)
    }

    private func reply(_ body: [UInt8], _ headers: MCPHeaders = MCPHeaders()) throws -> MCPReply {
        guard case .reply(let reply) = MCP.step(body, headers) else { throw NotAReply() }
        return reply
    }

    private struct NotAReply: Error {}

    private func call(_ body: JSON.Value, _ headers: MCPHeaders = MCPHeaders()) -> MCPCall? {
        guard case .call(let call) = MCP.step(body.encoded(), headers) else { return nil }
        return call
    }

    private func code(_ reply: MCPReply) -> Int? { reply.body?["error"]?["code"]?.int }

    // MARK: The stateless version

    @Test("server/discover shows versions, tools, the server, and how long that holds")
    func discover() throws {
        let (body, headers) = Self.modern("server/discover", id: "a")
        let reply = try reply(body, headers)
        #expect(reply.status == 200)
        #expect(reply.body?["jsonrpc"] == "2.0" && reply.body?["id"] == "a")
        let result = try #require(reply.body?["result"])
        #expect(result["resultType"] == "complete" && result["cacheScope"] == "public")
        #expect(result["ttlMs"]?.int == 3_600_000)
        #expect(result["supportedVersions"]?.array?.first == "2026-07-28")
        #expect(result["supportedVersions"]?.array?.contains("2025-11-25") == true)
        #expect(result["capabilities"] == ["tools": [:]])
        #expect(result["_meta"]?["io.modelcontextprotocol/serverInfo"]?["name"] == "apn-relay")
    }

    @Test("tools/list names the same tools to all clients, and to new ones how long they hold")
    func tools() throws {
        let (body, headers) = Self.modern("tools/list")
        let new = try #require(try reply(body, headers).body?["result"])
        let old = try #require(try reply(Self.legacy("tools/list")).body?["result"])
        #expect(new["tools"] == old["tools"])
        let names = new["tools"]?.array?.compactMap { $0["name"]?.string }
        #expect(names == MCPTool.allCases.map(\.rawValue))
        #expect(new["resultType"] == "complete" && new["ttlMs"] != nil)
        #expect(old.object?.members.map(\.name) == ["tools"])
        for tool in new["tools"]?.array ?? [] {
            #expect(tool["inputSchema"]?["additionalProperties"] == false)
            #expect(tool["outputSchema"]?["type"] == "object")
        }
    }

    @Test("What a request of the new version lacks is refused with its code", arguments: 0..<13)
    func checks(_ index: Int) throws {
        let tool: JSON.Value = ["name": "list_devices"]
        var (body, headers) = Self.modern("tools/call", tool)
        func without(_ name: String) -> JSON.Value {
            var meta = Self.meta.object ?? JSON.Object()
            meta[name] = nil
            return Self.legacy("tools/call", ["name": "list_devices", "_meta": .object(meta)])
        }
        var status = 400
        let expected: Int
        switch index {
        case 0: (headers.version, expected) = (nil, -32020)
        case 1: (headers.version, expected) = ("2025-11-25", -32020)
        case 2: (headers.method, expected) = (nil, -32020)
        case 3: (headers.method, expected) = ("tools/Call", -32020)
        case 4: (headers.name, expected) = (nil, -32020)
        case 5: (headers.name, expected) = ("send_notification", -32020)
        case 6: (headers.name, expected) = ("=?base64?bGlzdF9kZXZpY2V?=", -32020)
        case 7: (body, expected) = (without(MCPMeta.clientCapabilities), -32602)
        case 8: (body, expected) = (without(MCPMeta.version), -32602)
        case 9:
            (body, headers) = Self.modern("ping")
            (status, expected) = (404, -32601)
        case 10:
            (body, headers) = Self.modern("initialize", ["protocolVersion": "2025-11-25"])
            (status, expected) = (404, -32601)
        case 11:
            (body, headers) = Self.modern("tools/call", ["name": "no_such_tool"])
            expected = -32602
        default:
            (body, headers) = Self.modern("tools/call", ["name": "list_devices", "arguments": []])
            expected = -32602
        }
        let reply = try reply(body, headers)
        #expect(code(reply) == expected && reply.status == status, "\(String(describing: reply.body))")
        #expect(reply.body?["id"] == 1)
    }

    @Test("An unknown version is refused with the known ones", arguments: [true, false])
    func unsupported(isInBody: Bool) throws {
        let meta: JSON.Value = [
            "io.modelcontextprotocol/protocolVersion": "2099-01-01",
            "io.modelcontextprotocol/clientCapabilities": [:],
        ]
        let body = Self.legacy("tools/list", isInBody ? ["_meta": meta] : [:])
        let reply = try reply(body, MCPHeaders(version: "2099-01-01", method: "tools/list"))
        #expect(reply.status == 400 && code(reply) == -32022)
        let data = reply.body?["error"]?["data"]
        #expect(data?["requested"] == "2099-01-01")
        #expect(data?["supported"]?.array?.first == "2026-07-28")
    }

    @Test("A tool's name may come as Base64")
    func encodedName() {
        var (body, headers) = Self.modern("tools/call", ["name": "list_devices"])
        headers.name = "=?base64?bGlzdF9kZXZpY2Vz?="
        #expect(call(body, headers)?.tool == .listDevices)
    }

    @Test("A call has the tool and its arguments, none when they are left out")
    func calls() {
        let (body, headers) = Self.modern(
            "tools/call", ["name": "send_notification", "arguments": ["title": "T"]])
        let given = call(body, headers)
        #expect(given?.tool == .sendNotification && given?.arguments["title"] == "T")
        let bare = call(Self.legacy("tools/call", ["name": "list_devices"]))
        #expect(bare?.tool == .listDevices && bare?.arguments.members.isEmpty == true)
        let reply = bare?.reply(.failed("Try again."))
        #expect(
            reply?.body == [
                "jsonrpc": "2.0", "id": 1,
                "result": ["content": [["type": "text", "text": "Try again."]], "isError": true],
            ])
    }

    // MARK: Older versions

    @Test(
        "initialize agrees on the client's version, or on the newest",
        arguments: [
            ("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"),
            ("2026-07-28", "2025-11-25"), ("1", "2025-11-25"),
        ])
    func initialize(wanted: String, agreed: String) throws {
        for version in [nil, wanted] {
            let reply = try reply(
                Self.legacy("initialize", ["protocolVersion": .string(wanted), "capabilities": [:]]),
                MCPHeaders(version: version))
            #expect(reply.status == 200)
            let result = reply.body?["result"]
            #expect(result?["protocolVersion"] == .string(agreed))
            #expect(result?["capabilities"] == ["tools": [:]])
            #expect(result?["serverInfo"]?["name"] == "apn-relay")
        }
    }

    @Test("Errors of requests go out with 200, which older clients need to read them")
    func legacyErrors() throws {
        let cases: [(JSON.Value, Int)] = [
            (Self.legacy("resources/read"), -32601), (Self.legacy("server/discover"), -32601),
            (Self.legacy("initialize"), -32602), (Self.legacy("tools/call"), -32602),
            (Self.legacy("tools/call", ["name": "x"]), -32602),
            (Self.legacy("tools/list", ["cursor": "1"]), -32602),
        ]
        for (body, expected) in cases {
            let reply = try reply(body, MCPHeaders(version: "2025-06-18"))
            #expect(reply.status == 200 && code(reply) == expected, "\(body)")
        }
        #expect(try reply(Self.legacy("ping", id: 7)).body == ["jsonrpc": "2.0", "id": 7, "result": [:]])
    }

    // MARK: Messages

    @Test("Notifications get 202 and nothing else")
    func notifications() throws {
        for method in ["notifications/initialized", "notifications/cancelled", "tools/call"] {
            let reply = try reply(["jsonrpc": "2.0", "method": .string(method)])
            #expect(reply == MCPReply(status: 202, body: nil))
        }
    }

    @Test(
        "IDs are returned as they came",
        arguments: ["1", "-1", "0", "\"1\"", "\"\"", "1.0", "9007199254740991"])
    func ids(_ id: String) throws {
        let reply = try reply(Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"#.utf8))
        let text = String(decoding: try #require(reply.body).encoded(), as: UTF8.self)
        #expect(text == #"{"jsonrpc":"2.0","id":\#(id),"result":{}}"#)
    }

    @Test(
        "What is no request is refused with 400",
        arguments: [
            ("", -32700), ("{", -32700), ("[]", -32600), ("1", -32600),
            (#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
            (#"{"id":1,"method":"ping"}"#, -32600), (#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
            (#"{"jsonrpc":"2.0","id":1}"#, -32600), (#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
            (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600),
        ])
    func malformed(_ body: String, expected: Int) throws {
        let reply = try reply(Array(body.utf8))
        #expect(reply.status == 400 && code(reply) == expected)
    }

    @Test("Only JSON is read")
    func contentType() throws {
        let ping = Self.legacy("ping")
        for type in [nil, "text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
            #expect(try reply(ping, MCPHeaders(contentType: type)).status == 415)
        }
        for type in ["application/json", "Application/JSON; charset=utf-8", "application/json ;a=b"] {
            #expect(try reply(ping, MCPHeaders(contentType: type)).status == 200)
        }
    }
}

@Suite("Origins of MCP clients", .timeLimit(.minutes(1)))
struct WebOriginTests {
    @Test(
        "Pages of this machine and listed ones may use it, no others",
        arguments: [
            (nil, true), ("http://localhost", true), ("http://localhost:5173", true),
            ("https://127.0.0.1:1", true), ("http://[::1]:80", true), ("HTTP://LOCALHOST", true),
            ("https://console.example.org", true), ("https://Console.Example.org", true),
            ("http://console.example.org", false), ("https://console.example.org:444", false),
            ("http://localhost.example.org", false), ("http://localhost:80.example.org", false),
            ("http://localhost@example.org", false), ("http://example.org", false), ("null", false),
            ("", false), ("localhost", false), ("http://127.0.0.1.example.org", false),
            ("http://[::1].example.org", false),
        ])
    func origins(_ origin: String?, isAllowed: Bool) {
        #expect(WebOrigins(listed: ["https://console.example.org"]).allow(origin) == isAllowed)
    }

    @Test("Its setting takes origins and null, and no URLs")
    func setting() throws {
        let type = SettingType.origins
        #expect(
            type.parse("https://A.example, vscode-file://vscode-app ,null")
                == .success(["https://a.example", "vscode-file://vscode-app", "null"]))
        for text in ["", "example.org", "https://", "https://a/", "https://a b", "https://a,"] {
            #expect(type.parse(text) == .failure(.notAccepted))
        }
    }
}
