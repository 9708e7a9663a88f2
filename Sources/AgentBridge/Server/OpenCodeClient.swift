import JSON
import Network
import WebClient

/// Sends requests to an OpenCode server of a known generation.
struct OpenCodeClient: Sendable {
    let place: ServerPlace
    let generation: Generation
    /// The version that the server reports.
    let version: String
    let memory: ServerMemory

    /// Determines a server's generation and version.
    ///
    /// 1.18 also answers some paths of 2.x, and 2.x answers unknown paths with a web page: only JSON counts.
    static func connect(_ place: ServerPlace, _ memory: ServerMemory) async throws(ServerError)
        -> OpenCodeClient
    {
        var seen: [String] = []
        for (path, generation) in probes {
            let answer = try await send(place, path, [])
            if answer.status == 401 || answer.status == 403 { throw .unauthorized }
            let isJSON = answer.isOfType("application/json")
            if answer.status == 200, isJSON,
                let body = try? JSON.parse(answer.body, maxBytes: Bounds.serverAnswerBytesMax),
                let version = body["version"]?.string,
                generation == .first || !version.hasPrefix("1.")
            {
                return OpenCodeClient(
                    place: place, generation: generation, version: Console.safe(version), memory: memory)
            }
            seen.append("\(path) returned \(answer.status)\(isJSON ? "" : " without JSON")")
        }
        throw .unknownServer(seen.joined(separator: ", "))
    }

    private static let probes: [(String, Generation)] = [
        ("/api/info", .second), ("/global/health", .first), ("/api/health", .second),
    ]

    /// A request to the server.
    static func request(_ place: ServerPlace, _ path: String, _ query: [(String, String)]) -> WebRequest {
        let fields = query.map { "\($0.0)=\(WebAddress.encoded($0.1))" }
        let suffix = fields.isEmpty ? "" : "?" + fields.joined(separator: "&")
        var request = WebRequest(url: place.address.text + path + suffix, timeout: Bounds.serverDeadline)
        request.credentials = place.credentials
        request.isLocal = place.address.isLoopback
        request.answerBytesMax = Bounds.serverAnswerBytesMax
        return request
    }

    /// Posts JSON to a path.
    func post(_ path: String, _ query: [(String, String)], _ body: [UInt8]) async throws(ServerError)
        -> WebAnswer
    {
        try await Self.send(place, path, query, body)
    }

    func delete(_ path: String, _ query: [(String, String)]) async throws(ServerError) -> WebAnswer {
        try await Self.send(place, path, query, method: "DELETE")
    }

    private static func send(
        _ place: ServerPlace, _ path: String, _ query: [(String, String)], _ body: [UInt8]? = nil,
        method: String? = nil
    ) async throws(ServerError) -> WebAnswer {
        do throws(WebFailure) {
            var request = request(place, path, query)
            request.body = body
            request.method = method
            return try await WebClient.send(request)
        } catch {
            if error.kind == .answer { throw .answer(error.description) }
            throw .unreachable("\(place.address): \(error)", isTimeout: error.kind == .timeout)
        }
    }

    /// The JSON at a path.
    func get(_ path: String, _ query: [(String, String)] = []) async throws(ServerError) -> JSON.Value {
        let answer = try await Self.send(place, path, query)
        if answer.status == 401 || answer.status == 403 { throw .unauthorized }
        guard answer.status == 200 else { throw .status(answer.status) }
        let value = try? JSON.parse(
            answer.body, maxBytes: Bounds.serverAnswerBytesMax, loneSurrogates: .replaced)
        guard let value else { throw .answer("\(answer.body.count) bytes that aren't JSON") }
        return value
    }

    // MARK: Paths

    /// The path of a session in 1.x.
    func first(_ session: SessionID) -> String { "/session/\(WebAddress.encoded(session.text))" }

    /// The path of a session in 2.x.
    func second(_ session: SessionID) -> String { "/api/session/\(WebAddress.encoded(session.text))" }

    /// The query that selects an instance of 1.x.
    static func directoryQuery(_ directory: String?) -> [(String, String)] {
        directory.flatMap { $0.isEmpty ? nil : [("directory", $0)] } ?? []
    }

    /// The elements of a list, which 2.x wraps in `data`.
    static func elements(_ list: JSON.Value) -> [JSON.Value] { list["data"]?.array ?? list.array ?? [] }
}
