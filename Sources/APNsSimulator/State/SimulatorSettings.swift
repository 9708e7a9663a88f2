/// The settings for all pushes, set by flags and changed by `PUT /limits`.
package struct SimulatorSettings: Sendable {
    /// Concurrent streams per connection until its first push succeeds.
    ///
    /// Apple allows one.
    package var initialStreams: UInt32 = 1
    /// Concurrent streams per connection after its first push has succeeded.
    ///
    /// APNs has been seen to allow 500, 1,000 and 1,500.
    package var streams: UInt32 = 1_000
    /// The default delay before a response.
    package var latency = Latency.none
    /// The allowed bundle identifiers or full topics; `nil`: any.
    package var topics: [String]?
    /// Whether unregistered device tokens are valid.
    package var acceptsUnknownTokens = true
    /// Whether new connections are accepted.
    package var acceptsConnections = true
    /// How many seconds the server's clock is ahead.
    ///
    /// `nil`: the clock is correct and responses have no `date` header.
    package var clockOffset: Int64?
    /// The age and update limits for provider tokens.
    package var tokenLimits = ConnectionTrust.Limits()

    /// The largest stream limit, safe for any HTTP/2 implementation (RFC 9113 section 5.1.1).
    package static let streamsMax: UInt32 = 1 << 30

    /// APNs' defaults.
    package init() {}

    /// A validator with these settings.
    package var validator: PushValidator {
        var validator = PushValidator()
        validator.topics = topics.map { Set($0.map { Array($0.utf8)[...] }) }
        validator.tokenLimits = tokenLimits
        return validator
    }
}
