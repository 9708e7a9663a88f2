package import Network

/// What a connection needs of a session, whatever its role.
protocol FrameEngine: AnyObject {
    var isFinished: Bool { get }
    var wantsWrite: Bool { get }
    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error)
    func collectOutput(into output: inout [UInt8], target: Int) throws(HTTP2Error)
}

extension ClientSession: FrameEngine {}
extension ServerSession: FrameEngine {}

/// Why a connection ended.
package enum ConnectionEnd: Equatable, Sendable, CustomStringConvertible {
    /// The channel closed: both sides were done, it broke, or no address took the connection.
    case channel(ChannelCloseReason)
    /// The peer doesn't speak HTTP/2 here: ALPN didn't choose `h2` (RFC 9113, section 3.2).
    case notHTTP2
    /// The peer broke the protocol; the library's words.
    case protocolFailure(String)

    /// Whether one side closed it without any mishap.
    package var isOrderly: Bool { self == .channel(.local) || self == .channel(.peer) }

    package var description: String {
        switch self {
        case .channel(let reason): reason.description
        case .notHTTP2: "the peer did not choose HTTP/2"
        case .protocolFailure(let reason): "HTTP/2: \(reason)"
        }
    }
}

/// Carries a session's frames to its channel: once a turn of the loop, in large pieces, and no faster than they leave.
final class FramePump<Engine: FrameEngine> {
    /// How many bytes the channel gets at once: what one TLS record holds (RFC 8446, section 5.1).
    static var pieceBytes: Int { 16 * 1024 }
    /// How long the last frames may take to leave.
    static var closeDeadline: Duration { .seconds(2) }

    let engine: Engine
    private(set) var channel: Channel?
    /// A stalled pump writes nothing any more, as a peer behind a broken network does.
    var isStalled = false
    /// Frames that have left the session and not yet this side.
    private var buffer: [UInt8] = []
    private var isFlushPut = false

    init(_ engine: Engine) {
        self.engine = engine
    }

    func start(_ channel: Channel) {
        self.channel = channel
        buffer.reserveCapacity(Self.pieceBytes + 17 * 1024)
    }

    func stop() {
        channel = nil
        buffer = []
    }

    /// Whether a flush must be put at the end of this turn: none is there yet, and there is a channel.
    ///
    /// The caller puts it, and there calls `beginFlush` and `flush`. (Most calls find one put: no closure is made for
    /// nothing.)
    func needsFlush() -> Bool {
        guard !isFlushPut, channel != nil else { return false }
        isFlushPut = true
        return true
    }

    /// The flush at the end of the turn has come: the next frames need another one.
    func beginFlush() {
        isFlushPut = false
    }

    /// Moves frames to the channel as long as it takes them; closes it when all are out and the session is over.
    ///
    /// Each piece leaves before the next is made, so that the peer works while this side does.
    ///
    /// - Parameter onlyWholePieces: the rest stays for a flush that follows in the same turn: each piece is a record and
    ///   a system call, which a few frames are not worth.
    func flush(onlyWholePieces: Bool = false) throws(HTTP2Error) {
        guard let channel, !isStalled else { return }
        while channel.isOpen && channel.isWritable {
            try engine.collectOutput(into: &buffer, target: Self.pieceBytes)
            guard buffer.count >= Self.pieceBytes || !onlyWholePieces && !buffer.isEmpty else { break }
            sendPiece(to: channel)
        }
        guard !onlyWholePieces, engine.isFinished else { return }
        while !buffer.isEmpty { sendPiece(to: channel) }
        channel.closeAfterFlush(deadline: Self.closeDeadline)
    }

    private func sendPiece(to channel: Channel) {
        let count = min(buffer.count, Self.pieceBytes)
        unsafe buffer.withUnsafeBytes { bytes in
            unsafe channel.send(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
        buffer.removeSubrange(..<count)
    }
}
