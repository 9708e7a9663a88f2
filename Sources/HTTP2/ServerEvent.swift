/// The number of a stream on its connection; odd where a client opened it (RFC 9113, section 5.1.1).
package struct StreamID: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static func < (left: StreamID, right: StreamID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A request as it came in: bounded, complete unless it says otherwise.
package struct ServerRequest: Sendable, Equatable {
    /// Every field in order, `:method`, `:path`, `:scheme` and `:authority` among them.
    package var fields: HeaderFields
    /// At most `ServerLimits.bodyBytes` bytes.
    package var body: [UInt8]
    /// False where the body went over the limit: `body` is its beginning and the rest is thrown away.
    package var isBodyComplete: Bool

    package init(fields: HeaderFields, body: [UInt8] = [], isBodyComplete: Bool = true) {
        self.fields = fields
        self.body = body
        self.isBodyComplete = isBodyComplete
    }
}

/// What a server session has to tell.
package enum ServerEvent: Sendable, Equatable {
    /// A request is there and waits for `respond` or `reset`.
    case request(StreamID, ServerRequest)
    /// A stream ended before its response was out: the client gave it up, or it was reset here.
    case aborted(StreamID, ErrorCode)
    /// The client has taken note of our newest SETTINGS, for instance of a lower stream limit.
    case settingsAcknowledged
    /// The client answered `ping` with the same value.
    case pingAcknowledged(UInt64)
    /// The client leaves.
    case goAway(GoAway)
}

/// What a server lets one client do; every figure holds for one connection.
package struct ServerLimits: Sendable, Equatable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS at the beginning; streams above it are refused.
    package var concurrentStreams: UInt32 = 1000
    /// SETTINGS_MAX_HEADER_LIST_SIZE in bytes; a longer list is answered with 431.
    package var headerListBytes = 16 * 1024
    /// A request's body in bytes; what is beyond is thrown away and the request says so.
    package var bodyBytes = 64 * 1024
    /// How many bytes of all bodies the client may have under way (RFC 9113, section 6.9); at least 65,535.
    package var connectionWindowBytes: Int32 = 1 << 20
    /// How many bytes of one body the client may have under way.
    package var streamWindowBytes: UInt32 = 65_535
    /// RST_STREAM frames taken at once before the connection is ended (rapid reset, CVE-2023-44487).
    package var resetBurst: UInt64 = 1000
    /// RST_STREAM frames a second that refill `resetBurst`.
    package var resetsPerSecond: UInt64 = 33

    /// Limits fit for requests of a few KiB.
    package init() {}
}
