/// A stream identifier; odd if a client opened the stream (RFC 9113, section 5.1.1).
package struct StreamID: RawRepresentable, Hashable, Comparable, Sendable {
    package var rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static func < (left: StreamID, right: StreamID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A received request, limited in size and complete unless marked otherwise.
package struct ServerRequest: Sendable, Equatable {
    /// All fields in order, including `:method`, `:path`, `:scheme` and `:authority`.
    package var fields: HeaderFields
    /// The body, at most `ServerLimits.bodyBytes` bytes.
    package var body: [UInt8]
    /// Whether `body` is complete; false if it exceeded the limit and the rest was dropped.
    package var isBodyComplete: Bool

    package init(fields: HeaderFields, body: [UInt8] = [], isBodyComplete: Bool = true) {
        self.fields = fields
        self.body = body
        self.isBodyComplete = isBodyComplete
    }
}

/// The events of a server session.
package enum ServerEvent: Sendable, Equatable {
    /// A request arrived and waits for `respond` or `reset`.
    case request(StreamID, ServerRequest)
    /// A stream ended before its response was sent: cancelled by the client or reset here.
    case aborted(StreamID, ErrorCode)
    /// The client acknowledged the latest SETTINGS, for example a lower stream limit.
    case settingsAcknowledged
    /// The client acknowledged a `ping` with the same value.
    case pingAcknowledged(UInt64)
    /// The client sent GOAWAY.
    case goAway(GoAway)
}

/// The limits of a server session, per connection.
package struct ServerLimits: Sendable, Equatable {
    /// The initial SETTINGS_MAX_CONCURRENT_STREAMS; streams beyond it are refused.
    package var concurrentStreams: UInt32 = 1000
    /// SETTINGS_MAX_HEADER_LIST_SIZE in bytes; longer lists get a 431.
    package var headerListBytes = 16 * 1024
    /// The maximum size of a request's body in bytes; the rest is dropped and the request is marked incomplete.
    package var bodyBytes = 64 * 1024
    /// The connection's flow-control window in bytes (RFC 9113, section 6.9); at least 65,535.
    package var connectionWindowBytes: Int32 = 1 << 20
    /// The flow-control window of one stream in bytes.
    package var streamWindowBytes: UInt32 = 65_535
    /// The number of RST_STREAM frames accepted in a burst before the connection ends (rapid reset, CVE-2023-44487).
    package var resetBurst: UInt64 = 1000
    /// The number of RST_STREAM frames by which `resetBurst` is refilled per second.
    package var resetsPerSecond: UInt64 = 33

    /// Creates limits suited to requests of a few KiB.
    package init() {}
}
