/// Every bound and every wait of the server, with its unit in its name or type.
package struct Limits: Sendable {
    /// The request line without its CRLF: 414 beyond.
    package var requestLineBytesMax = 8 * 1024
    /// Header fields in one head: 431 beyond.
    package var headerCountMax = 100
    /// All field lines of one head with their CRLFs, without the request line: 431 beyond.
    package var headerBytesMax = 16 * 1024
    /// A body without its framing: 413 beyond.
    package var bodyBytesMax = 16 * 1024
    /// Extensions of all chunks of one body: 413 beyond.
    package var chunkExtensionBytesMax = 1024
    /// Field lines after the last chunk, which are checked and dropped: 431 beyond.
    package var trailerCountMax = 32
    /// Bytes of these lines with their CRLFs: 431 beyond.
    package var trailerBytesMax = 4 * 1024

    /// From the first byte of a head (for a connection's first, from its accept) to its last: 408 beyond.
    package var headDeadline: Duration = .seconds(10)
    /// From the end of a head to the end of its body: 408 beyond.
    package var bodyDeadline: Duration = .seconds(20)
    /// Between the end of an answer and the first byte of the next request; the connection closes without a word.
    package var idleDeadline: Duration = .seconds(75)
    /// For as long the client may take none of an answer's bytes; the connection closes.
    package var writeStallDeadline: Duration = .seconds(20)
    /// As slowly a client may take an answer once `writeStallDeadline` has passed; the connection closes.
    package var sendBytesPerSecondMin = 1024
    /// For a TLS handshake.
    package var handshakeDeadline: Duration = .seconds(10)

    /// Bytes kept of requests that came while another is being answered, or wait for their turn; then reading pauses.
    package var readAheadBytesMax = 16 * 1024
    /// Requests of one connection that are answered at once; further ones wait until other connections have had their turn.
    package var requestsPerTurnMax = 4
    /// Bytes of their answers after which no further one is made in the same turn.
    package var answerBytesPerTurn = 16 * 1024
    /// Bytes that the system holds of each connection in each direction, beside the server's own; Linux takes twice as much memory.
    package var socketBufferBytes = 64 * 1024
    /// After a closing answer: for so long what the client still sends is dropped, so that it can see the answer.
    package var lingerDeadline: Duration = .seconds(2)

    /// When the server stops, idle connections stay open for so long: a request may be under way.
    package var stopGrace: Duration = .milliseconds(50)
    /// How long a stop waits for cancelled handlers after its deadline.
    package var cancelledHandlersDeadline: Duration = .seconds(1)

    /// Open connections of all loops together: beyond, the one that was idle longest makes room.
    package var connectionsMax = 16_384
    /// Open connections from one address (one /64 of IPv6) over all loops: 503 beyond. The cap falls when the server is half full.
    package var connectionsPerAddressMax = 1_024
    /// What is left of that cap when the server is full.
    package var connectionsPerAddressMin = 16
    /// A /48 of IPv6 may have as many connections as so many addresses.
    package var addressesPerSite = 4
    /// Bytes of memory that the connections of all loops may take: beyond, one of those that hold most of it makes room.
    package var connectionMemoryBytesMax = 256 * 1024 * 1024
    /// Bytes of requests and answers from which a connection counts as one that holds memory.
    package var heldBytesNoticed = 4 * 1024
    /// Connections over a cap that wait on one loop for their 503 to be read; beyond, they are closed without one.
    package var refusedConnectionsMax = 64

    /// The limits above.
    package init() {}
}

/// The limits that the parser needs for every line, without the rest, which it would copy along.
struct RequestLimits: Sendable {
    let requestLineBytesMax: Int
    let headerCountMax: Int
    let headerBytesMax: Int
    let bodyBytesMax: Int
    let chunkExtensionBytesMax: Int
    let trailerCountMax: Int
    let trailerBytesMax: Int

    init(_ limits: Limits) {
        requestLineBytesMax = limits.requestLineBytesMax
        headerCountMax = limits.headerCountMax
        headerBytesMax = limits.headerBytesMax
        bodyBytesMax = limits.bodyBytesMax
        chunkExtensionBytesMax = limits.chunkExtensionBytesMax
        trailerCountMax = limits.trailerCountMax
        trailerBytesMax = limits.trailerBytesMax
    }
}
