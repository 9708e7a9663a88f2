/// The place of a request in its session: small, reused only after the request's event has been handled.
///
/// The owner may use it as an index of a table of its own.
package typealias StreamSlot = Int

/// A complete response.
package struct ClientResponse: Sendable, Equatable {
    /// From 200 to 999; interim responses are not shown.
    package var status: Int
    /// The fields named in `ClientLimits.keptFields`, without `:status`.
    package var fields: HeaderFields
    /// At most `ClientLimits.bodyBytes` bytes.
    package var body: [UInt8]

    package init(status: Int, fields: HeaderFields = HeaderFields(), body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

/// Why a request has no response.
package enum StreamFailure: Hashable, Sendable {
    /// The peer certainly did nothing for it: REFUSED_STREAM, above GOAWAY's last stream, or it never left the session.
    case notProcessed(ErrorCode)
    /// The stream ended in the middle, by the peer's RST_STREAM, by ours or by a broken response.
    case reset(ErrorCode)
    /// The connection ended; the peer may have processed it.
    case connectionLost
}

/// What a client session has to tell.
package enum ClientEvent: Sendable, Equatable {
    /// A request has its response; the slot is free when the handler returns.
    case response(StreamSlot, ClientResponse)
    /// A request comes to nothing; the slot is free when the handler returns.
    case failure(StreamSlot, StreamFailure)
    /// SETTINGS came: so many streams may be open now. It can be lower than what is open, and it can be 0.
    case streamLimit(Int)
    /// GOAWAY came: open no further stream. Failures of the streams above its last one follow.
    case goAway(GoAway)
    /// The peer answered `ping` with the same value.
    case pingAcknowledged(UInt64)
}

extension ClientEvent {
    /// The request that the event settles, if it does.
    var slot: StreamSlot? {
        switch self {
        case .response(let slot, _), .failure(let slot, _): slot
        case .streamLimit, .goAway, .pingAcknowledged: nil
        }
    }
}

/// What a client takes from its server; every figure holds for one connection.
package struct ClientLimits: Sendable {
    /// The response fields that are kept, in lower case; others are read and dropped.
    package var keptFields: [StaticString] = []
    /// A response's body in bytes; what is beyond is dropped.
    package var bodyBytes = 4096
    /// SETTINGS_MAX_HEADER_LIST_SIZE, and the bound of the kept fields of one response, in bytes.
    package var headerListBytes = 8 * 1024
    /// How much of GOAWAY's debug data is kept, in bytes.
    package var debugDataBytes = 512
    /// How many bytes of all responses' bodies the server may have under way; at least 65,535.
    package var connectionWindowBytes: Int32 = 1 << 18

    /// Limits fit for responses of a few hundred bytes.
    package init() {}
}
