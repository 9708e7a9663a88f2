package import HTTP2
package import Network

/// An HTTP/2 server over TLS on 127.0.0.1 that handles each request as a test says, and counts requests.
///
/// Confined to the loop.
package final class ScriptedServer: ServerConnectionHandler {
    /// A request and where it arrived.
    package struct Incoming {
        package let connection: HTTP2ServerConnection
        package let stream: StreamID
        package let request: ServerRequest
        /// The index of its connection in the order of arrival, from 0.
        package let connectionIndex: Int
        fileprivate let server: ScriptedServer

        /// The request's `apns-id`.
        package var id: String { request.fields.string("apns-id") ?? "" }

        /// Responds with 200, or with `status` and a reason in APNs' format.
        package func answer(_ status: Int = 200, reason: String? = nil) {
            server.handled[id, default: 0] += 1
            var fields = HeaderFields(status: status)
            fields.append("apns-id", id)
            let body = reason.map { Array("{\"reason\":\"\($0)\"}".utf8) } ?? []
            connection.respond(to: stream, fields, body: body)
        }

        /// Counts the request as handled but never responds.
        package func swallow() {
            server.handled[id, default: 0] += 1
        }

        /// Refuses the request without having handled it.
        package func refuse() {
            connection.reset(stream, .refusedStream)
        }
    }

    private let loop: EventLoop
    private var listener: Listener?
    private let limits: () -> ServerLimits
    private var indices: [ObjectIdentifier: Int] = [:]

    /// The address on which the server listens.
    package private(set) var endpoint: Endpoint
    /// The open connections, oldest first.
    package private(set) var connections: [HTTP2ServerConnection] = []
    /// The number of accepted connections.
    package private(set) var acceptedCount = 0
    /// The connections that have ended, and how.
    package private(set) var ends: [ConnectionEnd] = []
    /// How often each `apns-id` arrived.
    package private(set) var received: [String: Int] = [:]
    /// How often each `apns-id` was handled as a push, answered or not: never twice.
    package fileprivate(set) var handled: [String: Int] = [:]
    /// Handles a request; responds with 200 unless set.
    package var onRequest: (Incoming) -> Void = { $0.answer() }
    /// Handles a new connection.
    package var onConnection: (HTTP2ServerConnection) -> Void = { _ in }
    /// Handles all other events on connections.
    package var onEvent: (HTTP2ServerConnection, ServerEvent) -> Void = { _, _ in }
    /// Notified after every event.
    package let watch: Watch

    /// Starts listening on a free port.
    package init(
        on loop: EventLoop, certificate: CertificateFiles,
        limits: @escaping () -> ServerLimits = { ServerLimits() },
        alpn: [String] = ["h2"]
    ) throws {
        self.loop = loop
        self.limits = limits
        watch = Watch(on: loop)
        endpoint = Endpoint(host: "127.0.0.1", port: 0)
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else {
            throw SetupFailure("no loopback address")
        }
        var options = Listener.Options()
        options.tls = try TLSServerContext(
            certificateFile: certificate.certificate, keyFile: certificate.key, alpn: alpn)
        let listener = try Listener(address, on: loop, options: options) { [weak self] _ in
            guard let self else { return nil }
            return try? HTTP2ServerConnection(limits: self.limits(), handler: self)
        }
        self.listener = listener
        endpoint = Endpoint(host: "127.0.0.1", port: listener.localAddress.port)
    }

    /// Stops listening and closes every connection.
    package func close() {
        listener?.close()
        listener = nil
        for connection in connections { connection.close() }
    }

    /// Stops listening; connections stay open.
    package func stopListening() {
        listener?.close()
        listener = nil
    }

    package func connectionOpened(_ connection: HTTP2ServerConnection) {
        indices[ObjectIdentifier(connection)] = acceptedCount
        acceptedCount += 1
        connections.append(connection)
        onConnection(connection)
        watch.changed()
    }

    package func connection(_ connection: HTTP2ServerConnection, event: ServerEvent) {
        if case .request(let stream, let request) = event {
            let index = indices[ObjectIdentifier(connection)] ?? -1
            let incoming = Incoming(
                connection: connection, stream: stream, request: request, connectionIndex: index,
                server: self)
            received[incoming.id, default: 0] += 1
            onRequest(incoming)
        } else {
            onEvent(connection, event)
        }
        watch.changed()
    }

    package func connectionClosed(_ connection: HTTP2ServerConnection, end: ConnectionEnd) {
        connections.removeAll { $0 === connection }
        indices[ObjectIdentifier(connection)] = nil
        ends.append(end)
        watch.changed()
    }
}
