import HTTP2
import HTTP2Testing
import Network
import Testing

/// Records the events of a client connection.
final class ClientRecorder: ClientConnectionHandler {
    var isOpen = false
    var events: [ClientEvent] = []
    var end: ConnectionEnd?
    var onEvent: (HTTP2ClientConnection, ClientEvent) -> Void = { _, _ in }
    let watch: Watch

    init(on loop: EventLoop) {
        watch = Watch(on: loop)
    }

    var responses: [StreamSlot: ClientResponse] {
        events.reduce(into: [:]) { result, event in
            if case .response(let slot, let response) = event { result[slot] = response }
        }
    }

    var failures: [Int: StreamFailure] {
        events.enumerated().reduce(into: [:]) { result, event in
            if case .failure(_, let failure) = event.element { result[event.offset] = failure }
        }
    }

    func connectionOpened(_ connection: HTTP2ClientConnection) {
        isOpen = true
        watch.changed()
    }

    func connection(_ connection: HTTP2ClientConnection, event: ClientEvent) {
        events.append(event)
        onEvent(connection, event)
        watch.changed()
    }

    func connectionClosed(_ connection: HTTP2ClientConnection, end: ConnectionEnd) {
        self.end = end
        watch.changed()
    }
}

/// A server that answers a TLS connection with given bytes.
private final class RawServer: ChannelHandler {
    private let answer: [UInt8]
    private let isLast: Bool

    init(answer: [UInt8], isLast: Bool) {
        self.answer = answer
        self.isLast = isLast
    }

    func channelActive(_ channel: Channel) {
        channel.write(answer)
        if isLast { channel.closeAfterFlush(deadline: .seconds(2)) }
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}
    func channelReadEnded(_ channel: Channel) { channel.close() }
    func channelWritable(_ channel: Channel) {}
    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {}
}

@Suite("HTTP/2 connections over TLS on loopback", .timeLimit(.minutes(5)))
struct ConnectionTests {
    /// Runs `body` with a server and an open client connection to it.
    private static func connected(
        limits: ServerLimits = ServerLimits(), client: ClientLimits = .forTests,
        _ body:
            @Sendable (isolated EventLoop, ScriptedServer, HTTP2ClientConnection, ClientRecorder) async throws
            -> Void
    ) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let server = try ScriptedServer(on: loop, certificate: files, limits: { limits })
            let recorder = ClientRecorder(on: loop)
            let connection = try HTTP2ClientConnection(limits: client, handler: recorder)
            let tls = try TLSClientContext(caFile: files.certificate, alpn: ["h2"])
            connection.connect(to: server.endpoint, tls: tls, on: loop, timeout: .seconds(5))
            #expect(await recorder.watch.wait(on: loop) { recorder.isOpen })
            try await body(loop, server, connection, recorder)
            connection.close()
            server.close()
            #expect(await recorder.watch.wait(on: loop) { recorder.end != nil })
            #expect(await server.watch.wait(on: loop) { server.connections.isEmpty })
        }
    }

    @Test("requests are answered, and the client's finish closes both sides in order")
    func roundTrip() async throws {
        try await Self.connected { loop, server, connection, recorder in
            for id in 0..<50 {
                _ = try connection.submit(pushFields(id), body: [UInt8](repeating: 0x61, count: 3000))
            }
            connection.finish()
            #expect(await recorder.watch.wait(on: loop) { recorder.end != nil })
            #expect(recorder.responses.count == 50)
            #expect(recorder.end?.isOrderly == true)
            #expect(await server.watch.wait(on: loop) { server.ends.count == 1 })
            #expect(server.ends.first?.isOrderly == true)
            #expect(server.received.count == 50)
        }
    }

    @Test("requests fail if their connection closes in the same turn; possibly received ones as lost")
    func closedAtOnce() async throws {
        try await Self.connected { loop, server, connection, recorder in
            // Nothing is unread here, so closing doesn't reset the connection: the server receives what was sent.
            _ = try connection.submit(pushFields(0), body: [])
            #expect(await recorder.watch.wait(on: loop) { recorder.responses.count == 1 })
            for id in 1...40 {
                _ = try connection.submit(pushFields(id), body: [UInt8](repeating: 0x61, count: 1_400))
            }
            connection.close()
            #expect(await recorder.watch.wait(on: loop) { recorder.end != nil })
            #expect(await server.watch.wait(on: loop) { server.ends.count == 1 })
            let arrived = server.received.count - 1
            let lost = recorder.failures.values.count { $0 == .connectionLost }
            #expect(arrived > 0 && arrived <= lost, "\(arrived) arrived, \(lost) were told to be lost")
            #expect(recorder.failures.count == 40)
        }
    }

    @Test("several large bodies are transferred at once in both directions with backpressure")
    func bulk() async throws {
        var limits = ServerLimits()
        limits.bodyBytes = 1_000_000
        var clientLimits = ClientLimits.forTests
        clientLimits.bodyBytes = 1_000_000
        try await Self.connected(limits: limits, client: clientLimits) { loop, server, connection, recorder in
            server.onRequest = {
                $0.connection.respond(to: $0.stream, HeaderFields(status: 200), body: $0.request.body)
            }
            let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 13) }
            for id in 0..<4 { _ = try connection.submit(pushFields(id), body: body) }
            #expect(await recorder.watch.wait(on: loop) { recorder.responses.count == 4 })
            #expect(recorder.responses.values.allSatisfy { $0.body == body })
        }
    }

    @Test("a server that reads nothing gets no more than its window; the rest was not sent")
    func heldBack() async throws {
        var limits = ServerLimits()
        limits.concurrentStreams = 10_000
        limits.connectionWindowBytes = 1 << 30
        limits.streamWindowBytes = 1 << 24
        try await Self.connected(limits: limits) { loop, server, connection, recorder in
            #expect(await recorder.watch.wait(on: loop) { recorder.events.contains(.streamLimit(10_000)) })
            _ = try connection.submit(pushFields(0), body: [1])
            #expect(await recorder.watch.wait(on: loop) { recorder.responses.count == 1 })
            server.connections.first?.stall()
            let body = [UInt8](repeating: 0x61, count: 16_000)
            for id in 1..<1000 { _ = try connection.submit(pushFields(id), body: body) }
            loop.atTurnEnd { connection.close() }
            #expect(await recorder.watch.wait(on: loop) { recorder.end != nil })
            let lost = recorder.failures.values.count { $0 == .connectionLost }
            let unsent = recorder.failures.values.count { $0 == .notProcessed(.cancel) }
            #expect(lost + unsent == 999)
            #expect(lost > 0 && unsent > 500, "\(lost) may have been sent")
        }
    }

    @Test("when the server closes the connection, every request fails and then the connection ends")
    func cut() async throws {
        try await Self.connected { loop, server, connection, recorder in
            server.onRequest = { if server.received.count == 5 { $0.connection.close() } }
            for id in 0..<5 { _ = try connection.submit(pushFields(id), body: [1]) }
            #expect(await recorder.watch.wait(on: loop) { recorder.end != nil })
            #expect(recorder.failures.count == 5)
            #expect(recorder.failures.values.allSatisfy { $0 == .connectionLost })
            #expect(throws: HTTP2Error.noNewStreams) { try connection.submit(pushFields(9), body: []) }
        }
    }

    @Test("a server's shutDown serves received requests and closes the rest at the deadline")
    func shutDown() async throws {
        try await Self.connected { loop, server, connection, recorder in
            var held: [ScriptedServer.Incoming] = []
            server.onRequest = { if $0.id == "0" { $0.answer() } else { held.append($0) } }
            for id in 0..<2 { _ = try connection.submit(pushFields(id), body: [1]) }
            #expect(await server.watch.wait(on: loop) { held.count == 1 })
            held.first?.connection.shutDown(deadline: .seconds(2))
            #expect(await recorder.watch.wait(on: loop) { recorder.end != nil })
            #expect(recorder.responses.count == 1)
            #expect(recorder.failures.count == 1)
            let goAways = recorder.events.compactMap { event -> GoAway? in
                if case .goAway(let goAway) = event { goAway } else { nil }
            }
            #expect(goAways.map(\.code) == [.noError, .noError])
            #expect(goAways.map(\.lastStreamID) == [.max, 3])
        }
    }

    @Test(
        "a server that violates the protocol or disconnects ends the connection",
        arguments: [true, false])
    func brokenServer(isGarbage: Bool) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            var options = Listener.Options()
            options.tls = try TLSServerContext(
                certificateFile: files.certificate, keyFile: files.key, alpn: ["h2"])
            let answer: [UInt8] =
                isGarbage ? Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8) : [0, 0, 6, 4, 0, 0]
            let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
            let listener = try Listener(address, on: loop, options: options) { _ in
                RawServer(answer: answer, isLast: !isGarbage)
            }
            let recorder = ClientRecorder(on: loop)
            let connection = try HTTP2ClientConnection(limits: .forTests, handler: recorder)
            connection.connect(
                to: Endpoint(host: "127.0.0.1", port: listener.localAddress.port),
                tls: try TLSClientContext(caFile: files.certificate, alpn: ["h2"]), on: loop,
                timeout: .seconds(5))
            #expect(await recorder.watch.wait(on: loop) { recorder.end != nil })
            #expect(recorder.events.isEmpty)
            if isGarbage {
                guard case .protocolFailure = recorder.end else {
                    Issue.record("\(String(describing: recorder.end))")
                    return
                }
            } else {
                #expect(recorder.end == .channel(.peer))
            }
            listener.close()
        }
    }
}
