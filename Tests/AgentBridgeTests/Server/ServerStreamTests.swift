import Foundation
import Glibc
import Network
import Programs
import Testing

@testable import AgentBridge

/// A server that answers its only connection with some bytes and then closes it or goes silent.
private final class OneAnswer: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init(_ answer: String, closes: Bool) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, .init(__sockaddr__: $0), size) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, .init(__sockaddr__: $0), &size) == 0
            }
        }
        try #require(isListening)
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            let connection = accept(listener, .init(), nil)
            guard connection >= 0 else { return }
            var request = [UInt8](repeating: 0, count: 4096)
            _ = read(connection, &request, request.count)
            try? SmallFile.write(Array(answer.utf8), to: connection)
            // Returns when the client has given up.
            if !closes { _ = read(connection, &request, request.count) }
            close(connection)
        }
    }

    deinit { close(descriptor) }
}

@Suite("Reading a stream", .timeLimit(.minutes(2)))
struct ServerStreamTests {
    private static let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

    private func read(_ answer: String, closes: Bool) async throws -> (
        Result<ServerStream.End, ServerError>, Int
    ) {
        let server = try OneAnswer(answer, closes: closes)
        let place = ServerPlace(
            address: try WebAddress("http://127.0.0.1:\(server.port)"), credentials: nil, origin: .setting)
        let client = OpenCodeClient(
            place: place, generation: .second, version: "2", memory: ServerMemory())
        let signals = Lock(0)
        let stream = ServerStream(client: client, silenceLimit: .seconds(5)) { _ in
            signals.withLock { $0 += 1 }
            return true
        } connected: {
        }
        let result: Result<ServerStream.End, ServerError>
        do throws(ServerError) {
            result = .success(try await stream.run())
        } catch {
            result = .failure(error)
        }
        return (result, signals.withLock { $0 })
    }

    private static let started =
        #"data: {"type":"session.execution.started","data":{"sessionID":"ses_1"}}"# + "\n\n"

    @Test("a stream that is silent for too long ends")
    func silence() async throws {
        let (end, signals) = try await read(Self.head + Self.started, closes: false)
        #expect(end == .success(.silent))
        #expect(signals == 1)
    }

    @Test("a stream that the server closes ends; an incomplete event is dropped")
    func closed() async throws {
        let (end, signals) = try await read(Self.head + Self.started + "data: {", closes: true)
        #expect(end == .success(.closed("the server ended it")))
        #expect(signals == 1)
    }

    @Test("a response that isn't a stream is a fault")
    func faults() async throws {
        let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\n<>"
        #expect(try await read(page, closes: true).0 == .failure(.answer("no event stream")))
        let locked = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
        #expect(try await read(locked, closes: true).0 == .failure(.unauthorized))
        let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        #expect(try await read(missing, closes: true).0 == .failure(.status(404)))
    }
}
