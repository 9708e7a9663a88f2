import Cryptography
import HTTPServer

/// The request headers that MCP defines.
struct MCPHeaders: Sendable {
    var contentType: String? = "application/json"
    var version: String?
    var method: String?
    var name: String?

    /// Whether the body is declared as JSON.
    var isJSON: Bool {
        let type = contentType?.split(separator: ";", omittingEmptySubsequences: false).first ?? ""
        return type.lowercased().filter { $0 != " " && $0 != "\t" } == "application/json"
    }

    /// `Mcp-Name`, decoded if it is written as `=?base64?…?=`; `nil` if it is absent or malformed.
    var decodedName: String? {
        guard let name, name.hasPrefix("=?base64?"), name.hasSuffix("?="), name.utf8.count >= 11 else {
            return name
        }
        return Base64.decode(Array(name.utf8.dropFirst(9).dropLast(2))).flatMap {
            String(validating: $0, as: UTF8.self)
        }
    }
}

extension MCPHeaders {
    /// Reads the headers of a request.
    ///
    /// A repeated header keeps all its values, so it doesn't match anything in the body.
    init(_ request: Request) {
        func value(_ name: String) -> String? {
            let values = request.headers.values(of: name)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        self.init(
            contentType: value("Content-Type"), version: value("MCP-Protocol-Version"),
            method: value("Mcp-Method"), name: value("Mcp-Name"))
    }
}
