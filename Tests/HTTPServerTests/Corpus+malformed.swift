private let host = "Host: h\r\n"
private let chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

private func get(_ fields: String) -> String { "GET / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n" }

private func target(_ target: String) -> String { "GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n" }

/// Refused requests, most of which two servers could interpret differently.
let malformed: [CorpusCase] = smuggling + malformedLines + malformedTargets + malformedChunks + tooMuch

private let smuggling: [CorpusCase] = [
    CorpusCase(
        "length and chunked", get("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n",
        "400 invalidFraming"),
    CorpusCase(
        "chunked and length", get("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") + "0\r\n\r\n",
        "400 invalidFraming"),
    CorpusCase("two lengths", get("Content-Length: 1\r\nContent-Length: 2\r\n") + "ab", "400 invalidFraming"),
    CorpusCase(
        "the same length twice", get("Content-Length: 1\r\nContent-Length: 1\r\n") + "a", "400 invalidFraming"
    ),
    CorpusCase("a list of lengths", get("Content-Length: 1, 1\r\n") + "a", "400 invalidFraming"),
    CorpusCase("signed length", get("Content-Length: +1\r\n") + "a", "400 invalidFraming"),
    CorpusCase("negative length", get("Content-Length: -1\r\n"), "400 invalidFraming"),
    CorpusCase("hexadecimal length", get("Content-Length: 0x1\r\n") + "a", "400 invalidFraming"),
    CorpusCase("length with a space inside", get("Content-Length: 1 0\r\n"), "400 invalidFraming"),
    CorpusCase("empty length", get("Content-Length:\r\n"), "400 invalidFraming"),
    CorpusCase("fractional length", get("Content-Length: 1.0\r\n"), "400 invalidFraming"),
    CorpusCase("length with a comma", get("Content-Length: 1,\r\n") + "a", "400 invalidFraming"),
    CorpusCase(
        "length over 64 bits", get("Content-Length: 18446744073709551617\r\n") + "a", "413 bodyTooLarge"),
    CorpusCase("unknown coding", get("Transfer-Encoding: gzip\r\n"), "400 invalidFraming"),
    CorpusCase("identity", get("Transfer-Encoding: identity\r\n"), "400 invalidFraming"),
    CorpusCase("empty coding", get("Transfer-Encoding:\r\n"), "400 invalidFraming"),
    CorpusCase("chunked, then another", get("Transfer-Encoding: chunked, gzip\r\n"), "400 invalidFraming"),
    CorpusCase("chunked twice", get("Transfer-Encoding: chunked, chunked\r\n"), "400 invalidFraming"),
    CorpusCase(
        "chunked in two fields", get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        "400 invalidFraming"),
    CorpusCase(
        "chunked after identity", get("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"),
        "400 invalidFraming"),
    CorpusCase(
        "chunked behind another", get("Transfer-Encoding: gzip, chunked\r\n"), "501 unsupportedTransferCoding"
    ),
    CorpusCase("chunked with a parameter", get("Transfer-Encoding: chunked;a=b\r\n"), "400 invalidFraming"),
    CorpusCase("chunked in quotes", get("Transfer-Encoding: \"chunked\"\r\n"), "400 invalidFraming"),
    CorpusCase(
        "chunked with a vertical tab", get("Transfer-Encoding: \u{0B}chunked\r\n"), "400 malformedHeader"),
    CorpusCase("almost chunked", get("Transfer-Encoding: xchunked\r\n"), "400 invalidFraming"),
    CorpusCase(
        "chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "400 invalidFraming"),
    CorpusCase("space before the colon", get("Content-Length : 1\r\n") + "a", "400 malformedHeader"),
    CorpusCase("tab before the colon", get("Transfer-Encoding\t: chunked\r\n"), "400 malformedHeader"),
    CorpusCase("folded value", get("A: b\r\n c\r\n"), "400 malformedHeader"),
    CorpusCase("folded coding", get("Transfer-Encoding:\r\n chunked\r\n"), "400 invalidFraming"),
    CorpusCase("folded first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", "400 malformedHeader"),
    CorpusCase("folded with a tab", get("A: b\r\n\tContent-Length: 5\r\n"), "400 malformedHeader"),
    CorpusCase("no host", "GET / HTTP/1.1\r\n\r\n", "400 invalidHost"),
    CorpusCase("two hosts", get("Host: i\r\n"), "400 invalidHost"),
    CorpusCase("the same host twice", get("Host: h\r\n"), "400 invalidHost"),
    CorpusCase("host with a path", "GET / HTTP/1.1\r\nHost: h/i\r\n\r\n", "400 invalidHost"),
    CorpusCase("host with user information", "GET / HTTP/1.1\r\nHost: a@h\r\n\r\n", "400 invalidHost"),
    CorpusCase("host with a space", "GET / HTTP/1.1\r\nHost: h i\r\n\r\n", "400 invalidHost"),
    CorpusCase("host list", "GET / HTTP/1.1\r\nHost: h, i\r\n\r\n", "400 invalidHost"),
    CorpusCase("host with a bad port", "GET / HTTP/1.1\r\nHost: h:8a\r\n\r\n", "400 invalidHost"),
    CorpusCase("host with two ports", "GET / HTTP/1.1\r\nHost: h:8:9\r\n\r\n", "400 invalidHost"),
    CorpusCase("host with an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "400 invalidHost"),
    CorpusCase(
        "absolute form of another host", "GET http://i/ HTTP/1.1\r\nHost: h\r\n\r\n", "400 invalidHost"),
    CorpusCase("absolute form without host", "GET http://h/ HTTP/1.1\r\n\r\n", "400 invalidHost"),
    CorpusCase("other expectation", get("Expect: 200-ok\r\n"), "417 unsupportedExpectation"),
    CorpusCase("two expectations", get("Expect: 100-continue, x\r\n"), "417 unsupportedExpectation"),
    CorpusCase(
        "expectation after another", get("Expect: x\r\nExpect: 100-continue\r\n"),
        "417 unsupportedExpectation"),
    CorpusCase(
        "smuggled by a GET's length", get("Content-Length: 3\r\n") + "abcX / HTTP/1.1\r\n\r\n", "GET / 'abc'",
        "400 invalidHost"),
]

private let malformedLines: [CorpusCase] = [
    CorpusCase(
        "bare line feed after the request line", "GET / HTTP/1.1\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("bare line feed after a field", "GET / HTTP/1.1\r\nHost: h\n\r\n", "400 malformedHeader"),
    CorpusCase("bare line feed at the end", "GET / HTTP/1.1\r\n\(host)\n", "400 malformedHeader"),
    CorpusCase("bare line feed first", "\nGET / HTTP/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("bare CR in a value", get("A: b\rc\r\n"), "400 malformedHeader"),
    CorpusCase("bare CR before CRLF", get("A: b\r\r\n"), "400 malformedHeader"),
    CorpusCase("bare CR hiding a field", get("A: b\rContent-Length: 5\r\n"), "400 malformedHeader"),
    CorpusCase("bare CR in the request line", "GET /\r HTTP/1.1\r\n\(host)\r\n", "400 malformedTarget"),
    CorpusCase("NUL in a value", get("A: b\u{0}c\r\n"), "400 malformedHeader"),
    CorpusCase("NUL in a name", get("A\u{0}: b\r\n"), "400 malformedHeader"),
    CorpusCase("NUL in the method", "G\u{0}T / HTTP/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("DEL in a value", get("A: \u{7F}\r\n"), "400 malformedHeader"),
    CorpusCase("control character in a value", get("A: \u{1}\r\n"), "400 malformedHeader"),
    CorpusCase("no colon", get("Header\r\n"), "400 malformedHeader"),
    CorpusCase("empty name", get(": b\r\n"), "400 malformedHeader"),
    CorpusCase("space in a name", get("A B: c\r\n"), "400 malformedHeader"),
    CorpusCase("bracket in a name", get("A[]: c\r\n"), "400 malformedHeader"),
    CorpusCase("byte above ASCII in a name", get("\u{C4}: c\r\n"), "400 malformedHeader"),
    CorpusCase("two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("space first", " GET / HTTP/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("two spaces before the target", "GET  / HTTP/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("two spaces before the version", "GET /  HTTP/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("tab for a space", "GET\t/ HTTP/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("space behind the version", "GET / HTTP/1.1 \r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("HTTP/0.9", "GET /\r\n", "400 malformedRequestLine"),
    CorpusCase("version in small letters", "GET / http/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("version with two digits", "GET / HTTP/1.10\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("version without a minor", "GET / HTTP/1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("other protocol", "GET / ICY/1.11\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("HTTP/1.2", "GET / HTTP/1.2\r\n\(host)\r\n", "505 unsupportedVersion"),
    CorpusCase("HTTP/2.0 in text", "GET / HTTP/2.0\r\n\(host)\r\n", "505 unsupportedVersion"),
    CorpusCase("HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 unsupportedVersion"),
    CorpusCase("HTTP/0.9 by number", "GET / HTTP/0.9\r\n\(host)\r\n", "505 unsupportedVersion"),
    CorpusCase("TLS hello", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\n", "400 malformedRequestLine"),
    CorpusCase("method with a slash", "G/T / HTTP/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
    CorpusCase("no method", "/ HTTP/1.1\r\n\(host)\r\n", "400 malformedRequestLine"),
]

private let malformedTargets: [CorpusCase] = [
    CorpusCase("relative", target("a"), "400 malformedTarget"),
    CorpusCase("asterisk of GET", target("*"), "400 malformedTarget"),
    CorpusCase("asterisk and more", "OPTIONS *a HTTP/1.1\r\n\(host)\r\n", "400 malformedTarget"),
    CorpusCase("fragment", target("/#a"), "400 malformedTarget"),
    CorpusCase("NUL", target("/\u{0}"), "400 malformedTarget"),
    CorpusCase("tab", target("/\ta"), "400 malformedTarget"),
    CorpusCase("above ASCII", target("/\u{E4}"), "400 malformedTarget"),
    CorpusCase("quote", target("/\"a"), "400 malformedTarget"),
    CorpusCase("backslash", target("/a\\b"), "400 malformedTarget"),
    CorpusCase("angle brackets", target("/<a>"), "400 malformedTarget"),
    CorpusCase("half a percent-encoding", target("/%4"), "400 malformedTarget"),
    CorpusCase("percent without digits", target("/%zz"), "400 malformedTarget"),
    CorpusCase("other scheme", target("ftp://h/"), "400 malformedTarget"),
    CorpusCase("absolute without host", target("http:///a"), "400 malformedTarget"),
    CorpusCase("absolute with user information", target("http://u@h/"), "400 malformedTarget"),
    CorpusCase("authority form", "CONNECT h:443 HTTP/1.1\r\n\(host)\r\n", "501 tunnelNotSupported"),
    CorpusCase("authority form of GET", target("h:443"), "400 malformedTarget"),
]

private let malformedChunks: [CorpusCase] = [
    CorpusCase("no size", chunked + "\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("size that isn't hexadecimal", chunked + "g\r\n", "400 malformedChunk"),
    CorpusCase("size with 0x", chunked + "0x3\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("signed size", chunked + "+3\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("negative size", chunked + "-1\r\n", "400 malformedChunk"),
    CorpusCase("space before a size", chunked + " 3\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("space behind a size", chunked + "3 \r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("seventeen digits", chunked + "00000000000000003\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("size over 64 bits", chunked + "10000000000000000\r\n", "413 bodyTooLarge"),
    CorpusCase("size that would wrap", chunked + "fffffffffffffffe\r\n", "413 bodyTooLarge"),
    CorpusCase("size ended by a line feed", chunked + "3\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("size ended by a CR", chunked + "3\rabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("data longer than its size", chunked + "3\r\nabcd\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("data shorter than its size", chunked + "4\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("data ended by a line feed", chunked + "3\r\nabc\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("data ended by two other bytes", chunked + "3\r\nabcXX0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("extension without a name", chunked + "3;\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase(
        "extension with a bare line feed", chunked + "3;a\nb\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("extension with a bare CR", chunked + "3;a\rb\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase(
        "extension with a line feed in quotes", chunked + "3;a=\"\n\"\r\nabc\r\n0\r\n\r\n",
        "400 malformedChunk"),
    CorpusCase("extension with an open quote", chunked + "3;a=\"b\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("extension with NUL", chunked + "3;a\u{0}\r\nabc\r\n0\r\n\r\n", "400 malformedChunk"),
    CorpusCase("trailer ended by a line feed", chunked + "0\r\nA: b\n\r\n", "400 malformedHeader"),
    CorpusCase("bare line feed for the last line", chunked + "0\r\n\n", "400 malformedHeader"),
    CorpusCase("folded trailer", chunked + "0\r\nA: b\r\n c\r\n\r\n", "400 malformedHeader"),
    CorpusCase("trailer without a colon", chunked + "0\r\nA\r\n\r\n", "400 malformedHeader"),
    CorpusCase(
        "trailer with a space before the colon", chunked + "0\r\nA : b\r\n\r\n", "400 malformedHeader"),
    CorpusCase("length in the trailer", chunked + "0\r\nContent-Length: 3\r\n\r\n", "400 malformedHeader"),
    CorpusCase(
        "coding in the trailer", chunked + "0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 malformedHeader"),
    CorpusCase("host in the trailer", chunked + "0\r\nHost: i\r\n\r\n", "400 malformedHeader"),
    CorpusCase(
        "connection in the trailer", chunked + "0\r\nConnection: close\r\n\r\n", "400 malformedHeader"),
    CorpusCase("request for a trailer", chunked + "0\r\nGET / HTTP/1.1\r\n\r\n", "400 malformedHeader"),
]

private func times(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

private let tooMuch: [CorpusCase] = [
    CorpusCase("request line over its limit", target("/" + times("a", 9000)), "414 requestLineTooLong"),
    CorpusCase("request line without end", times("a", 9000), "414 requestLineTooLong"),
    CorpusCase(
        "one field over the bytes of all", get("A: " + times("b", 17_000) + "\r\n"), "431 headersTooLarge"),
    CorpusCase(
        "fields over their bytes", get(times("A: " + times("b", 1000) + "\r\n", 17)), "431 headersTooLarge"),
    CorpusCase("fields over their number", get(times("A: b\r\n", 100)), "431 headersTooLarge"),
    CorpusCase("field without end", "GET / HTTP/1.1\r\nHost: " + times("h", 17_000), "431 headersTooLarge"),
    CorpusCase("length over its limit", get("Content-Length: 16385\r\n"), "413 bodyTooLarge"),
    CorpusCase("chunk over the limit", chunked + "4001\r\n", "413 bodyTooLarge"),
    CorpusCase(
        "chunks over the limit", chunked + "4000\r\n" + times("a", 0x4000) + "\r\n1\r\n", "413 bodyTooLarge"),
    CorpusCase("extension over its limit", chunked + "1;" + times("a", 1100) + "\r\n", "413 bodyTooLarge"),
    CorpusCase("extensions over their limit", chunked + times("1;a\r\nb\r\n", 600), "413 bodyTooLarge"),
    CorpusCase("trailer over its bytes", chunked + "0\r\nA: " + times("b", 5000), "431 headersTooLarge"),
    CorpusCase(
        "trailer over its number", chunked + "0\r\n" + times("A: b\r\n", 33) + "\r\n", "431 headersTooLarge"),
]
