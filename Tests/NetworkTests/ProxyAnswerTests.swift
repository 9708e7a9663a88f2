import Testing

@testable import Network

@Suite("A proxy's answer to CONNECT", .timeLimit(.minutes(2)))
struct ProxyAnswerTests {
    @Test(
        "An answer parses the same whole or byte by byte",
        arguments: [
            ("HTTP/1.1 200 Connection established\r\n\r\n", ProxyAnswer.Verdict.established),
            ("HTTP/1.0 200\r\nVia: x\r\n\r\n", .established), ("HTTP/1.1 204 \n\n", .established),
            ("HTTP/1.1 407 Proxy Authentication Required\r\n", .refused(status: 407)),
            ("HTTP/1.1 302 Found\r\n", .refused(status: 302)),
            ("HTTP/1.1 100 Continue\r\n", .refused(status: 100)),
            ("SSH-2.0-OpenSSH\r\n", .malformed("its response is not HTTP/1")),
            ("HTTP/2 200\r\n", .malformed("its response is not HTTP/1")),
            ("HTTP/1.1 2000 x\r\n", .malformed("its response is not HTTP/1")),
            ("HTTP/1.1 099 x\r\n", .malformed("its response is not HTTP/1")),
        ])
    func answers(text: String, verdict: ProxyAnswer.Verdict) {
        var whole = ProxyAnswer()
        #expect(whole.take(text.utf8) == verdict)
        var parts = ProxyAnswer()
        let bytes = Array(text.utf8)
        for byte in bytes.dropLast() { #expect(parts.take([byte]) == nil) }
        #expect(parts.take(bytes.suffix(1)) == verdict)
    }

    @Test("Bytes after the head and an endless head are rejected")
    func excess() {
        var early = ProxyAnswer()
        #expect(
            early.take("HTTP/1.1 200 OK\r\n\r\nx".utf8) == .malformed("it sent data before the server could"))
        var endless = ProxyAnswer()
        #expect(endless.take("HTTP/1.1 200 OK\r\n".utf8) == nil)
        let filler = [UInt8](repeating: UInt8(ascii: "x"), count: ProxyAnswer.headBytesMax)
        #expect(endless.take(filler) == .malformed("its response is too long"))
    }

    @Test("The request names the server and carries the credentials in base64")
    func request() {
        let server = Endpoint(host: "fd00::1", port: 443)
        let plain = ConnectProxy(endpoint: Endpoint(host: "proxy", port: 80))
        #expect(
            plain.request(for: server)
                == Array("CONNECT [fd00::1]:443 HTTP/1.1\r\nHost: [fd00::1]:443\r\n\r\n".utf8))
        // RFC 7617, section 2.
        let asked = ConnectProxy(endpoint: plain.endpoint, user: "Aladdin", password: "open sesame")
        let text = String(decoding: asked.request(for: server), as: UTF8.self)
        #expect(text.hasSuffix("\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n"))
    }
}
