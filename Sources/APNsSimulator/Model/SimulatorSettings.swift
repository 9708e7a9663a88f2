/// What can be set for all pushes, by flags at the start and by `PUT /limits` at any time.
package struct SimulatorSettings: Sendable {
    /// Streams a client may open before its first push on a connection has succeeded.
    ///
    /// Apple: one.
    package var initialStreams: UInt32 = 1
    /// Streams a client may open afterwards.
    ///
    /// APNs has been seen to allow 500, 1,000 and 1,500.
    package var streams: UInt32 = 1_000
    /// How long every answer waits.
    package var latency = Latency.none
    /// The bundle identifiers or whole topics that may be sent to; `nil`: any.
    package var topics: [String]?
    /// Whether a device token that nobody registered is valid.
    package var acceptsUnknownTokens = true
    /// Whether new connections are taken.
    package var acceptsConnections = true
    /// How many seconds the server's clock is ahead; answers have a `date` header then.
    ///
    /// `nil`: it goes right, and answers have none.
    package var clockOffset: Int64?
    /// The ages and intervals of provider tokens.
    package var tokenLimits = ConnectionTrust.Limits()

    /// The largest stream limit: what an HTTP/2 implementation may still count on (RFC 9113 section 5.1.1).
    package static let streamsMax: UInt32 = 1 << 30

    /// Like APNs.
    package init() {}

    /// A validator with these settings.
    package var validator: PushValidator {
        var validator = PushValidator()
        validator.topics = topics.map { Set($0.map { Array($0.utf8)[...] }) }
        validator.tokenLimits = tokenLimits
        return validator
    }
}
