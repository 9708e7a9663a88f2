import JSON

/// A JSON-RPC request.
struct MCPRequest: Sendable, Equatable {
    /// A string or a whole number, returned as it was sent.
    let id: JSON.Value
    let method: String
    let params: JSON.Object
    /// Whether the stateless version's rules apply.
    private(set) var isModern: Bool

    /// Reads a message; `nil` for a notification, which gets no response.
    init?(_ body: [UInt8]) throws(MCPRefusal) {
        let value: JSON.Value
        do throws(JSON.ParseError) {
            value = try JSON.parse(
                BodyMistake.afterByteOrderMark(body) ?? body, maxBytes: Bounds.requestBodyBytesMax,
                maxDepth: Bounds.requestJSONDepthMax,
                loneSurrogates: .replaced)
        } catch {
            let hint = BodyMistake.hint(body).map { ". \($0.dropLast())" } ?? ""
            throw MCPRefusal(error: .parse(error.description + hint))
        }
        guard let message = value.object else {
            let isBatch = value.array != nil
            throw MCPRefusal(
                error: .invalidRequest(
                    isBatch ? "Send one message per request, not a batch." : "Send a JSON-RPC request."))
        }
        if let id = message["id"], !Self.isID(id) {
            throw MCPRefusal(error: .invalidRequest("id must be a string or a whole number."))
        }
        let id = message["id"]
        guard message["jsonrpc"]?.string == "2.0" else {
            throw MCPRefusal(id: id, error: .invalidRequest("jsonrpc must be \"2.0\"."))
        }
        guard let method = message["method"]?.string else {
            throw MCPRefusal(id: id, error: .invalidRequest("method must be a string."))
        }
        // Some clients send null for members that they don't need.
        var given = message["params"] ?? [:]
        if given.isNull { given = [:] }
        guard let params = given.object else {
            throw MCPRefusal(id: id, error: .invalidRequest("params must be an object."))
        }
        guard let id else { return nil }
        self.id = id
        self.method = method
        self.params = params
        isModern = params["_meta"]?[MCPMeta.version] != nil
    }

    /// The client's name for itself: in each request of the stateless version, otherwise only in `initialize`.
    var client: String? {
        (isModern ? params["_meta"]?[MCPMeta.clientInfo] : params["clientInfo"])?["name"]?.text
    }

    /// The whole numbers that a double can represent exactly.
    private static let wholeNumbers = -(1 << 53) + 1...(1 << 53) - 1

    private static func isID(_ value: JSON.Value) -> Bool {
        value.string != nil || value.wholeNumber.map(wholeNumbers.contains) == true
    }

    /// Decides which version's rules apply, and checks what they require of headers and `_meta`.
    mutating func checkVersion(_ headers: MCPHeaders) throws(MCPError) {
        if !isModern {
            // A client's first request can't know the version yet.
            guard method != "initialize", let version = headers.version else { return }
            guard !MCPVersion.legacy.contains(version) else { return }
            isModern = true
            guard version == MCPVersion.modern else { throw .unsupportedVersion(version) }
        }
        let meta = params["_meta"]
        guard let version = meta?[MCPMeta.version]?.string else {
            throw .invalidParams("_meta must have the string \(MCPMeta.version).")
        }
        guard headers.version == version else { throw .headerMismatch("MCP-Protocol-Version") }
        guard version == MCPVersion.modern else { throw .unsupportedVersion(version) }
        guard meta?[MCPMeta.clientCapabilities]?.object != nil else {
            throw .invalidParams("_meta must have the object \(MCPMeta.clientCapabilities).")
        }
        guard headers.method == method else { throw .headerMismatch("Mcp-Method") }
        if method == "tools/call", let name = params["name"]?.string {
            guard headers.decodedName == name else { throw .headerMismatch("Mcp-Name") }
        }
    }

    /// A reply that contains a result.
    func reply(_ result: JSON.Object) -> MCPReply {
        var result = result
        if isModern {
            result["resultType"] = "complete"
            result["_meta"] = [MCPMeta.serverInfo: MCP.serverInfo]
        }
        return MCPReply(
            status: 200, body: ["jsonrpc": "2.0", "id": id, "result": .object(result)], client: client)
    }

    /// A reply that contains an error.
    ///
    /// Older clients treat every status except 200 as a connection failure and don't read the error.
    func reply(_ error: MCPError) -> MCPReply {
        MCPReply(status: isModern ? error.status : 200, body: error.response(to: id))
    }
}
