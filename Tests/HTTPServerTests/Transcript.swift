import HTTPServer

/// What a parser made of some input, as lines that can be compared and read.
///
/// `POST /path [host: h] 'body'` for each request, then `400 invalidFraming` for a refusal, `more` when a request has begun and isn't
/// complete, nothing when the input ended between requests. A request after which the connection closes ends the transcript.
struct Transcript: Equatable, CustomStringConvertible {
    struct Item: Equatable, Sendable {
        var method: String
        var target: String
        var body: [UInt8]
        var asksToUpgrade: Bool
    }

    var requests: [Item] = []
    /// Header fields of all requests, also of a refused one whose head was read; kept apart, since a corpus entry seldom cares.
    var fields: [String] = []
    var end = ""

    /// Feeds `bytes` cut at `cuts`, which are in ascending order.
    init(_ bytes: [UInt8], cuts: [Int] = [], limits: Limits = Limits()) {
        var parser = RequestParser(limits: limits)
        var start = 0
        for cut in cuts + [bytes.count] {
            guard feed(Array(bytes[start..<cut]), to: &parser) else { return }
            start = cut
        }
        if parser.phase != .idle { end = "more" }
    }

    /// Feeds one piece; false when the connection would read no further.
    private mutating func feed(_ piece: [UInt8], to parser: inout RequestParser) -> Bool {
        var offset = 0
        while true {
            switch parser.parse(piece.span, &offset) {
            case .needsMore:
                precondition(offset == piece.count, "the parser left bytes behind")
                return true
            case .request(let request):
                requests.append(
                    Item(
                        method: request.method.description, target: request.target, body: request.body,
                        asksToUpgrade: request.headers["Upgrade"] != nil))
                fields += request.headers.pairs.map { "\($0.name): \($0.value)" }
                guard request.keepsAlive else {
                    end = "closes"
                    return false
                }
            case .refused(let refusal):
                precondition(offset <= piece.count, "the parser took what it wasn't given")
                end = "\(refusal.status.rawValue) \(refusal)"
                if let request = parser.unfinished {
                    fields += ["\(request.target) \(request.path)"] + request.headers.pairs.map { "\($0)" }
                }
                return false
            }
        }
    }

    /// The lines that a corpus entry lists.
    var lines: [String] {
        requests.map { request in
            let body = String(decoding: request.body, as: UTF8.self)
            return "\(request.method) \(request.target)" + (body.isEmpty ? "" : " '\(body)'")
        } + (end.isEmpty ? [] : [end])
    }

    var description: String { (lines + fields).joined(separator: "\n") }
}

/// The bytes of a text whose characters stand for one byte each: `"\u{0}"` is NUL, `"\u{80}"` is 0x80.
func raw(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}
