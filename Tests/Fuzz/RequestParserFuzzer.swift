import HTTPServer

/// Parses requests whole and in pieces: both must give the same result.
///
/// The first byte of an input chooses the pieces and the second the limits; the rest is the request, so seeds are readable.
func fuzzRequests(_ input: [UInt8]) {
    guard input.count > 2 else { return }
    let bytes = Array(input[2...])
    let limits = limits(input[1])
    let whole = Outcome(bytes, step: bytes.count, limits: limits)
    require(
        whole == Outcome(bytes, step: 1 + Int(input[0] % 16), limits: limits),
        "the size of the pieces changes the result")
    require(whole == Outcome(bytes, first: Int(input[0]), limits: limits), "one cut changes the result")
}

/// The server's own limits if the choice is even, otherwise small ones that short inputs reach.
private func limits(_ choice: UInt8) -> Limits {
    var limits = Limits()
    guard choice % 2 == 1 else { return limits }
    limits.requestLineBytesMax = 24
    limits.headerCountMax = 3
    limits.headerBytesMax = 96
    limits.bodyBytesMax = 20
    limits.chunkExtensionBytesMax = 8
    limits.trailerCountMax = 2
    limits.trailerBytesMax = 24
    return limits
}

/// Everything that a parser reported about some bytes.
private struct Outcome: Equatable {
    private var said: [String] = []

    /// Feeds pieces of `step` bytes, or a first piece and the rest.
    init(_ bytes: [UInt8], step: Int = Int.max / 2, first: Int = 0, limits: Limits) {
        var parser = RequestParser(limits: limits)
        var start = 0
        while start < bytes.count {
            let end = start == 0 && first > 0 ? min(first, bytes.count) : min(start + step, bytes.count)
            guard feed(Array(bytes[start..<end]), to: &parser, limits) else { return }
            start = end
        }
        said.append("\(parser.phase) \(parser.awaitsContinue) \(parser.unfinished?.target ?? "")")
    }

    /// Feeds one piece and checks the invariants for every input; false after a refusal.
    private mutating func feed(_ piece: [UInt8], to parser: inout RequestParser, _ limits: Limits) -> Bool {
        var offset = 0
        while true {
            let before = offset
            let step = parser.parse(piece.span, &offset)
            require(offset >= before && offset <= piece.count, "the parser consumed more than its input")
            switch step {
            case .needsMore:
                require(offset == piece.count, "the parser wants more but left input unread")
                return true
            case .request(let request):
                require(parser.phase == .idle, "a request is complete but the parser is not idle")
                require(request.body.count <= limits.bodyBytesMax, "a body exceeds its limit")
                require(
                    request.headers.count <= limits.headerCountMax,
                    "the number of header fields exceeds its limit")
                let fields = request.headers.pairs.map { "\($0.name)=\($0.value)" }
                said.append(
                    "\(request.method) \(request.target) \(request.path) \(request.query) \(request.keepsAlive)"
                )
                said.append("\(fields) \(request.body)")
            case .refused(let refusal):
                let request = parser.unfinished
                said.append("\(refusal) \(parser.isHead) \(request?.target ?? "") \(request?.path ?? "")")
                said.append("\(request?.query ?? "") \(request?.headers.pairs.map(\.value) ?? [])")
                var again = 0
                guard case .refused(refusal) = parser.parse(piece.span, &again), again == 0 else {
                    fatalError("the parser continued after an error")
                }
                return false
            }
        }
    }
}
