package import Network

/// The part of a session that connections of both roles need.
protocol FrameEngine: AnyObject {
    var isFinished: Bool { get }
    var wantsWrite: Bool { get }
    /// The peer's error that made the library end the session, in the library's words.
    var peerFault: String? { get }
    /// The library's message about the peer's last mistake, for logs.
    var diagnostic: String? { get }
    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error)
    func collectOutput(into output: inout [UInt8], target: Int) throws(HTTP2Error)
}

extension ClientSession: FrameEngine {}
extension ServerSession: FrameEngine {}

/// Why a connection ended.
package enum ConnectionEnd: Equatable, Sendable, CustomStringConvertible {
    /// The channel closed: both sides were done, the connection broke, or no address accepted it.
    case channel(ChannelCloseReason)
    /// ALPN did not choose `h2` (RFC 9113, section 3.2).
    case notHTTP2
    /// The peer violated the protocol; with the library's message.
    case protocolFailure(String)

    /// Whether one side closed it normally.
    package var isOrderly: Bool { self == .channel(.local) || self == .channel(.peer) }

    package var description: String {
        switch self {
        case .channel(let reason): reason.description
        case .notHTTP2: "the peer did not choose HTTP/2"
        case .protocolFailure(let reason): "HTTP/2: \(reason)"
        }
    }
}

/// Moves a session's frames to its channel once per turn, in large pieces, with backpressure.
final class FramePump<Engine: FrameEngine> {
    /// The size of a piece: the payload of one TLS record (RFC 8446, section 5.1).
    static var pieceBytes: Int { 16 * 1024 }
    /// The time limit for sending the last frames.
    static var closeDeadline: Duration { .seconds(2) }

    let engine: Engine
    private(set) var channel: Channel?
    /// Whether writing is suspended, to simulate a broken network.
    var isStalled = false
    /// Frames collected from the session but not yet sent.
    private var buffer: [UInt8] = []
    private var isFlushPut = false
    /// The approximate number of bytes submitted since the last flush.
    var unflushedBytes = 0

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

    /// Whether to schedule a flush at the end of this turn: there is a channel and no flush is scheduled yet.
    ///
    /// The caller schedules it and then calls `beginFlush` and `flush`. (Most calls find one scheduled and create no
    /// closure.)
    func needsFlush() -> Bool {
        guard !isFlushPut, channel != nil else { return false }
        isFlushPut = true
        return true
    }

    /// Begins the scheduled flush; frames submitted later need another one.
    func beginFlush() {
        isFlushPut = false
    }

    /// Moves frames to the channel while it accepts them; closes it once the session is finished and all frames are
    /// sent.
    ///
    /// Sends each piece before collecting the next, so that the peer works in parallel.
    ///
    /// - Parameter onlyWholePieces: Leaves the rest for a later flush in the same turn, since every piece costs a TLS
    ///   record and a system call.
    func flush(onlyWholePieces: Bool = false) throws(HTTP2Error) {
        unflushedBytes = 0
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
