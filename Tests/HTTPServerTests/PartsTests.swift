import Network
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(2)))
struct PartsTests {
    private func encoded(_ response: Response, _ framing: ResponseEncoder.Framing = .init()) -> String {
        var buffer: [UInt8] = []
        ResponseEncoder.append(response, framing, date: Array("Date: D\r\n".utf8), to: &buffer)
        return String(decoding: buffer, as: UTF8.self)
    }

    @Test("A response is written with its length, and only the server writes framing fields")
    func encoding() {
        var response = Response(status: 404, contentType: "a/b", body: Array("0123456789".utf8))
        #expect(
            encoded(response)
                == "HTTP/1.1 404 Not Found\r\nDate: D\r\nContent-Type: a/b\r\nContent-Length: 10\r\n\r\n0123456789"
        )
        for name in ["Content-Length", "transfer-encoding", "Connection", "Keep-Alive", "date"] {
            response.headers.append(name, "1")
        }
        response.headers.append("X", "y")
        let head = "HTTP/1.1 404 Not Found\r\nDate: D\r\nContent-Type: a/b\r\nX: y\r\nContent-Length: 10\r\n"
        #expect(encoded(response, .init(isHead: true)) == head + "\r\n")
        #expect(encoded(response, .init(closes: true)) == head + "Connection: close\r\n\r\n0123456789")
        #expect(
            encoded(response, .init(grantsKeepAlive: true)) == head
                + "Connection: keep-alive\r\n\r\n0123456789")
    }

    @Test("A status without a body has no Content-Length, and an unknown status has no reason phrase")
    func statuses() {
        #expect(encoded(Response(status: 204, body: [1])) == "HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n")
        #expect(encoded(Response(status: 200)) == "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 0\r\n\r\n")
        #expect(encoded(Response(status: 299)).hasPrefix("HTTP/1.1 299 \r\n"))
        #expect(Status(rawValue: 99) == 500)
        #expect(Status(rawValue: 1000) == 500)
    }

    @Test("No header value can end its line")
    func injection() {
        let headers = Headers([("X", "a\r\nSet-Cookie: b\u{0}\u{7F}ä\tc")])
        #expect(headers["x"] == "a  Set-Cookie: b  ä\tc")
        #expect(encoded(Response(headers: headers)).contains("X: a  Set-Cookie: b  ä\tc\r\n"))
    }

    @Test("Headers are found regardless of case, first one first, and can be removed")
    func headers() {
        var headers = Headers([("Accept", "1"), ("x", "2"), ("ACCEPT", "3")])
        #expect(headers["aCCept"] == "1")
        #expect(headers.values(of: "accept") == ["1", "3"])
        #expect(headers["acceptx"] == nil)
        headers.remove("accept")
        #expect(headers.pairs.map(\.name) == ["x"])
        #expect(headers.count == 1)
    }

    @Test(
        "Dates match those of the C library",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"), (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        ])
    func dates(unixTime: Int, text: String) {
        #expect(String(decoding: HTTPDate.line(unixTime: unixTime), as: UTF8.self) == "Date: \(text)\r\n")
    }

    @Test("The bitmaps match the characters of the grammar")
    func byteClasses() {
        let alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        let tokens = Set((alphanumeric + "!#$%&'*+-.^_`|~").utf8)
        let targets = Set((alphanumeric + "-._~!$&'()*+,;=:@/?%").utf8)
        let hosts = Set((alphanumeric + "-._~!$&'()*+;=").utf8)
        for byte in UInt8.min...UInt8.max {
            #expect(ByteClass.isToken(byte) == tokens.contains(byte))
            #expect(ByteClass.isTarget(byte) == targets.contains(byte))
            #expect(ByteClass.isHostName(byte) == hosts.contains(byte))
            #expect(ByteClass.isFieldValue(byte) == (byte == 9 || byte >= 32 && byte != 127))
            #expect(ByteClass.isDigit(byte) == (48...57).contains(byte))
            let character = Character(Unicode.Scalar(byte))
            #expect(ByteClass.hexValue(byte).map(Int.init) == (byte < 128 ? character.hexDigitValue : nil))
        }
    }

    @Test("The router matches whole paths, routes HEAD to GET, and lists the allowed methods")
    func router() {
        var router = Router()
        router.onSync(.get, "/a") { _ in Response(body: [1]) }
        router.on(.post, "/a") { _, _ in Response() }
        router.onSync(.get, "/a") { _ in Response(body: [2]) }
        router.onSync(.delete, "/a/b") { _ in Response() }
        func outcome(_ method: Method, _ target: String) -> String {
            let request = Request(method: method, target: target)
            return switch router.route(request) {
            case .sync(let handler): "sync \(handler(request).body)"
            case .async: "async"
            case .refuse(let refusal): "\(refusal)"
            }
        }
        #expect(outcome(.get, "/a") == "sync [2]")
        #expect(outcome(.get, "/a?b=c") == "sync [2]")
        #expect(outcome(.head, "/a") == "sync [2]")
        #expect(outcome(.post, "/a") == "async")
        #expect(outcome(.put, "/a") == "methodNotAllowed(allowed: [POST, GET, HEAD])")
        #expect(outcome(.get, "/a/b") == "methodNotAllowed(allowed: [DELETE])")
        #expect(outcome(.head, "/a/b") == "methodNotAllowed(allowed: [DELETE])")
        for path in ["/", "/A", "/a/", "//a", "/%61", "/a/b/c", "/aa"] {
            #expect(outcome(.get, path) == "notFound")
        }
    }

    @Test("Methods are parsed case-sensitively")
    func methods() {
        for name in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"] {
            #expect(Method(name).description == name)
            #expect(Method(name) != .other(name))
            #expect(Method(name.lowercased()) == .other(name.lowercased()))
        }
    }
}
