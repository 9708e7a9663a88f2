import JSON

/// A JSON-RPC error, with the HTTP status that it has in the stateless version.
///
/// Source: JSON-RPC 2.0, section 5.1; modelcontextprotocol.io, "Error Codes".
struct MCPError: Error, Sendable, Equatable {
    let code: Int
    /// A sentence for people that reveals nothing secret.
    let message: String
    let status: Int
    var data: JSON.Value?

    /// The body isn't JSON.
    static func parse(_ reason: String) -> MCPError {
        MCPError(code: -32700, message: "The body is not JSON: \(reason).", status: 400)
    }

    /// The body isn't a JSON-RPC request.
    static func invalidRequest(_ message: String, status: Int = 400) -> MCPError {
        MCPError(code: -32600, message: message, status: status)
    }

    /// The relay doesn't have the method.
    static let methodNotFound = MCPError(
        code: -32601, message: "This server has no such method.", status: 404)

    /// The method's parameters are malformed.
    static func invalidParams(_ message: String) -> MCPError {
        MCPError(code: -32602, message: message, status: 400)
    }

    /// A header is missing or differs from the body.
    static func headerMismatch(_ header: String) -> MCPError {
        MCPError(
            code: -32020, message: "The header \(header) is missing or differs from the body.", status: 400)
    }

    /// The relay doesn't support the version.
    static func unsupportedVersion(_ requested: String) -> MCPError {
        MCPError(
            code: -32022, message: "Unsupported protocol version.", status: 400,
            data: [
                "supported": .array(MCPVersion.all.map { .string($0) }), "requested": .string(requested),
            ])
    }

    /// The relay can't carry out a call, and different arguments wouldn't help.
    ///
    /// The code is the HTTP status that the error has on other routes, which is outside JSON-RPC's reserved range.
    init(_ error: APIError) {
        code = error.code == .internalError ? -32603 : error.code.status
        message = error.sentence
        status = error.code.status
        data = ["code": .string(error.code.rawValue)]
    }

    init(code: Int, message: String, status: Int, data: JSON.Value? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.data = data
    }

    /// The error response to a request.
    ///
    /// The request's ID may be unknown.
    func response(to id: JSON.Value?) -> JSON.Value {
        var error: JSON.Object = .init()
        error["code"] = .int(code)
        error["message"] = .string(message)
        error["data"] = data
        var response: JSON.Object = .init()
        response["jsonrpc"] = "2.0"
        response["id"] = id
        response["error"] = .object(error)
        return .object(response)
    }
}
