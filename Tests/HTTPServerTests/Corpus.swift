import Testing

/// An input and the expected result of the parser; see `Transcript.lines`.
struct CorpusCase: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let lines: [String]

    init(_ name: String, _ text: String, _ lines: String...) {
        self.name = name
        bytes = raw(text)
        self.lines = lines
    }

    var testDescription: String { name }
}

private let host = "Host: h\r\n"

/// Accepted requests.
let wellFormed: [CorpusCase] = [
    CorpusCase("smallest", "GET / HTTP/1.1\r\n\(host)\r\n", "GET /"),
    CorpusCase(
        "two, pipelined", "GET /a HTTP/1.1\r\n\(host)\r\nGET /b HTTP/1.1\r\n\(host)\r\n", "GET /a", "GET /b"),
    CorpusCase(
        "length, then another",
        "POST /a HTTP/1.1\r\n\(host)Content-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\n\(host)\r\n",
        "POST /a 'abc'", "GET /b"),
    CorpusCase("length zero", "POST / HTTP/1.1\r\n\(host)Content-Length: 0\r\n\r\n", "POST /"),
    CorpusCase(
        "length with leading zeros", "POST / HTTP/1.1\r\n\(host)Content-Length: 003\r\n\r\nabc",
        "POST / 'abc'"),
    CorpusCase("no length, no body", "POST / HTTP/1.1\r\n\(host)\r\n", "POST /"),
    CorpusCase("GET with a body", "GET / HTTP/1.1\r\n\(host)Content-Length: 2\r\n\r\nhi", "GET / 'hi'"),
    CorpusCase(
        "body of CRLFs", "POST / HTTP/1.1\r\n\(host)Content-Length: 4\r\n\r\n\r\n\r\n", "POST / '\r\n\r\n'"),
    CorpusCase(
        "chunked",
        "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "POST / 'abcde'"),
    CorpusCase(
        "chunked, in capitals",
        "POST / HTTP/1.1\r\n\(host)TRANSFER-ENCODING: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
        "POST / '0123456789'"),
    CorpusCase(
        "chunk size with leading zeros",
        "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n0003\r\nabc\r\n000\r\n\r\n",
        "POST / 'abc'"),
    CorpusCase(
        "chunk extensions",
        "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n3;a;b=c;d=\"e f\"\r\nabc\r\n0;last\r\n\r\n",
        "POST / 'abc'"),
    CorpusCase(
        "trailers, dropped",
        "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n"
            + "GET /b HTTP/1.1\r\n\(host)\r\n", "POST / 'a'", "GET /b"),
    CorpusCase("an empty line first", "\r\nGET / HTTP/1.1\r\n\(host)\r\n", "GET /"),
    CorpusCase(
        "an empty line between", "GET /a HTTP/1.1\r\n\(host)\r\n\r\nGET /b HTTP/1.1\r\n\(host)\r\n", "GET /a",
        "GET /b"),
    CorpusCase("nothing", ""),
    CorpusCase("only an empty line", "\r\n"),
    CorpusCase("asterisk", "OPTIONS * HTTP/1.1\r\n\(host)\r\n", "OPTIONS *"),
    CorpusCase("absolute form", "GET http://h/a?b HTTP/1.1\r\n\(host)\r\n", "GET http://h/a?b"),
    CorpusCase("absolute form, other case", "GET HTTP://H/a HTTP/1.1\r\n\(host)\r\n", "GET HTTP://H/a"),
    CorpusCase("absolute form without path", "GET https://h HTTP/1.1\r\n\(host)\r\n", "GET https://h"),
    CorpusCase(
        "absolute form with a port", "GET http://h:80/ HTTP/1.1\r\nHost: h:80\r\n\r\n", "GET http://h:80/"),
    CorpusCase("query", "GET /a?b=c&d=%20e?/: HTTP/1.1\r\n\(host)\r\n", "GET /a?b=c&d=%20e?/:"),
    CorpusCase("two slashes", "GET //a/../b HTTP/1.1\r\n\(host)\r\n", "GET //a/../b"),
    CorpusCase("unknown method", "BREW /pot HTTP/1.1\r\n\(host)\r\n", "BREW /pot"),
    CorpusCase("HEAD, PUT", "HEAD / HTTP/1.1\r\n\(host)\r\nPUT / HTTP/1.1\r\n\(host)\r\n", "HEAD /", "PUT /"),
    CorpusCase(
        "white space around a value", "GET / HTTP/1.1\r\nHost: \t h \t\r\nA:\r\nB:  \r\n\r\n", "GET /"),
    CorpusCase("obs-text in a value", "GET / HTTP/1.1\r\n\(host)A: \u{80}\u{FF}\r\n\r\n", "GET /"),
    CorpusCase("every token character", "GET / HTTP/1.1\r\n\(host)!#$%&'*+-.^_`|~aZ9: v\r\n\r\n", "GET /"),
    CorpusCase("empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET /"),
    CorpusCase("host with a port", "GET / HTTP/1.1\r\nHost: example.com:8787\r\n\r\n", "GET /"),
    CorpusCase("IPv6 host", "GET / HTTP/1.1\r\nHost: [::1]:8787\r\n\r\n", "GET /"),
    CorpusCase(
        "close", "GET / HTTP/1.1\r\n\(host)Connection: close\r\n\r\nGET /b HTTP/1.1\r\n\r\n", "GET /",
        "closes"),
    CorpusCase("close in a list", "GET / HTTP/1.1\r\n\(host)Connection: x, Close\r\n\r\n", "GET /", "closes"),
    CorpusCase("HTTP/1.0 without host", "GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n", "GET /", "closes"),
    CorpusCase(
        "HTTP/1.0 that goes on", "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n",
        "GET /a",
        "GET /b", "closes"),
    CorpusCase(
        "HTTP/1.0 with a length", "POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\na", "POST / 'a'", "closes"),
    CorpusCase(
        "expectation", "POST / HTTP/1.1\r\n\(host)Expect: 100-Continue\r\nContent-Length: 1\r\n\r\na",
        "POST / 'a'"),
    CorpusCase("expectation in HTTP/1.0", "GET / HTTP/1.0\r\nExpect: x\r\n\r\n", "GET /", "closes"),
    CorpusCase(
        "upgrade, ignored", "GET / HTTP/1.1\r\n\(host)Connection: upgrade\r\nUpgrade: h2c\r\n\r\n", "GET /"),
    CorpusCase(
        "upgrade, then another",
        "GET /a HTTP/1.1\r\n\(host)Connection: upgrade\r\nUpgrade: x\r\n\r\nGET /b HTTP/1.1\r\n\(host)\r\n",
        "GET /a", "GET /b"),
    CorpusCase("cut in the request line", "GET /", "more"),
    CorpusCase("cut before the last line feed", "GET / HTTP/1.1\r\n\(host)\r", "more"),
    CorpusCase("cut in the body", "POST / HTTP/1.1\r\n\(host)Content-Length: 2\r\n\r\na", "more"),
    CorpusCase(
        "cut in a chunk", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n2\r\na", "more"),
    CorpusCase(
        "cut in the trailer", "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r",
        "more"),
]
