internal import HTTP2
internal import Network

/// One connection of a client, with its fields, its pushes by stream and the events it passes on.
///
/// Confined to the loop.
final class PoolConnection: ClientConnectionHandler {
    let index: Int
    /// Held until the connection is closed, so that no push of it is left without an outcome.
    private var client: Client?
    private var connection: HTTP2ClientConnection?
    private var fields: PushFields
    /// The place of the push that a stream slot carries; -1 for a push that was given up meanwhile.
    private var places: [Int] = []
    private(set) var isOpen = false
    var hasAnswered = false
    /// The serial of the token that it carried last.
    private(set) var tokenSerial: UInt64?
    /// The serial of the last token that the server refused on it.
    var refusedSerial: UInt64?
    /// How many pushes it took with it when it ended.
    var lostCount = 0
    /// What is said of the connection's end instead of what it reports itself.
    var isReplacedSilent = false
    /// It is replaced because the server allowed no streams.
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

    func connect(to endpoint: Endpoint, tls: TLSClientContext, on loop: EventLoop, timeout: Duration) {
        connection?.connect(to: endpoint, tls: tls, on: loop, timeout: timeout)
    }

    /// How many streams have no end yet.
    var openStreamCount: Int { connection?.openStreamCount ?? 0 }

    /// What SETTINGS allow.
    var streamLimit: Int { connection?.streamLimit ?? 0 }

    var addressText: String { connection?.remoteAddress.map { "\($0)" } ?? "" }

    /// Sends a push; its stream's slot.
    func send(_ push: Push, place: Int, token: ProviderToken) throws(HTTP2Error) -> Int {
        guard let connection else { throw .noNewStreams }
        let slot = try fields.submit(push, token: token, on: connection)
        places.set(slot, to: place)
        tokenSerial = token.serial
        return slot
    }

    /// Gives up the push on a stream, whose end still comes.
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
    /// Notes the place of the push on a stream slot.
    fileprivate mutating func set(_ slot: Int, to place: Int) {
        while count <= slot { append(-1) }
        self[slot] = place
    }

    /// Takes the place out; nil for a push that was given up.
    fileprivate mutating func take(_ slot: Int) -> Int? {
        var place = -1
        swap(&place, &self[slot])
        return place < 0 ? nil : place
    }
}
