package import Network

/// An HTTP/1.1 server on one event loop, with its own listening socket.
///
/// A process starts one per loop, all with the same address, `Service` and `ConnectionLedger`.
///
/// ```swift
/// var router = Router()
/// router.onSync(.get, "/health") { _ in
///     Response(contentType: "text/plain", body: Array("ok".utf8))
/// }
/// router.on(.post, "/echo") { request, _ in
///     Response(contentType: "application/json", body: request.body)
/// }
/// let loop = EventLoop(label: "http")
/// var options = HTTPServer.Options(address: address)
/// options.limits.bodyBytesMax = 4_096
/// let ledger = ConnectionLedger(limits: options.limits)
/// let server = try await HTTPServer.start(Service(router: router), options, ledger: ledger, on: loop)
/// ```
///
/// Call `stop(within:)` before stopping the loop.
package struct HTTPServer: Sendable {
    /// The options of a server.
    package struct Options: Sendable {
        /// The address to listen on; port 0 lets the system choose.
        package var address: SocketAddress
        /// The path of a Unix socket to listen on instead of the address.
        package var unixPath: String?
        /// Whether other servers in this process share the address (`SO_REUSEPORT`).
        package var isShared = false
        /// The TLS certificate; nil for plain TCP.
        package var tls: TLSServerContext?
        /// Creates the handlers for connections that negotiated `h2` via ALPN, which the ledger no longer counts; nil
        /// if `tls` doesn't offer `h2`.
        ///
        /// The closure is called on the loop.
        package var http2: (@Sendable () -> (any ChannelHandler)?)?
        /// Limits and timeouts.
        package var limits = Limits()
        /// Called with the error number when connections can't be accepted for lack of descriptors or memory.
        package var onExhausted: (@Sendable (Int32) -> Void)?

        /// Creates options for plain TCP with the default limits.
        package init(address: SocketAddress) {
            self.address = address
        }
    }

    /// The address, with the port that the system chose.
    package let address: SocketAddress
    private let core: LoopBound<ServerCore>

    /// Starts serving on `loop`.
    ///
    /// - Parameter ledger: Counts connections; shared by all servers in the process.
    package static func start(
        _ service: Service, _ options: Options, ledger: ConnectionLedger, on loop: EventLoop
    ) async throws(NetworkError) -> HTTPServer {
        try await loop.run { loop throws(NetworkError) in
            let core = ServerCore(on: loop, service: service, limits: options.limits, ledger: ledger)
            core.http2 = options.http2
            let address = try core.listen(
                options.address, unixPath: options.unixPath, isShared: options.isShared, tls: options.tls,
                onExhausted: options.onExhausted)
            return HTTPServer(address: address, core: LoopBound(core, on: loop))
        }
    }

    /// Stops accepting, answers requests in progress with `Connection: close`, and closes idle connections.
    ///
    /// Returns when all connections are closed and all handlers have returned. At the deadline, the remaining
    /// connections are closed and their handlers are cancelled; `stop` then waits up to
    /// `Limits.cancelledHandlersDeadline` for them.
    package func stop(within deadline: Duration) async {
        await core.loop.run { loop in
            await core.value.stop(within: deadline, isolation: loop)
        }
    }
}
