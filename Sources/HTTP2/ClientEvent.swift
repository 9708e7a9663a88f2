/// The index of a request in its session, a small number that is reused only after the request's event has been
/// handled.
///
/// The owner may use it as an index into its own table.
package typealias StreamSlot = Int

/// A complete response.
package struct ClientResponse: Sendable, Equatable {
    /// The status, from 200 to 999; interim responses are skipped.
    package var status: Int
    /// The fields named in `ClientLimits.keptFields`, without `:status`.
    package var fields: HeaderFields
    /// The body, at most `ClientLimits.bodyBytes` bytes.
    package var body: [UInt8]

    package init(status: Int, fields: HeaderFields = HeaderFields(), body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

/// Why a request got no response.
package enum StreamFailure: Hashable, Sendable {
    /// The peer did not process it: REFUSED_STREAM, above GOAWAY's last stream, or never sent.
    case notProcessed(ErrorCode)
    /// The stream was reset by the peer, by this side or because of an invalid response.
    case reset(ErrorCode)
    /// The connection ended; the peer may have processed the request.
    case connectionLost
}

/// The events of a client session.
package enum ClientEvent: Sendable, Equatable {
    /// A request got its response; its slot is freed when the handler returns.
    case response(StreamSlot, ClientResponse)
    /// A request failed; its slot is freed when the handler returns.
    case failure(StreamSlot, StreamFailure)
    /// The server's stream limit changed; it can be below the number of open streams, even 0.
    case streamLimit(Int)
    /// GOAWAY was received: open no more streams. Failures follow for the streams above its last stream.
    case goAway(GoAway)
    /// The peer acknowledged a `ping` with the same value.
    case pingAcknowledged(UInt64)
}

extension ClientEvent {
    /// The request that the event completes, if any.
    var slot: StreamSlot? {
        switch self {
        case .response(let slot, _), .failure(let slot, _): slot
        case .streamLimit, .goAway, .pingAcknowledged: nil
        }
    }
}

/// The limits of a client session, per connection.
package struct ClientLimits: Sendable {
    /// The response fields to keep, in lower case; others are dropped.
    package var keptFields: [StaticString] = []
    /// The maximum size of a response's body in bytes; a longer response is cut off there.
    package var bodyBytes = 4096
    /// SETTINGS_MAX_HEADER_LIST_SIZE, and the limit on the kept fields of one response, in bytes.
    package var headerListBytes = 8 * 1024
    /// The maximum size of GOAWAY's debug data in bytes; the rest is dropped.
    package var debugDataBytes = 512
    /// The connection's flow-control window in bytes; at least 65,535.
    package var connectionWindowBytes: Int32 = 1 << 18

    /// Creates limits suited to responses of a few hundred bytes.
    package init() {}
}
