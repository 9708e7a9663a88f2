import HTTPServer

/// A parser's results for some input, as lines that are readable and comparable.
///
/// `POST /path [host: h] 'body'` for each request, then `400 invalidFraming` for a refusal, `more` if a request is
/// incomplete, or nothing if the input ended between requests. A request that closes the connection is the last one.
struct Transcript: Equatable, CustomStringConvertible {
    struct Item: Equatable, Sendable {
        var method: String
        var target: String
        var body: [UInt8]
        var asksToUpgrade: Bool
    }

    var requests: [Item] = []
    /// Header fields of all requests, even of a refused one whose headers were read; few corpus entries need them.
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

    /// Feeds one piece; returns false if the connection would stop reading.
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

/// The bytes of a string whose characters stand for one byte each: `"\u{0}"` is NUL, `"\u{80}"` is 0x80.
func raw(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}
