/// All limits and timeouts of the server.
package struct Limits: Sendable {
    /// The maximum size of the request line without its CRLF; 414 if exceeded.
    package var requestLineBytesMax = 8 * 1024
    /// The maximum number of header fields per request; 431 if exceeded.
    package var headerCountMax = 100
    /// The maximum size of a head's field lines with their CRLFs, without the request line; 431 if exceeded.
    package var headerBytesMax = 16 * 1024
    /// The maximum size of a body without its framing; 413 if exceeded.
    package var bodyBytesMax = 16 * 1024
    /// The maximum body size for individual paths, where it differs from `bodyBytesMax`.
    package var bodyBytesMaxOfPaths: [String: Int] = [:]
    /// The maximum size of all chunk extensions in one body; 413 if exceeded.
    package var chunkExtensionBytesMax = 1024
    /// The maximum number of trailer fields, which are validated and dropped; 431 if exceeded.
    package var trailerCountMax = 32
    /// The maximum size of the trailer lines with their CRLFs; 431 if exceeded.
    package var trailerBytesMax = 4 * 1024

    /// The time from the first byte of a head (on a new connection, from its acceptance) to its last; 408 if exceeded.
    package var headDeadline: Duration = .seconds(10)
    /// The time from the end of a head to the end of its body; 408 if exceeded.
    package var bodyDeadline: Duration = .seconds(20)
    /// The time from the end of a response to the first byte of the next request; then the connection closes silently.
    package var idleDeadline: Duration = .seconds(75)
    /// How long a client may go without accepting any byte of a response before the connection closes.
    package var writeStallDeadline: Duration = .seconds(20)
    /// The minimum rate at which a client must accept a response once `writeStallDeadline` has passed.
    package var sendBytesPerSecondMin = 1024
    /// The time limit for a TLS handshake.
    package var handshakeDeadline: Duration = .seconds(10)

    /// The maximum size of the pipelined input kept while a request is handled; at the limit, reading pauses.
    package var readAheadBytesMax = 16 * 1024
    /// How many requests from one connection are answered per turn of the loop before other connections get their turn.
    package var requestsPerTurnMax = 4
    /// The number of response bytes after which a connection's turn ends.
    package var answerBytesPerTurn = 16 * 1024
    /// The size of each connection's kernel buffers, per direction; Linux allocates twice as much.
    package var socketBufferBytes = 64 * 1024
    /// How long input is dropped after the final response, so that the client can read that response.
    package var lingerDeadline: Duration = .seconds(2)

    /// How long a stopping server keeps idle connections open, in case a request is on its way.
    package var stopGrace: Duration = .milliseconds(50)
    /// How long a stopping server waits for cancelled handlers after its deadline.
    package var cancelledHandlersDeadline: Duration = .seconds(1)

    /// The maximum number of open connections on all loops; at the limit, the longest-idle one is closed.
    package var connectionsMax = 16_384
    /// The maximum number of open connections per address (an IPv6 /64); falls once the server is half full; 503 if
    /// exceeded.
    package var connectionsPerAddressMax = 1_024
    /// The maximum number of open connections per address when the server is full.
    package var connectionsPerAddressMin = 16
    /// How many addresses' worth of connections an IPv6 /48 may have.
    package var addressesPerSite = 4
    /// The maximum estimated memory of all connections; at the limit, connections that hold buffers are closed, then
    /// idle ones.
    package var connectionMemoryBytesMax = 256 * 1024 * 1024
    /// The minimum size of a connection's requests and responses at which its buffers are counted.
    package var heldBytesNoticed = 4 * 1024
    /// The maximum number of refused connections per loop waiting for the client to read the 503; others are closed
    /// without a response.
    package var refusedConnectionsMax = 64

    /// Creates the default limits.
    package init() {}
}

/// The limits that the parser checks for every line; a small copy of ``Limits``.
struct RequestLimits: Sendable {
    let requestLineBytesMax: Int
    let headerCountMax: Int
    let headerBytesMax: Int
    let bodyBytesMax: Int
    let bodyBytesMaxOfPaths: [String: Int]
    let chunkExtensionBytesMax: Int
    let trailerCountMax: Int
    let trailerBytesMax: Int

    init(_ limits: Limits) {
        requestLineBytesMax = limits.requestLineBytesMax
        headerCountMax = limits.headerCountMax
        headerBytesMax = limits.headerBytesMax
        bodyBytesMax = limits.bodyBytesMax
        bodyBytesMaxOfPaths = limits.bodyBytesMaxOfPaths
        chunkExtensionBytesMax = limits.chunkExtensionBytesMax
        trailerCountMax = limits.trailerCountMax
        trailerBytesMax = limits.trailerBytesMax
    }
}
