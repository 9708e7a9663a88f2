import JSON
import Programs

/// What the relay does with a message that an MCP client posted.
enum MCPStep: Sendable, Equatable {
    /// Send this reply.
    case reply(MCPReply)
    /// Carry out a call, then send its reply.
    case call(MCPCall)

    /// The client's name for itself, if the request contains it.
    var client: String? {
        switch self {
        case .reply(let reply): reply.client
        case .call(let call): call.client
        }
    }

    /// Whether the client counts as connected after the reply.
    var connects: Bool {
        if case .reply(let reply) = self { reply.connects } else { false }
    }
}

/// A reply to an MCP client.
struct MCPReply: Sendable, Equatable {
    let status: Int
    /// The body; `nil` for an empty body.
    let body: JSON.Value?
    /// The client's name for itself, if the request contains it.
    var client: String?
    /// Whether the client counts as connected after the reply.
    var connects = false
}

/// A tool call.
struct MCPCall: Sendable, Equatable {
    let tool: MCPTool
    let arguments: JSON.Object
    fileprivate let request: MCPRequest

    /// The client's name for itself, if the request contains it.
    var client: String? { request.client }

    /// The reply that contains the call's result.
    func reply(_ result: MCPToolResult) -> MCPReply { request.reply(result.json) }

    /// The reply if the call can't be carried out.
    func reply(_ error: MCPError) -> MCPReply { request.reply(error) }
}

/// The Model Context Protocol: decides which reply or call follows from a message.
///
/// Serves the stateless version and, for older clients, the versions that begin with `initialize`. In the latter,
/// sessions are optional for the server, so every request is answered on its own. Replies are single JSON objects,
/// never streams. Source: modelcontextprotocol.io, "Streamable HTTP" of 2026-07-28 and "Transports" of 2025-11-25.
enum MCP {
    /// How long clients may cache results that never change while the relay is running.
    static let timeToLiveMilliseconds = 3_600_000

    /// The reply to a message, or the call that the message asks for.
    static func step(_ body: [UInt8], _ headers: MCPHeaders) -> MCPStep {
        guard headers.isJSON else {
            return .reply(.refusal(.invalidRequest("Send the body as application/json.", status: 415)))
        }
        do throws(MCPRefusal) {
            guard var request = try MCPRequest(body) else { return .reply(MCPReply(status: 202, body: nil)) }
            do throws(MCPError) {
                try request.checkVersion(headers)
                return try request.isModern ? modern(request) : legacy(request)
            } catch {
                return .reply(request.reply(error))
            }
        } catch {
            return .reply(.refusal(error.error, to: error.id))
        }
    }

    private static func modern(_ request: MCPRequest) throws(MCPError) -> MCPStep {
        switch request.method {
        case "server/discover":
            var reply = request.reply(
                cacheable([
                    "supportedVersions": .array(MCPVersion.all.map { .string($0) }),
                    "capabilities": ["tools": [:]], "instructions": instructions,
                ]))
            reply.connects = true
            return .reply(reply)
        case "tools/list": return .reply(request.reply(cacheable(try toolList(request))))
        case let method where emptyLists[method] != nil:
            return .reply(request.reply(cacheable(try emptyList(request))))
        case "tools/call": return .call(try call(request))
        default: throw .methodNotFound
        }
    }

    private static func legacy(_ request: MCPRequest) throws(MCPError) -> MCPStep {
        switch request.method {
        case "initialize":
            guard let wanted = request.params["protocolVersion"]?.string else {
                throw .invalidParams("protocolVersion must be a string.")
            }
            var result = JSON.Object()
            result["protocolVersion"] = .string(MCPVersion.agreed(on: wanted))
            result["capabilities"] = ["tools": [:]]
            result["serverInfo"] = serverInfo
            result["instructions"] = instructions
            var reply = request.reply(result)
            reply.connects = true
            return .reply(reply)
        case "ping": return .reply(request.reply(JSON.Object()))
        case "tools/list": return .reply(request.reply(try toolList(request)))
        case let method where emptyLists[method] != nil: return .reply(request.reply(try emptyList(request)))
        case "tools/call": return .call(try call(request))
        default: throw .methodNotFound
        }
    }

    /// Methods that clients call although the server doesn't announce them, each with the member that its result
    /// contains.
    ///
    /// Several clients show their user an error for anything but a list.
    private static let emptyLists = [
        "resources/list": "resources", "resources/templates/list": "resourceTemplates",
        "prompts/list": "prompts",
    ]

    private static func emptyList(_ request: MCPRequest) throws(MCPError) -> JSON.Object {
        try checkCursor(request)
        var result = JSON.Object()
        if let member = emptyLists[request.method] { result[member] = [] }
        return result
    }

    private static func checkCursor(_ request: MCPRequest) throws(MCPError) {
        guard request.params["cursor"].map(MCPArguments.isAbsent) ?? true else {
            throw .invalidParams("There is only one page, so no cursor is valid.")
        }
    }

    private static func toolList(_ request: MCPRequest) throws(MCPError) -> JSON.Object {
        try checkCursor(request)
        var result = JSON.Object()
        result["tools"] = MCPTool.definitions
        return result
    }

    private static func call(_ request: MCPRequest) throws(MCPError) -> MCPCall {
        guard let name = request.params["name"]?.string else {
            throw .invalidParams("name must be a string.")
        }
        guard let tool = MCPTool(rawValue: name) else { throw .invalidParams("There is no such tool.") }
        guard let arguments = MCPArguments.read(request.params["arguments"], tool.inputSchema) else {
            throw .invalidParams("arguments must be an object.")
        }
        return MCPCall(tool: tool, arguments: arguments, request: request)
    }

    private static func cacheable(_ result: JSON.Object) -> JSON.Object {
        var result = result
        result["ttlMs"] = .int(timeToLiveMilliseconds)
        result["cacheScope"] = "public"
        return result
    }

    private static func cacheable(_ result: JSON.Value) -> JSON.Object {
        cacheable(result.object ?? JSON.Object())
    }

    static let serverInfo: JSON.Value = [
        "name": "apn-relay", "title": "APN relay", "version": .string(Version.current),
    ]
    private static let instructions: JSON.Value =
        "Notifies the user on their phones. Send few notifications, each with what the user needs to know."
}

/// A message that is refused before it is known to be a request.
struct MCPRefusal: Error {
    /// The request's ID, if the message has a valid one.
    var id: JSON.Value?
    let error: MCPError
}

extension MCPReply {
    /// The response to a message that isn't a valid request.
    static func refusal(_ error: MCPError, to id: JSON.Value? = nil) -> MCPReply {
        MCPReply(status: error.status, body: error.response(to: id))
    }
}
