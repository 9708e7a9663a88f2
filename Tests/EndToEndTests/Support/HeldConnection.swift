import Network

/// A connection that a test keeps open: it sends bytes and sees what comes back.
final class HeldConnection: Sendable {
    private let handler: LoopBound<Handler>
    private let loop: EventLoop

    private final class Handler: ChannelHandler {
        var channel: Channel?
        var received: [UInt8] = []
        var isActive = false
        var isClosed = false
        var waiters: [(isDone: () -> Bool, resume: () -> Void)] = []

        func channelActive(_ channel: Channel) {
            isActive = true
            check()
        }

        func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
            received.append(contentsOf: bytes)
            check()
        }

        func channelReadEnded(_ channel: Channel) { channel.close() }

        func channelWritable(_ channel: Channel) {}

        func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
            isClosed = true
            check()
        }

        func check() {
            let ready = waiters.filter { $0.isDone() || isClosed }
            waiters.removeAll { $0.isDone() || isClosed }
            for waiter in ready { waiter.resume() }
        }
    }

    /// Connects, and returns when the connection is established or has failed.
    init(_ client: HTTPClient) async throws {
        loop = client.loop
        handler = await client.loop.run { loop in
            let handler = Handler()
            handler.channel = Channel.connect(
                to: client.endpoint, tls: client.trusted, on: loop, timeout: HTTPClient.deadline,
                handler: handler)
            return LoopBound(handler, on: loop)
        }
        await wait { $0.isActive }
        let isActive = await loop.run { [handler] _ in handler.value.isActive }
        guard isActive else { throw HTTPClient.Failure(description: "no connection") }
    }

    /// Sends a text as it is.
    func send(_ text: String) async {
        await loop.run { [handler] _ in handler.value.channel?.write(Array(text.utf8)) }
    }

    /// Requests a path and returns the complete response's text.
    func get(_ path: String) async throws -> String {
        await loop.run { [handler] _ in handler.value.received = [] }
        await send("GET \(path) HTTP/1.1\r\nHost: relay.test\r\n\r\n")
        return await answer()
    }

    /// Waits for one complete response, or for the end of the connection.
    func answer() async -> String {
        await wait { AnswerReader.read($0.received) != nil }
        return await loop.run { [handler] _ in String(decoding: handler.value.received, as: UTF8.self) }
    }

    /// Waits until the other side has closed.
    func closed() async { await wait { $0.isClosed } }

    func close() async {
        await loop.run { [handler] _ in handler.value.channel?.close() }
        await closed()
    }

    private func wait(_ isDone: @escaping @Sendable (Handler) -> Bool) async {
        await loop.run { [handler] loop in
            let held = handler.value
            // If the awaited data never comes, the timer closes the connection, which ends the wait.
            let timer = Timer(on: loop) { [weak held] in held?.channel?.close() }
            timer.schedule(after: HTTPClient.deadline)
            await withCheckedContinuation { continuation in
                // Checked here: the connection may have run, perhaps for the last time, before this continuation.
                guard !isDone(held), !held.isClosed else { return continuation.resume() }
                held.waiters.append(({ isDone(held) }, { continuation.resume() }))
            }
            timer.cancel()
        }
    }
}
