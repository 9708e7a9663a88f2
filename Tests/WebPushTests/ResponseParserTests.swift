import HTTP2
import Testing

@testable import WebPush

@Suite("Responses of HTTP/1.1", .timeLimit(.minutes(1)))
struct ResponseParserTests {
    private struct Parsed: Equatable {
        var progress: ResponseParser.Progress
        var status: Int?
        var body: String?
        var keeps: Bool

        init(_ progress: ResponseParser.Progress, _ status: Int?, _ body: String? = "", keeps: Bool = false) {
            self.progress = progress
            self.status = status
            self.body = status == nil ? nil : body
            self.keeps = keeps
        }
    }

    /// Parses a response in one piece, and byte by byte, which must give the same status.
    private func parse(_ text: String) -> Parsed {
        var whole = ResponseParser()
        let progress = whole.take(Array(text.utf8))
        var slow = ResponseParser()
        var last = ResponseParser.Progress.incomplete
        for byte in text.utf8 where last == .incomplete { last = slow.take([byte]) }
        #expect(last == progress && slow.response?.status == whole.response?.status)
        return Parsed(
            progress, whole.response?.status,
            whole.response.map { String(decoding: $0.body, as: UTF8.self) },
            keeps: progress == .complete && whole.keepsConnection)
    }

    @Test("the end of a response follows from its length, its chunks or its connection")
    func framing() {
        let head = "HTTP/1.1 201 Created\r\n"
        #expect(parse(head + "Content-Length: 0\r\n\r\n") == Parsed(.complete, 201, keeps: true))
        #expect(parse(head + "content-length:  2 \r\n\r\nhi") == Parsed(.complete, 201, "hi", keeps: true))
        #expect(parse(head + "Content-Length: 3\r\n\r\nhi") == Parsed(.incomplete, 201, "hi"))
        #expect(
            parse(head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == Parsed(.complete, 201, keeps: true)
        )
        #expect(
            parse(head + "Transfer-Encoding: Chunked\r\n\r\n2;x=y\r\nhi\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n")
                == Parsed(.complete, 201, "hi!", keeps: true))
        #expect(
            parse(head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhi") == Parsed(.incomplete, 201, "hi"))
        #expect(parse(head + "\r\nuntil the end") == Parsed(.incomplete, 201, "until the end"))
        #expect(parse("HTTP/1.1 204 No Content\r\n\r\n") == Parsed(.complete, 204, keeps: true))
        #expect(
            parse("HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200\r\nContent-Length: 0\r\n\r\n")
                == Parsed(.complete, 200, keeps: true))
    }

    @Test("a connection is kept only if the service keeps it and nothing follows")
    func keeping() {
        #expect(
            parse("HTTP/1.1 201 Created\r\nConnection: Keep-Alive, Close\r\nContent-Length: 0\r\n\r\n")
                == Parsed(.complete, 201))
        #expect(parse("HTTP/1.0 201 Created\r\nContent-Length: 0\r\n\r\n") == Parsed(.complete, 201))
        #expect(parse("HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nab").keeps == false)
        #expect(parse("HTTP/1.1 201 C\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP").keeps == false)
    }

    @Test(
        "what isn't a response is malformed",
        arguments: [
            "\0\u{FF}no HTTP at all\r\n", "HTTP/2 200\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 099 No\r\n",
            "HTTP/1.1 200 OK\r\n folded\r\n", "HTTP/1.1 200 OK\r\n: x\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: ResponseParser.headBytesMax),
        ])
    func malformed(_ text: String) {
        #expect(parse(text) == Parsed(.malformed, nil))
    }

    @Test("malformed chunks leave the status, which counts")
    func malformedChunks() {
        for chunks in ["x\r\n", "\r\n", "2\r\nhixx", "123456789\r\n"] {
            #expect(
                parse("HTTP/1.1 410 Gone\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks).status == 410)
        }
    }

    @Test("a response ends at the longest body that is read, whatever its framing")
    func huge() {
        let body = String(repeating: "x", count: 3 * Answer.bodyBytesMax)
        let read = String(body.prefix(Answer.bodyBytesMax))
        for text in [
            "Content-Length: 99999999\r\n\r\n", "\r\n", "Transfer-Encoding: chunked\r\n\r\nFFFF\r\n",
        ] {
            #expect(parse("HTTP/1.1 413 Too Large\r\n" + text + body) == Parsed(.complete, 413, read))
        }
        let crumbs = String(repeating: "1;" + String(repeating: "x", count: 100) + "\r\nx\r\n", count: 200)
        #expect(
            parse("HTTP/1.1 413 Too Large\r\nTransfer-Encoding: chunked\r\n\r\n" + crumbs).progress
                == .malformed)
    }

    @Test("Retry-After is a number of seconds or a date")
    func retryAfter() {
        var parser = ResponseParser()
        _ = parser.take(Array("HTTP/1.1 503 Busy\r\nRetry-After:\t 120 \r\n\r\n".utf8))
        #expect(parser.response?.fields.string("retry-after") == "120")
        #expect(RetryAfter.seconds("120", at: 0) == 120)
        #expect(RetryAfter.seconds("Sun, 06 Nov 1994 08:49:37 GMT", at: 784_111_700) == 77)
        #expect(RetryAfter.seconds("Sun, 06 Nov 1994 08:49:37 GMT", at: 784_111_800) == -23)
        for text in ["", "-1", "1.5", "soon", "Sun, 06 Nov 1994 08:49:37 GMT+1", "99999999999999999999"] {
            #expect(RetryAfter.seconds(text, at: 0) == nil, "\(text)")
        }
    }
}
