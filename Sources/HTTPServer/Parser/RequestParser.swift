/// Reads requests from the bytes of one connection: a strict subset of RFC 9112.
///
/// A pure value: bytes in, requests or a refusal out, no socket and no time. How the bytes are cut into pieces makes no difference
/// to what comes out. Lines end with CRLF; a body has one `Content-Length` or the single coding `chunked`, never both;
/// `docs/decisions/0001-http-parser.md` has the whole list of what is refused and why.
package struct RequestParser: Sendable {
    /// What a piece of input came to.
    package enum Step: Sendable {
        /// All of it was taken, and no request is complete.
        case needsMore
        /// A request is complete; the rest of the input belongs to the next one.
        case request(Request)
        /// The request can't be answered by a handler, and nothing behind this point can be trusted to be a request.
        case refused(Refusal)
    }

    /// How far the request at hand has come; deadlines depend on it.
    package enum Phase: Hashable, Sendable {
        /// Not a byte of it is there.
        case idle
        /// Its head has begun.
        case head
        /// Its head is complete.
        case body
    }

    private enum State {
        case head
        case length(left: Int)
        case chunked
        case refused(Refusal)
    }

    private let limits: RequestLimits
    private var state = State.head
    private var head = HeadParser()
    /// The head so far, when it came in pieces; all of it in the body's states.
    private var bytes: [UInt8] = []
    private var chunks = ChunkedDecoder()
    private var body: [UInt8] = []

    /// A parser for a new connection.
    package init(limits: Limits) {
        self.limits = RequestLimits(limits)
    }

    /// How far the request at hand has come.
    package var phase: Phase {
        switch state {
        case .head: bytes.isEmpty ? .idle : .head
        case .length, .chunked: .body
        case .refused: .idle
        }
    }

    /// Bytes of memory that the unfinished request takes.
    package var memoryBytes: Int { bytes.capacity + body.capacity + chunks.memoryBytes }

    /// Whether the client waits for `100 Continue`: it asked for it, and nothing of the body is there.
    package var awaitsContinue: Bool {
        switch state {
        case .length(let left): left > 0 && body.isEmpty && head.expectsContinue
        case .chunked: !chunks.hasBegun && head.expectsContinue
        case .head, .refused: false
        }
    }

    /// Whether the request at hand is `HEAD`, as far as its request line has been read: an answer to it has no body.
    package var isHead: Bool { head.method == .head }

    /// The request that is not complete, or was refused, without its body; nil before its head is complete.
    package var unfinished: Request? {
        guard head.isComplete, let target = head.target else { return nil }
        return makeRequest(target, body: [])
    }

    /// Takes bytes of `input` from `offset` on and moves `offset` behind what was taken, up to the end of a request.
    ///
    /// After a refusal the parser takes nothing and says the same again.
    package mutating func parse(_ input: Span<UInt8>, _ offset: inout Int) -> Step {
        do {
            switch state {
            case .refused(let refusal): return .refused(refusal)
            case .head: guard try readHead(input, &offset) else { return .needsMore }
            case .length, .chunked: break
            }
            guard try readBody(input, &offset) else { return .needsMore }
            guard let target = head.target else { return .needsMore }
            let request = makeRequest(target, body: body)
            reset()
            return .request(request)
        } catch {
            state = .refused(error.refusal)
            return .refused(error.refusal)
        }
    }

    /// Takes bytes up to the end of the head; true when it is there.
    private mutating func readHead(_ input: Span<UInt8>, _ offset: inout Int) throws(RefusalError) -> Bool {
        while true {
            guard let line = try bytes.isEmpty ? readLineInPlace(input, &offset) : readLine(input, &offset)
            else {
                return false
            }
            switch line {
            case .part: break
            case .blank: bytes.removeAll()
            case .end:
                state = head.framing.isChunked ? .chunked : .length(left: head.framing.contentLength ?? 0)
                return true
            }
        }
    }

    /// Reads lines where they lie in the input, and copies them once: when the head is complete or the input ends.
    ///
    /// Returns what the last line was; nil when the input ended within the head.
    private mutating func readLineInPlace(
        _ input: Span<UInt8>, _ offset: inout Int
    ) throws(RefusalError) -> HeadParser.Line? {
        let rest = input.extracting(offset...)
        while let lineFeed = rest.firstLineFeed(from: head.lineStart) {
            switch try head.line(rest, lineFeed, limits: limits) {
            case .part:
                break
            case .blank:
                offset += lineFeed + 1
                return .blank
            case .end:
                // Before the check: a head that is refused as a whole is still shown by `unfinished`.
                bytes = rest.copy(0..<lineFeed + 1)
                offset += lineFeed + 1
                try head.check(rest, limits: limits)
                return .end
            }
        }
        try head.checkPartialLine(rest.count - head.lineStart, limits: limits)
        bytes = rest.copy(0..<rest.count)
        offset = input.count
        return nil
    }

    /// Adds the input up to its first line feed to what is kept of the head, and reads the line that ends there.
    private mutating func readLine(
        _ input: Span<UInt8>, _ offset: inout Int
    ) throws(RefusalError) -> HeadParser.Line? {
        let kept = bytes.count - head.lineStart
        guard let lineFeed = input.firstLineFeed(from: offset) else {
            try head.checkPartialLine(kept + input.count - offset, limits: limits)
            bytes.append(input, offset..<input.count)
            offset = input.count
            return nil
        }
        try head.checkPartialLine(kept + lineFeed - offset, limits: limits)
        bytes.append(input, offset..<lineFeed + 1)
        offset = lineFeed + 1
        // A second name for the array: a span of `self.bytes` would lock all of `self`.
        let bytes = bytes
        let line = try head.line(bytes.span, bytes.count - 1, limits: limits)
        if line == .end { try head.check(bytes.span, limits: limits) }
        return line
    }

    /// Takes bytes up to the end of the body; true when it is there.
    private mutating func readBody(_ input: Span<UInt8>, _ offset: inout Int) throws(RefusalError) -> Bool {
        guard case .length(let left) = state else {
            return try chunks.decode(input, &offset, into: &body, limits: limits)
        }
        let end = min(input.count, offset + left)
        if end > offset { body.append(input, offset..<end) }
        let rest = left - (end - offset)
        offset = end
        state = .length(left: rest)
        return rest == 0
    }

    private func makeRequest(_ target: RequestTarget, body: [UInt8]) -> Request {
        Request(
            method: head.method, headers: Headers(bytes: bytes, fields: head.fields), body: body,
            minorVersion: head.minorVersion, keepsAlive: head.keepsAlive, place: target)
    }

    private mutating func reset() {
        state = .head
        head = HeadParser()
        bytes = []
        chunks = ChunkedDecoder()
        body = []
    }
}
