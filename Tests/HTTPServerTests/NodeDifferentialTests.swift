import Foundation
import HTTPServer
import Testing

/// Compares what our parser makes of hostile inputs with what Node's makes of them.
///
/// Being stricter is fine: a refused request can't be smuggled past anybody. Other differences must be in `Difference`,
/// with their reasons.
@Suite(.timeLimit(.minutes(3)))
struct NodeDifferentialTests {
    /// Why the result for an input may differ from Node's.
    enum Difference: Hashable {
        /// We refuse what Node accepts.
        case stricter
        /// Node has a list of methods and refuses others. Here any token is a method, and one that the path lacks gets
        /// 405: the framing doesn't depend on it.
        case methodUnknownToNode
        /// Node drops all input after a request with `Upgrade`. A server may ignore that field (RFC 9110, section 7.8);
        /// without a 101 the connection stays HTTP/1.1, and what follows is a request.
        case requestAfterUpgrade
        /// A difference without a known reason.
        case unexplained(String)
    }

    static func difference(
        _ input: [UInt8], _ ours: Transcript, _ node: NodeOutcome, methods: Set<String>
    ) -> Difference? {
        for (mine, theirs) in zip(ours.requests, node.requests) {
            guard mine.method == theirs.method else { return .unexplained("method") }
            guard hexadecimal(mine.target.utf8) == theirs.url else { return .unexplained("target") }
            guard hexadecimal(mine.body) == theirs.body else { return .unexplained("body") }
        }
        if ours.requests.count > node.requests.count {
            let first = ours.requests[node.requests.count]
            if let last = ours.requests[..<node.requests.count].last, last.asksToUpgrade, node.error == nil {
                return .requestAfterUpgrade
            }
            return methods.contains(first.method) ? .unexplained("Node refuses it") : .methodUnknownToNode
        }
        guard ours.requests.count < node.requests.count else { return nil }
        // Where we wait for the end of a line, Node before version 20 may accept a lone CR, so the line's end decides.
        let end = ours.end == "more" ? Transcript(input + Array("\r\n\r\n".utf8)).end : ours.end
        let isRefused = end.first?.isNumber == true
        return isRefused ? .stricter : .unexplained("Node sees another request; we: '\(ours.end)'")
    }

    /// Checks all inputs and returns how many differed, by reason.
    static func compare(_ inputs: [(name: String, bytes: [UInt8])]) async throws -> [Difference: Int] {
        let node = try await NodeParser(inputs.map(\.bytes))
        var counts: [Difference: Int] = [:]
        for (input, outcome) in zip(inputs, node.outcomes) {
            let ours = Transcript(input.bytes)
            guard let found = difference(input.bytes, ours, outcome, methods: node.methods) else { continue }
            counts[found, default: 0] += 1
            if case .unexplained(let what) = found {
                let text = String(decoding: input.bytes.prefix(600), as: UTF8.self).debugDescription
                Issue.record("\(input.name): \(what)\ninput \(text)\nours \(ours.lines)\nnode \(outcome)")
            }
        }
        return counts
    }

    @Test("On the corpus, the parser accepts nothing that Node refuses and agrees with Node on the rest")
    func corpus() async throws {
        let cases = (wellFormed + malformed).map { (name: $0.name, bytes: $0.bytes) }
        let counts = try await Self.compare(cases)
        // If the script saw nothing at all, nothing would differ either.
        #expect(counts[.stricter, default: 0] > 10)
        #expect(counts[.stricter, default: 0] < malformed.count)
    }

    @Test("The same is true for mutations of the corpus")
    func mutations() async throws {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["HTTP_DIFFERENTIAL_CASES"].flatMap(Int.init) ?? 3000
        var mutator = Mutator(seed: environment["HTTP_DIFFERENTIAL_SEED"].flatMap(UInt64.init) ?? 1)
        let inputs = (0..<count).map { (name: "mutation \($0)", bytes: mutator.next()) }
        let counts = try await Self.compare(inputs)
        #expect(counts[.stricter, default: 0] > 10)
    }
}

/// Derives hostile inputs from the corpus, always the same ones for one seed.
struct Mutator {
    private static let bases = (wellFormed + malformed).map(\.bytes).filter { (1...400).contains($0.count) }
    /// The bytes and words to insert, which parsers have stumbled over.
    private static let pieces: [[UInt8]] = [
        "\r", "\n", "\r\n", "\r\n\r\n", "\n\n", " ", "\t", "\u{0}", "\u{B}", "\u{C}", "\u{7F}", "\u{80}",
        "\u{A0}", "\u{FF}", ":", ";",
        ",", "=", "\"", "\\", "#", "%", "+", "-", "0", "1", "3", "9", "a", "F", "x", "0x", "chunked",
        "identity", "close",
        "keep-alive", "Content-Length: 3\r\n", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\n", "Host: h\r\n", "Host: i\r\n", "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "Expect: 100-continue\r\n", "Upgrade: x\r\n", "0\r\n\r\n", "3\r\nabc\r\n", "GET / HTTP/1.1\r\n",
        "HTTP/1.0", "HTTP/1.1",
        "HTTP/2.0", "http://h", "//", "*", "HEAD", "OPTIONS", "CONNECT", "POST", "Trailer: A\r\n",
        "Proxy-Connection: keep-alive\r\n",
    ].map(raw)

    private var state: UInt64

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    }

    /// Xorshift64*.
    private mutating func random(below bound: Int) -> Int {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return Int((state &* 0x2545_F491_4F6C_DD1D) >> 33) % bound
    }

    mutating func next() -> [UInt8] {
        var bytes = Self.bases[random(below: Self.bases.count)]
        for _ in 0...random(below: 3) { mutate(&bytes) }
        return bytes
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        let place = random(below: bytes.count + 1)
        let end = min(bytes.count, place + 1 + random(below: 8))
        let piece = Self.pieces[random(below: Self.pieces.count)]
        switch random(below: 6) {
        case 0: bytes.insert(contentsOf: piece, at: place)
        case 1: bytes.replaceSubrange(place..<end, with: piece)
        case 2: bytes.removeSubrange(place..<end)
        case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 4 where place < bytes.count: bytes[place] ^= 1 << UInt8(random(below: 8))
        case 5:
            let other = Self.bases[random(below: Self.bases.count)]
            bytes.insert(contentsOf: other, at: place)
        default: bytes.append(contentsOf: piece)
        }
        if bytes.isEmpty { bytes = [UInt8(ascii: "G")] }
    }
}
