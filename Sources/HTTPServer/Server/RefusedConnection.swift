import Network

/// A connection over a limit, which gets a 503 without sending a request and then closes.
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
