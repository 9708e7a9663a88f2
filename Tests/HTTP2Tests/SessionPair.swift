import HTTP2
import Testing

/// A client and a server session connected in memory, with all events recorded.
final class SessionPair {
    let client: ClientSession
    let server: ServerSession
    var clientEvents: [ClientEvent] = []
    var serverEvents: [ServerEvent] = []
    /// The maximum number of bytes transferred at once; 1 splits every frame everywhere.
    var chunk = Int.max

    init(client: ClientLimits = .forTests, server: ServerLimits = ServerLimits()) throws {
        self.client = try ClientSession(limits: client)
        self.server = try ServerSession(limits: server)
    }

    /// Transfers bytes in both directions until both sides are silent.
    func exchange() throws {
        var isBusy = true
        while isBusy {
            let toServer = try carryToServer()
            let toClient = try carryToClient()
            isBusy = toServer || toClient
        }
    }

    /// Transfers the client's output; false if there is none.
    @discardableResult
    func carryToServer() throws -> Bool {
        var output: [UInt8] = []
        try client.collectOutput(into: &output, target: .max)
        client.drainEvents { clientEvents.append($0) }
        for piece in pieces(of: output) {
            try piece.withUnsafeBytes { try server.receive($0) }
            server.drainEvents { serverEvents.append($0) }
        }
        return !output.isEmpty
    }

    /// Transfers the server's output; false if there is none.
    @discardableResult
    func carryToClient() throws -> Bool {
        var output: [UInt8] = []
        try server.collectOutput(into: &output, target: .max)
        server.drainEvents { serverEvents.append($0) }
        for piece in pieces(of: output) {
            try piece.withUnsafeBytes { try client.receive($0) }
            client.drainEvents { clientEvents.append($0) }
        }
        return !output.isEmpty
    }

    private func pieces(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: min(chunk, max(bytes.count, 1))).map {
            bytes[$0..<min($0 + min(chunk, bytes.count), bytes.count)]
        }
    }

    private var answered = 0

    /// Responds to all unanswered requests with 200 and their `apns-id`, and transfers the responses.
    func answerAll() throws {
        while answered < requests.count {
            let (stream, request) = requests[answered]
            answered += 1
            var fields = HeaderFields(status: 200)
            fields.append("apns-id", request.fields.string("apns-id") ?? "")
            server.respond(to: stream, fields)
            try exchange()
        }
    }

    /// The requests received by the server, in order.
    var requests: [(stream: StreamID, request: ServerRequest)] {
        serverEvents.compactMap {
            guard case .request(let stream, let request) = $0 else { return nil }
            return (stream, request)
        }
    }

    /// The completed requests, by slot.
    var responses: [StreamSlot: ClientResponse] {
        clientEvents.reduce(into: [:]) { result, event in
            if case .response(let slot, let response) = event { result[slot] = response }
        }
    }

    /// The failed requests, by slot.
    var failures: [StreamSlot: StreamFailure] {
        clientEvents.reduce(into: [:]) { result, event in
            if case .failure(let slot, let failure) = event { result[slot] = failure }
        }
    }
}

extension ClientLimits {
    /// Limits that allow the header fields used in the tests.
    static var forTests: ClientLimits {
        var limits = ClientLimits()
        limits.keptFields = ["apns-id", "retry-after"]
        return limits
    }
}

/// A request like a push, with `id` in it.
func pushFields(_ id: Int) -> HeaderFields {
    var fields = HeaderFields()
    fields.append(":method", "POST")
    fields.append(":scheme", "https")
    fields.append(":authority", "localhost")
    fields.append(":path", "/3/device/\(id)", indexed: false)
    fields.append("apns-id", "\(id)", indexed: false)
    return fields
}
