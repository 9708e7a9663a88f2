import COpenSSL
import Testing

@testable import Network

@Suite(.timeLimit(.minutes(1)))
struct TLSFloodTests {
    /// A hostile client's flood.
    enum Flood: CaseIterable, Sendable {
        case keyUpdates, renegotiations
    }

    @Test(
        "A client that floods the server with TLS control messages is disconnected", arguments: Flood.allCases
    )
    func hostileClient(flood: Flood) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let context = try TLSServerContext(
                certificateFile: files.certificate, keyFile: files.key, alpn: [])
            let server = Recorder()
            let (listener, endpoint) = try ChannelTests.listen(on: loop, tls: context) { _ in server }
            let version = flood == .keyUpdates ? TLS1_3_VERSION : TLS1_2_VERSION
            let peer = TLSPeer(version: version) { peer in
                switch flood {
                case .keyUpdates:
                    peer.renewKeys(2_000)
                    peer.send([0x78], recordBytes: 1)
                case .renegotiations: peer.renegotiate(2_000)
                }
            }
            let channel = Channel.connect(
                to: endpoint, tls: nil, on: loop, timeout: .seconds(5), handler: peer)
            let seen = await server.wait(on: loop) { $0.closed != nil || !$0.bytes.isEmpty }
            #expect(seen.bytes.isEmpty, "the whole flood was read")
            #expect(seen.closed == .tls("too many control messages"))
            channel.close()
            listener.close()
        }
    }

    /// A hostile server's flood.
    enum ServerFlood: CaseIterable, Sendable {
        case keyUpdates, tickets
    }

    @Test(
        "A server that floods the client with TLS control messages is disconnected",
        arguments: ServerFlood.allCases)
    func hostileServer(flood: ServerFlood) async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let peer = TLSPeer(serverFiles: files) { peer in
                switch flood {
                case .keyUpdates: peer.renewKeys(2_000)
                case .tickets: peer.issueTickets(2_000)
                }
                peer.send([0x78], recordBytes: 1)
            }
            let (listener, endpoint) = try ChannelTests.listen(on: loop) { _ in peer }
            let client = Recorder()
            let trusted = try TLSClientContext(caFile: files.certificate, alpn: [])
            let host = Endpoint(host: "localhost", port: endpoint.port)
            let channel = Channel.connect(
                to: host, tls: trusted, on: loop, timeout: .seconds(5), handler: client)
            let seen = await client.wait(on: loop) { $0.closed != nil || !$0.bytes.isEmpty }
            #expect(seen.bytes.isEmpty, "the whole flood was read")
            #expect(seen.closed == .tls("too many control messages"))
            channel.close()
            listener.close()
        }
    }

    @Test("A peer may update its keys as long as data flows")
    func honestControlMessages() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let context = try TLSServerContext(
                certificateFile: files.certificate, keyFile: files.key, alpn: [])
            let server = Recorder()
            let (listener, endpoint) = try ChannelTests.listen(on: loop, tls: context) { _ in server }
            let rounds = 200
            let piece = [UInt8](repeating: 7, count: 256 * 1024)
            let peer = TLSPeer { peer in
                for _ in 0..<rounds {
                    peer.renewKeys(1)
                    peer.send(piece, recordBytes: 16_384)
                }
            }
            let channel = Channel.connect(
                to: endpoint, tls: nil, on: loop, timeout: .seconds(5), handler: peer)
            let total = rounds * piece.count
            let seen = await server.wait(on: loop) { $0.closed != nil || $0.bytes.count == total }
            #expect(seen.closed == nil)
            #expect(seen.bytes.count == total)
            channel.close()
            listener.close()
        }
    }

    @Test("The server caches no sessions, even of clients that don't support tickets")
    func noSessionCache() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let context = try TLSServerContext(
                certificateFile: files.certificate, keyFile: files.key, alpn: [])
            let server = Recorder()
            let (listener, endpoint) = try ChannelTests.listen(on: loop, tls: context) { _ in server }
            let peer = TLSPeer(version: TLS1_2_VERSION, tickets: false) { $0.send([0x78], recordBytes: 1) }
            let channel = Channel.connect(
                to: endpoint, tls: nil, on: loop, timeout: .seconds(5), handler: peer)
            _ = await server.wait(on: loop) { $0.closed != nil || !$0.bytes.isEmpty }
            #expect(SSL_CTX_ctrl(context.current.context, SSL_CTRL_SESS_NUMBER, 0, nil) == 0)
            channel.close()
            listener.close()
        }
    }

    @Test("TLS 1.2 is offered with authenticated encryption only")
    func ciphers() throws {
        let files = try CertificateFiles()
        let context = try TLSServerContext(
            certificateFile: files.certificate, keyFile: files.key, alpn: [])
        let ciphers = SSL_CTX_get_ciphers(context.current.context)
        let names = (0..<OPENSSL_sk_num(ciphers)).map {
            String(cString: SSL_CIPHER_get_name(OpaquePointer(OPENSSL_sk_value(ciphers, $0))))
        }
        #expect(names.contains("ECDHE-ECDSA-AES128-GCM-SHA256"))
        #expect(names.allSatisfy { $0.contains("GCM") || $0.contains("CHACHA20") }, "\(names)")
    }

    @Test("A peer that sends one byte per record has a bounded number of records read per turn")
    func tinyRecords() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let context = try TLSServerContext(
                certificateFile: files.certificate, keyFile: files.key, alpn: [])
            let server = Recorder()
            var inTurn = 0
            var inTurnMax = 0
            server.onBytes = { _, bytes in
                if inTurn == 0 { loop.atTurnEnd { inTurn = 0 } }
                inTurn += bytes.count
                inTurnMax = max(inTurnMax, inTurn)
            }
            let (listener, endpoint) = try ChannelTests.listen(on: loop, tls: context) { _ in server }
            let sent = [UInt8](repeating: 7, count: 5_000)
            let peer = TLSPeer { $0.send(sent, recordBytes: 1) }
            let channel = Channel.connect(
                to: endpoint, tls: nil, on: loop, timeout: .seconds(5), handler: peer)
            let seen = await server.wait(on: loop) { $0.closed != nil || $0.bytes.count == sent.count }
            #expect(seen.bytes.count == sent.count)
            // 64 at the read event, and 64 more after the other channels' events.
            #expect(inTurnMax <= 128, "\(inTurnMax) records in one turn")
            channel.close()
            listener.close()
        }
    }
}
