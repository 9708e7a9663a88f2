internal import HTTP2
internal import Network

/// One connection of a client, with its header fields and its pushes by stream; forwards its events to the client.
///
/// Confined to the loop.
final class PoolConnection: ClientConnectionHandler {
    let index: Int
    /// Retained until the connection closes, so that each of its pushes gets an outcome.
    private var client: Client?
    private var connection: HTTP2ClientConnection?
    private var fields: PushFields
    /// For each stream slot, the place of its push in the client's table; -1 for a cancelled push.
    private var places: [Int] = []
    private(set) var isOpen = false
    var hasAnswered = false
    /// The serial of the token sent last.
    private(set) var tokenSerial: UInt64?
    /// The serial of the last token refused on this connection.
    var refusedSerial: UInt64?
    /// The number of pushes without a response when the connection ended.
    var lostCount = 0
    /// Whether to report the connection as silent, whatever reason it reports for its end.
    var isReplacedSilent = false
    /// Whether the connection is being replaced because the server allowed no streams.
    var hasNoStreams = false

    init(index: Int, client: Client, authority: String) throws(HTTP2Error) {
        self.index = index
        self.client = client
        fields = PushFields(authority: authority)
        var limits = ClientLimits()
        limits.keptFields = ["apns-id", "apns-unique-id", "retry-after"]
        if client.settings.keepsDate { limits.keptFields.append("date") }
        limits.bodyBytes = Answer.bodyBytesMax
        connection = try HTTP2ClientConnection(limits: limits, handler: self)
    }

    func connect(
        to endpoint: Endpoint, through proxy: ConnectProxy?, tls: TLSClientContext, on loop: EventLoop,
        timeout: Duration
    ) {
        connection?.connect(to: endpoint, through: proxy, tls: tls, on: loop, timeout: timeout)
    }

    var openStreamCount: Int { connection?.openStreamCount ?? 0 }

    /// The server's stream limit.
    var streamLimit: Int { connection?.streamLimit ?? 0 }

    var addressText: String { connection?.remoteAddress.map { "\($0)" } ?? "" }

    /// Sends a push and returns its stream's slot.
    func send(_ push: Push, place: Int, token: ProviderToken) throws(HTTP2Error) -> Int {
        guard let connection else { throw .noNewStreams }
        let slot = try fields.submit(push, token: token, on: connection)
        places.set(slot, to: place)
        tokenSerial = token.serial
        return slot
    }

    /// Cancels the push on a stream; the stream's end is still reported.
    func cancel(_ slot: Int) {
        _ = places.take(slot)
        connection?.cancel(slot)
    }

    func ping() {
        connection?.ping(0)
    }

    func finish() {
        connection?.finish()
    }

    func close() {
        connection?.close()
    }

    // MARK: ClientConnectionHandler

    func connectionOpened(_ connection: HTTP2ClientConnection) {
        isOpen = true
        client?.opened(self)
    }

    func connection(_ connection: HTTP2ClientConnection, event: ClientEvent) {
        switch event {
        case .response(let slot, let response): client?.answered(self, place: take(slot), response)
        case .failure(let slot, let failure): client?.failed(self, place: take(slot), failure)
        case .streamLimit(let limit): client?.limitChanged(self, to: limit)
        case .goAway(let goAway): client?.wentAway(self, goAway)
        case .pingAcknowledged: client?.ponged(self)
        }
    }

    func connectionClosed(_ connection: HTTP2ClientConnection, end: ConnectionEnd) {
        client?.closed(self, end: end)
        self.connection = nil
        client = nil
    }

    private func take(_ slot: Int) -> Int? {
        places.take(slot)
    }
}

extension [Int] {
    /// Sets the place of the push in a stream slot.
    fileprivate mutating func set(_ slot: Int, to place: Int) {
        while count <= slot { append(-1) }
        self[slot] = place
    }

    /// Removes and returns the place; nil for a cancelled push.
    fileprivate mutating func take(_ slot: Int) -> Int? {
        var place = -1
        swap(&place, &self[slot])
        return place < 0 ? nil : place
    }
}
