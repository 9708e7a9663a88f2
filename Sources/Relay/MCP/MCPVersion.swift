/// The versions of the Model Context Protocol (MCP) that the relay supports.
///
/// Source: modelcontextprotocol.io, "Versioning and Compatibility".
enum MCPVersion {
    /// The stateless version, in which every request contains its version and its client.
    static let modern = "2026-07-28"
    /// The versions that begin with `initialize`, newest first.
    static let legacy = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    /// All versions, newest first.
    static let all = [modern] + legacy

    /// The version that `initialize` agrees on: the client's version, or otherwise the newest that begins with
    /// `initialize`.
    static func agreed(on wanted: String) -> String { legacy.first { $0 == wanted } ?? legacy[0] }
}

/// The names that MCP reserves in `_meta`.
enum MCPMeta {
    static let version = "io.modelcontextprotocol/protocolVersion"
    static let clientInfo = "io.modelcontextprotocol/clientInfo"
    static let clientCapabilities = "io.modelcontextprotocol/clientCapabilities"
    static let serverInfo = "io.modelcontextprotocol/serverInfo"
}
