import HTTP2
import Testing

/// The example in the module's documentation, line by line.
@Suite("Example of HTTP2", .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a session sends a request and receives its response")
    func session() throws {
        let server = try ServerSession()
        func exchange(_ bytes: [UInt8]) throws -> [UInt8] {
            try bytes.withUnsafeBytes { try server.receive($0) }
            server.drainEvents { event in
                guard case .request(let stream, _) = event else { return }
                server.respond(to: stream, HeaderFields(status: 204))
            }
            var answer: [UInt8] = []
            try server.collectOutput(into: &answer, target: .max)
            return answer
        }

        let session = try ClientSession()
        var fields = HeaderFields()
        fields.append(":method", "GET")
        fields.append(":scheme", "https")
        fields.append(":authority", "example.com")
        fields.append(":path", "/")
        let slot = try session.submit(fields, body: [])

        var output: [UInt8] = []
        try session.collectOutput(into: &output, target: 16_384)
        let input = try exchange(output)
        try input.withUnsafeBytes { try session.receive($0) }
        var status: Int?
        session.drainEvents { event in
            switch event {
            case .response(slot, let response): status = response.status
            case .failure(slot, let failure): print("no response: \(failure)")
            default: break
            }
        }

        #expect(status == 204)
    }
}
