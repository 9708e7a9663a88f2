import Glibc
import Network

/// Answers all input with the same bytes, to measure a channel without a protocol.
private final class FixedAnswer: ChannelHandler {
    static let answer = Array(
        """
        HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\
        X-Request-ID: 0123456789abcdef\r\n\r\n{"ok":true}
        """.utf8)

    func channelActive(_ channel: Channel) {}

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        channel.write(Self.answer)
    }

    func channelReadEnded(_ channel: Channel) { channel.close() }
    func channelWritable(_ channel: Channel) {}
    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {}
}

/// Serves ``FixedAnswer`` on one loop until the process is killed.
///
/// Options: `port`.
func serveFixedAnswer(_ options: Options) throws(BenchError) {
    guard let address = SocketAddress(ip: "127.0.0.1", port: try options.port()) else {
        throw .usage("--port")
    }
    let loop = EventLoop(label: "bench")
    loop.submit {
        do {
            let listener = try Listener(address, on: loop) { _ in FixedAnswer() }
            // The listener lives as long as the process.
            _ = Unmanaged.passRetained(listener)
        } catch {
            fatalError("\(error)")
        }
    }
    while true { pause() }
}
