/// All limits and timeouts of the server.
package struct Limits: Sendable {
    /// The request line without its CRLF; 414 if exceeded.
    package var requestLineBytesMax = 8 * 1024
    /// The header fields of one request; 431 if exceeded.
    package var headerCountMax = 100
    /// All field lines of one head with their CRLFs, without the request line; 431 if exceeded.
    package var headerBytesMax = 16 * 1024
    /// A body without its framing; 413 if exceeded.
    package var bodyBytesMax = 16 * 1024
    /// The limits of bodies for single paths, where they are larger.
    package var bodyBytesMaxOfPaths: [String: Int] = [:]
    /// The extensions of all chunks of one body; 413 if exceeded.
    package var chunkExtensionBytesMax = 1024
    /// The trailer fields, which are validated and dropped; 431 if exceeded.
    package var trailerCountMax = 32
    /// The trailer lines with their CRLFs; 431 if exceeded.
    package var trailerBytesMax = 4 * 1024

    /// From the first byte of a head (on a new connection, from accept) to its last; 408 if exceeded.
    package var headDeadline: Duration = .seconds(10)
    /// From the end of a head to the end of its body; 408 if exceeded.
    package var bodyDeadline: Duration = .seconds(20)
    /// Between the end of an answer and the first byte of the next request; then the connection closes silently.
    package var idleDeadline: Duration = .seconds(75)
    /// How long a client may accept no byte of an answer; then the connection closes.
    package var writeStallDeadline: Duration = .seconds(20)
    /// The minimum rate at which a client must accept an answer once `writeStallDeadline` has passed.
    package var sendBytesPerSecondMin = 1024
    /// The time limit for a TLS handshake.
    package var handshakeDeadline: Duration = .seconds(10)

    /// The pipelined input kept while a request is handled; at the limit, reading pauses.
    package var readAheadBytesMax = 16 * 1024
    /// The requests of one connection answered per turn of the loop; further ones let other connections go first.
    package var requestsPerTurnMax = 4
    /// The answer bytes after which a connection's turn ends.
    package var answerBytesPerTurn = 16 * 1024
    /// The size of each connection's kernel buffers, per direction; Linux allocates twice as much.
    package var socketBufferBytes = 64 * 1024
    /// After the final answer, how long further input is dropped, so that the client can read the answer.
    package var lingerDeadline: Duration = .seconds(2)

    /// How long a stopping server keeps idle connections open, in case a request is on its way.
    package var stopGrace: Duration = .milliseconds(50)
    /// How long a stop waits for cancelled handlers after its deadline.
    package var cancelledHandlersDeadline: Duration = .seconds(1)

    /// The open connections of all loops; at the limit, the longest idle one is closed.
    package var connectionsMax = 16_384
    /// The open connections of one address (an IPv6 /64); falls once the server is half full; 503 if exceeded.
    package var connectionsPerAddressMax = 1_024
    /// The value that limit falls to when the server is full.
    package var connectionsPerAddressMin = 16
    /// An IPv6 /48 may have as many connections as this many addresses.
    package var addressesPerSite = 4
    /// The estimated memory of all connections; at the limit, connections that hold buffers are closed, then idle ones.
    package var connectionMemoryBytesMax = 256 * 1024 * 1024
    /// The size of requests and answers from which a connection's buffers are counted.
    package var heldBytesNoticed = 4 * 1024
    /// The refused connections per loop that wait for their 503 to be read; further ones are closed without one.
    package var refusedConnectionsMax = 64

    /// The defaults.
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
