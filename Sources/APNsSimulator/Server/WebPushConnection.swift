import HTTP2
import HTTPServer
import Network

/// The open HTTP/2 connections to the Web Push services.
///
/// Confined to its loop.
final class WebPushConnections {
    private let desk: WebPushDesk
    private var open: [ObjectIdentifier: WebPushConnection] = [:]

    init(_ desk: WebPushDesk) { self.desk = desk }

    /// The handler for a new connection; `nil` if there is no memory for it.
    func makeHandler() -> (any ChannelHandler)? {
        try? HTTP2ServerConnection(
            limits: PushServer.limits, handler: WebPushConnection(desk, among: self))
    }

    /// Closes all connections; returns the tasks that this cancels.
    func close() -> [Task<Void, Never>] { open.values.flatMap { $0.close() } }

    fileprivate func opened(_ connection: WebPushConnection) {
        open[ObjectIdentifier(connection)] = connection
    }

    fileprivate func closed(_ connection: WebPushConnection) { open[ObjectIdentifier(connection)] = nil }
}

/// One client's HTTP/2 connection to the Web Push services.
///
/// Confined to its loop.
private final class WebPushConnection: ServerConnectionHandler {
    private let desk: WebPushDesk
    private let all: WebPushConnections
    private var connection: HTTP2ServerConnection?
    /// The tasks for requests that have had no reaction yet.
    private var tasks: [StreamID: Task<Void, Never>] = [:]

    init(_ desk: WebPushDesk, among all: WebPushConnections) {
        self.desk = desk
        self.all = all
    }

    func close() -> [Task<Void, Never>] {
        let running = Array(tasks.values)
        for task in running { task.cancel() }
        connection?.close()
        return running
    }

    func connectionOpened(_ connection: HTTP2ServerConnection) {
        self.connection = connection
        all.opened(self)
    }

    func connection(_ connection: HTTP2ServerConnection, event: ServerEvent) {
        switch event {
        case .request(let stream, let request): receive(Request(request), on: stream)
        case .aborted(let stream, _): tasks[stream]?.cancel()
        case .settingsAcknowledged, .pingAcknowledged, .goAway: break
        }
    }

    func connectionClosed(_ connection: HTTP2ServerConnection, end: ConnectionEnd) {
        for task in tasks.values { task.cancel() }
        self.connection = nil
        all.closed(self)
    }

    private func receive(_ request: Request, on stream: StreamID) {
        guard let loop = connection?.channel?.loop else { return }
        nonisolated(unsafe) let handler = self  // why: confined to the loop that runs the task
        let desk = desk
        tasks[stream] = loop.spawn { loop in
            let reaction = await desk.react(to: request, stream: stream, on: loop)
            unsafe handler.carryOut(reaction, on: stream)
        }
    }

    private func carryOut(_ reaction: WebPushDesk.Reaction, on stream: StreamID) {
        let isCancelled = tasks.removeValue(forKey: stream)?.isCancelled ?? true
        guard !isCancelled else { return }
        switch reaction {
        case .respond(let response):
            var fields = HeaderFields(status: response.status.rawValue)
            for (name, value) in response.headers.pairs {
                fields.append(name: name.lowercased(), value: value)
            }
            connection?.respond(to: stream, fields, body: response.body)
        case .reset(let code): connection?.reset(stream, code)
        case .close: connection?.close()
        }
    }
}

extension Request {
    /// Converts a request to its HTTP/1.1 form.
    fileprivate init(_ request: ServerRequest) {
        var fields = request.fields.strings.map { (name: $0.name, value: $0.value) }
        func take(_ name: String) -> String {
            defer { fields.removeAll { $0.name == name } }
            return fields.first { $0.name == name }?.value ?? ""
        }
        let (method, path, authority) = (take(":method"), take(":path"), take(":authority"))
        fields.removeAll { $0.name.hasPrefix(":") }
        if !authority.isEmpty { fields.insert(("host", authority), at: 0) }
        self.init(method: Method(method), target: path, headers: fields, body: request.body)
    }
}
