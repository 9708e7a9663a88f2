/// Parses the requests of one connection: a strict subset of RFC 9112.
///
/// A pure value: bytes in, requests or a refusal out, however the input is split. Lines end with CRLF; a body has one
/// `Content-Length` or the single coding `chunked`, never both. `docs/design/http.md` lists what is refused.
package struct RequestParser: Sendable {
    /// The result of parsing a piece of input.
    package enum Step: Sendable {
        /// All input was consumed and no request is complete.
        case needsMore
        /// A request is complete; the rest of the input belongs to the next one.
        case request(Request)
        /// The request is invalid, and no later request can be parsed.
        case refused(Refusal)
    }

    /// The progress of the current request, which selects its deadline.
    package enum Phase: Hashable, Sendable {
        /// No byte has been received.
        case idle
        /// The head has begun.
        case head
        /// The head is complete.
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
    /// The head so far, if it arrived in pieces; the complete head while the body is being read.
    private var bytes: [UInt8] = []
    private var chunks = ChunkedDecoder()
    private var body: [UInt8] = []

    /// Creates a parser for a new connection.
    package init(limits: Limits) {
        self.limits = RequestLimits(limits)
    }

    /// The progress of the current request.
    package var phase: Phase {
        switch state {
        case .head: bytes.isEmpty ? .idle : .head
        case .length, .chunked: .body
        case .refused: .idle
        }
    }

    /// The memory allocated for the incomplete request, in bytes.
    package var memoryBytes: Int { bytes.capacity + body.capacity + chunks.memoryBytes }

    /// Whether the client is waiting for `100 Continue`: it asked for that but has sent no byte of the body yet.
    package var awaitsContinue: Bool {
        switch state {
        case .length(let left): left > 0 && body.isEmpty && head.expectsContinue
        case .chunked: !chunks.hasBegun && head.expectsContinue
        case .head, .refused: false
        }
    }

    /// Whether the current request is known to be `HEAD`, whose response has no body.
    package var isHead: Bool { head.method == .head }

    /// The incomplete or refused request without its body; nil before its head is complete.
    package var unfinished: Request? {
        guard head.isComplete, let target = head.target else { return nil }
        return makeRequest(target, body: [])
    }

    /// Parses `input` from `offset` up to the end of a request and advances `offset`.
    ///
    /// After a refusal, the parser consumes nothing and returns the same refusal again.
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

    /// Consumes bytes up to the end of the head; true when it is complete.
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

    /// Parses lines directly in the input and copies them once, when the head is complete or the input ends.
    ///
    /// Returns the kind of the last line; nil if the input ended within the head.
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
                // Copied before the check, so that `unfinished` includes the head of a refused request.
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

    /// Appends the input up to its first line feed to the partial head and parses the line that ends there.
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
        // A local copy of the reference: a span of `self.bytes` would keep all of `self` borrowed.
        let bytes = bytes
        let line = try head.line(bytes.span, bytes.count - 1, limits: limits)
        if line == .end { try head.check(bytes.span, limits: limits) }
        return line
    }

    /// Consumes bytes up to the end of the body; true when it is complete.
    private mutating func readBody(_ input: Span<UInt8>, _ offset: inout Int) throws(RefusalError) -> Bool {
        guard case .length(let left) = state else {
            let bytesMax = head.bodyBytesMax(bytes.span, limits)
            return try chunks.decode(input, &offset, into: &body, bytesMax: bytesMax, limits: limits)
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
