import HTTP2
import HTTP2Testing
import Network
import Testing

/// Keeps what a client connection says.
final class ClientRecorder: ClientConnectionHandler {
    var isOpen = false
    var events: [ClientEvent] = []
    var end: ConnectionEnd?
    var onEvent: (HTTP2ClientConnection, ClientEvent) -> Void = { _, _ in }
    let watch: Watch

    init(on loop: EventLoop) {
        watch = Watch(on: loop)
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

@Suite("HTTP/2 connections over TLS on loopback", .timeLimit(.minutes(1)))
struct ConnectionTests {
    @Test("requests are answered and the client's finish ends both sides in order")
    func roundTrip() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let server = try ScriptedServer(on: loop, certificate: files)
            let recorder = ClientRecorder(on: loop)
            let connection = try HTTP2ClientConnection(limits: .forTests, handler: recorder)
            let tls = try TLSClientContext(caFile: files.certificate, alpn: ["h2"])
            connection.connect(to: server.endpoint, tls: tls, on: loop, timeout: .seconds(5))
            #expect(await recorder.watch.wait(on: loop) { recorder.isOpen })
            for id in 0..<50 {
                _ = try connection.submit(pushFields(id), body: [UInt8](repeating: 0x61, count: 3000))
            }
            connection.finish()
            #expect(await recorder.watch.wait(on: loop) { recorder.end != nil })
            let answers = recorder.events.filter { if case .response = $0 { true } else { false } }
            #expect(answers.count == 50)
            #expect(recorder.end?.isOrderly == true)
            #expect(await server.watch.wait(on: loop) { server.ends.count == 1 })
            #expect(server.received.count == 50)
            server.close()
        }
    }
}
