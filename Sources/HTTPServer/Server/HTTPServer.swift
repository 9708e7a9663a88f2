package import Network

/// An HTTP/1.1 server on one event loop: its own listening socket, its own connections.
///
/// A process starts one for each loop, with one `Service` and one `ConnectionLedger` for all, on the same shared address.
package struct HTTPServer: Sendable {
    /// Where and how to serve.
    package struct Options: Sendable {
        /// Where to listen; port 0 lets the system choose.
        package var address: SocketAddress
        /// Other servers of this process listen there too (`SO_REUSEPORT`).
        package var isShared = false
        /// The certificate; nil for plain TCP.
        package var tls: TLSServerContext?
        /// Bounds and deadlines.
        package var limits = Limits()
        /// Told the error number when connections can't be accepted for want of descriptors or memory.
        package var onExhausted: (@Sendable (Int32) -> Void)?

        /// Serves plain TCP with the default limits.
        package init(address: SocketAddress) {
            self.address = address
        }
    }

    /// Where it listens, with the port that the system chose.
    package let address: SocketAddress
    private let core: LoopBound<ServerCore>

    /// Starts serving on `loop`.
    ///
    /// - Parameter ledger: counts connections; to be shared by all servers of the process.
    package static func start(
        _ service: Service, _ options: Options, ledger: ConnectionLedger, on loop: EventLoop
    ) async throws(NetworkError) -> HTTPServer {
        try await loop.run { loop throws(NetworkError) in
            let core = ServerCore(on: loop, service: service, limits: options.limits, ledger: ledger)
            let address = try core.listen(
                options.address, isShared: options.isShared, tls: options.tls,
                onExhausted: options.onExhausted)
            return HTTPServer(address: address, core: LoopBound(core, on: loop))
        }
    }

    /// Stops: accepts no more, answers what is in flight with `Connection: close`, and closes idle connections.
    ///
    /// Returns when every connection has closed and every handler has returned. At the deadline what is left is cancelled and closed;
    /// handlers that don't obey are waited for `Limits.cancelledHandlersDeadline` more.
    package func stop(within deadline: Duration) async {
        await core.loop.run { loop in
            await core.value.stop(within: deadline, isolation: loop)
        }
    }
}
