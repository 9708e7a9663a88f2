import Network

/// A connection beyond a limit, which is sent a 503 without waiting for a request and is then closed.
///
/// Confined to its loop.
final class RefusedConnection: ChannelHandler {
    private let server: ServerCore

    init(server: ServerCore) {
        self.server = server
    }

    func channelActive(_ channel: Channel) {
        server.encodeRefusal(.tooManyConnections)
        _ = server.writeOutput(to: channel)
        channel.closeAfterFlush(deadline: server.limits.lingerDeadline)
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}

    func channelReadEnded(_ channel: Channel) {}

    func channelWritable(_ channel: Channel) {}

    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        server.refusedCount -= 1
    }
}
