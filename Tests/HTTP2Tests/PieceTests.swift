import HTTP2Testing
import Network
import Testing

@testable import HTTP2

/// A tap between client and server that forwards everything and records what the client sends.
private final class Tap: ChannelHandler {
    /// The tap's side toward the server.
    private final class Upstream: ChannelHandler {
        let client: Channel
        var early: [UInt8] = []
        var isActive = false

        init(_ client: Channel) {
            self.client = client
        }

        func channelActive(_ channel: Channel) {
            isActive = true
            channel.write(early)
        }
        func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
            client.write(Array(bytes))
        }
        func channelReadEnded(_ channel: Channel) { channel.close() }
        func channelWritable(_ channel: Channel) {}
        func channelClosed(_ channel: Channel, reason: ChannelCloseReason) { client.close() }
    }

    private let server: Endpoint
    private var upstream: (handler: Upstream, channel: Channel)?
    private(set) var sent: [UInt8] = []

    init(before server: Endpoint) {
        self.server = server
    }

    func channelActive(_ channel: Channel) {
        let handler = Upstream(channel)
        upstream = (
            handler,
            Channel.connect(
                to: server, tls: nil, on: channel.loop, timeout: .seconds(5), handler: handler)
        )
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        sent += bytes
        guard let upstream else { return }
        if upstream.handler.isActive {
            upstream.channel.write(Array(bytes))
        } else {
            upstream.handler.early += bytes
        }
    }

    func channelReadEnded(_ channel: Channel) { channel.close() }
    func channelWritable(_ channel: Channel) {}
    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) { upstream?.channel.close() }

    /// The payload bytes per TLS record from an offset (RFC 8446, section 5.2), without tag and content type.
    func recordSizes(from start: Int) -> [Int] {
        var sizes: [Int] = []
        var next = start
        while next + 5 <= sent.count {
            let count = Int(sent[next + 3]) << 8 | Int(sent[next + 4])
            sizes.append(count - 17)
            next += 5 + count
        }
        return sizes
    }
}

extension ClientRecorder {
    /// The number of answered requests.
    fileprivate var responseCount: Int {
        events.count { if case .response = $0 { true } else { false } }
    }
}

@Suite("Output of one turn", .timeLimit(.minutes(2)))
struct PieceTests {
    @Test("the frames of many requests fill every TLS record except the last")
    func wholeRecords() async throws {
        let files = try CertificateFiles()
        try await withLoop { loop in
            let server = try ScriptedServer(on: loop, certificate: files)
            let tap = Tap(before: server.endpoint)
            let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
            let listener = try Listener(address, on: loop) { _ in tap }
            let recorder = ClientRecorder(on: loop)
            let connection = try HTTP2ClientConnection(limits: .forTests, handler: recorder)
            connection.connect(
                to: Endpoint(host: "127.0.0.1", port: listener.localAddress.port),
                tls: try TLSClientContext(caFile: files.certificate, alpn: ["h2"]), on: loop,
                timeout: .seconds(5))
            // A response shows that the preface and SETTINGS were sent.
            #expect(await recorder.watch.wait(on: loop) { recorder.isOpen })
            _ = try connection.submit(pushFields(0), body: [])
            #expect(await recorder.watch.wait(on: loop) { recorder.responseCount == 1 })

            let start = tap.sent.count
            for id in 1...40 {
                _ = try connection.submit(pushFields(id), body: [UInt8](repeating: 0x61, count: 1_400))
            }
            #expect(await recorder.watch.wait(on: loop) { recorder.responseCount == 41 })
            let sizes = tap.recordSizes(from: start)
            // The acknowledgement of SETTINGS may have been in flight to the tap.
            #expect(sizes.count <= 5, "\(sizes)")
            let last = sizes.suffix(4).dropLast()
            #expect(last.allSatisfy { $0 == FramePump<ClientSession>.pieceBytes }, "\(sizes)")

            connection.close()
            server.close()
            listener.close()
            #expect(await recorder.watch.wait(on: loop) { recorder.end != nil })
            #expect(await server.watch.wait(on: loop) { server.connections.isEmpty })
        }
    }
}
