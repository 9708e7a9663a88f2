import HTTPServer
import OwnThread
import Testing

/// Runs serially: in parallel, the cases would keep every pool thread from the tests that wait for sockets.
@Suite(.serialized, .timeLimit(.minutes(1)), .ownThread)
struct ParserTests {
    @Test("A well-formed request is parsed correctly", arguments: wellFormed)
    func reads(_ input: CorpusCase) {
        #expect(Transcript(input.bytes).lines == input.lines)
    }

    @Test("A malformed, ambiguous or oversized request is refused with its status", arguments: malformed)
    func refuses(_ input: CorpusCase) {
        #expect(Transcript(input.bytes).lines == input.lines)
    }

    @Test("The result doesn't depend on how the input is split", arguments: wellFormed + malformed)
    func splits(_ input: CorpusCase) {
        let whole = Transcript(input.bytes)
        let count = input.bytes.count
        #expect(Transcript(input.bytes, cuts: Array(0...count)) == whole, "byte by byte")
        // The middle of a long input is uniform, so cuts there are all alike.
        let cuts = Array(0...min(count, 160)) + Array(max(0, count - 160)...count)
        for cut in cuts where Transcript(input.bytes, cuts: [cut]) != whole {
            Issue.record("cut at \(cut): \(Transcript(input.bytes, cuts: [cut])), not \(whole)")
        }
        guard count <= 48 else { return }
        for first in 0...count {
            for second in first...count where Transcript(input.bytes, cuts: [first, second]) != whole {
                Issue.record("cut at \(first) and \(second)")
            }
        }
    }

    @Test("Header fields keep their order, their spelling and their inner white space")
    func fields() {
        let text = "GET / HTTP/1.1\r\nHoST:h\r\nx-A: 1\r\nX-a: \t2  3\t \r\nEmpty:\r\n\r\n"
        #expect(Transcript(raw(text)).fields == ["HoST: h", "x-A: 1", "X-a: 2  3", "Empty: "])
        for cut in 0..<text.utf8.count {
            #expect(
                Transcript(raw(text), cuts: [cut]).fields == ["HoST: h", "x-A: 1", "X-a: 2  3", "Empty: "])
        }
    }

    @Test("Each limit is exact")
    func limits() {
        var limits = Limits()
        limits.requestLineBytesMax = 14
        limits.headerCountMax = 2
        limits.headerBytesMax = 17
        limits.bodyBytesMax = 3
        func outcome(_ text: String) -> [String] {
            let whole = Transcript(raw(text), limits: limits)
            #expect(Transcript(raw(text), cuts: Array(0...text.utf8.count), limits: limits) == whole)
            return whole.lines
        }
        #expect(outcome("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n") == ["GET /"])
        #expect(outcome("GET /a HTTP/1.1\r\nHost: h\r\n\r\n") == ["414 requestLineTooLong"])
        #expect(outcome("GET / HTTP/1.1\r\nHost: h\r\nA: bc\r\n\r\n") == ["431 headersTooLarge"])
        #expect(outcome("GET / HTTP/1.1\r\nHost:\r\nA:\r\nB:\r\n\r\n") == ["431 headersTooLarge"])
        limits.headerBytesMax = 1000
        let post = "POST / HTTP/1.1\r\n"
        limits.requestLineBytesMax = 15
        #expect(outcome(post + "Host: h\r\nContent-Length: 3\r\n\r\nabc") == ["POST / 'abc'"])
        #expect(outcome(post + "Host: h\r\nContent-Length: 4\r\n\r\nabcd") == ["413 bodyTooLarge"])
        let chunked = post + "Host: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(outcome(chunked + "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n") == ["POST / 'abc'"])
        #expect(outcome(chunked + "1\r\na\r\n3\r\nbcd\r\n0\r\n\r\n") == ["413 bodyTooLarge"])
    }

    @Test("A path's own limit of the body is exact, and other paths keep theirs")
    func limitsOfPaths() {
        var limits = Limits()
        limits.bodyBytesMax = 3
        limits.bodyBytesMaxOfPaths = ["/a": 5]
        func outcome(_ target: String, _ count: Int, isChunked: Bool) -> [String] {
            let body = String(repeating: "b", count: count)
            let rest =
                isChunked
                ? "Transfer-Encoding: chunked\r\n\r\n2\r\nbb\r\n\(count - 2)\r\n\(body.dropFirst(2))\r\n0\r\n\r\n"
                : "Content-Length: \(count)\r\n\r\n\(body)"
            let text = "POST \(target) HTTP/1.1\r\nHost: h\r\n\(rest)"
            let whole = Transcript(raw(text), limits: limits)
            #expect(Transcript(raw(text), cuts: Array(0...text.utf8.count), limits: limits) == whole)
            return whole.lines
        }
        for isChunked in [false, true] {
            for target in ["/a", "/a?x", "http://h/a"] {
                #expect(outcome(target, 5, isChunked: isChunked) == ["POST \(target) 'bbbbb'"])
                #expect(outcome(target, 6, isChunked: isChunked) == ["413 bodyTooLarge"])
            }
            for target in ["/", "/a/", "/A"] {
                #expect(outcome(target, 4, isChunked: isChunked) == ["413 bodyTooLarge"])
            }
        }
    }

    @Test("The phase and the expectation of 100 Continue follow the input")
    func phases() {
        var parser = RequestParser(limits: Limits())
        func feed(_ text: String) -> String {
            var offset = 0
            _ = parser.parse(raw(text).span, &offset)
            return "\(parser.phase) \(parser.awaitsContinue)"
        }
        #expect(feed("") == "idle false")
        #expect(feed("POST / HT") == "head false")
        #expect(feed("TP/1.1\r\nHost: h\r\n") == "head false")
        #expect(parser.unfinished == nil)
        #expect(feed("Expect: 100-continue\r\nContent-Length: 2\r\n\r\n") == "body true")
        #expect(parser.unfinished?.target == "/")
        #expect(feed("a") == "body false")
        #expect(feed("b") == "idle false")
        #expect(parser.unfinished == nil)
        #expect(feed("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n") == "body false")
        #expect(feed("ab") == "idle false")
        let chunked =
            "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(feed(chunked) == "body true")
        #expect(feed("1") == "body false")
    }

    @Test("After a refusal the parser consumes nothing and repeats the refusal")
    func staysRefused() {
        var parser = RequestParser(limits: Limits())
        var offset = 0
        _ = parser.parse(raw("bad\r\n").span, &offset)
        offset = 0
        guard case .refused(.malformedRequestLine) = parser.parse(raw("GET / HTTP/1.1\r\n").span, &offset)
        else {
            Issue.record("went on after a refusal")
            return
        }
        #expect(offset == 0)
    }

    @Test("A request exposes its path, its query and the query's values")
    func targets() {
        func parsed(_ text: String) -> Request? {
            var parser = RequestParser(limits: Limits())
            var offset = 0
            guard case .request(let request) = parser.parse(raw(text).span, &offset) else { return nil }
            return request
        }
        let origin = parsed("GET /a%20b?c=%41+&d&=e&c=2 HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(origin?.path == "/a%20b")
        #expect(origin?.query == "c=%41+&d&=e&c=2")
        #expect(origin?.queryValue("c") == "A+")
        #expect(origin?.queryValue("d") == "")
        #expect(origin?.queryValue("e") == nil)
        let absolute = parsed("GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(absolute?.path == "/")
        #expect(absolute?.query == "q")
        #expect(absolute?.target == "http://h?q")
        #expect(parsed("GET https://h/p/ HTTP/1.1\r\nHost: h\r\n\r\n")?.path == "/p/")
        #expect(parsed("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")?.path == "*")
        #expect(Request(target: "/x?y=%C3%A4").queryValue("y") == "ä")
        #expect(Request(target: "/x?y=%FF").queryValue("y") == nil)
        #expect(Request(target: "/x", headers: [("A", "b")]).headers["a"] == "b")
    }
}
