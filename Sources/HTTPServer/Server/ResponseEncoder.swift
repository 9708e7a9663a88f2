/// Encodes responses (RFC 9112, section 4) into one buffer.
enum ResponseEncoder {
    /// The framing that depends on the connection.
    struct Framing {
        /// Whether the request was `HEAD`, so that the body is measured but omitted.
        var isHead = false
        /// Whether the connection closes after this response.
        var closes = false
        /// Whether the client uses HTTP/1.0 and asked for keep-alive, which the response must confirm.
        var grantsKeepAlive = false
    }

    /// The interim response that tells a waiting client to send its body (RFC 9110, section 15.2.1).
    static let continueLine: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    /// Appends `response`; `date` is a complete `Date` line with its CRLF.
    static func append(_ response: Response, _ framing: Framing, date: [UInt8], to buffer: inout [UInt8]) {
        statusLine(response.status, to: &buffer)
        buffer.append(contentsOf: date)
        let headers = response.headers
        for field in headers.fields where !isServers(headers, field) {
            buffer.append(contentsOf: headers.slice(field.name))
            buffer.append(UInt8(ascii: ":"))
            buffer.append(UInt8(ascii: " "))
            buffer.append(contentsOf: headers.slice(field.value))
            buffer.append(static: "\r\n")
        }
        if !response.status.hasNoBody {
            buffer.append(static: "Content-Length: ")
            buffer.append(decimal: response.body.count)
            buffer.append(static: "\r\n")
        }
        if framing.closes {
            buffer.append(static: "Connection: close\r\n")
        } else if framing.grantsKeepAlive {
            buffer.append(static: "Connection: keep-alive\r\n")
        }
        buffer.append(static: "\r\n")
        if !framing.isHead && !response.status.hasNoBody { buffer.append(contentsOf: response.body) }
    }

    private static func statusLine(_ status: Status, to buffer: inout [UInt8]) {
        guard status.rawValue != 200 else { return buffer.append(static: "HTTP/1.1 200 OK\r\n") }
        buffer.append(static: "HTTP/1.1 ")
        buffer.append(decimal: status.rawValue)
        buffer.append(UInt8(ascii: " "))
        buffer.append(contentsOf: status.reason.utf8)
        buffer.append(static: "\r\n")
    }

    /// Whether the field is reserved for the server; compares the length first, which rules out most names.
    private static func isServers(_ headers: Headers, _ field: Headers.Field) -> Bool {
        let name = Int(field.name.lowerBound)..<Int(field.name.upperBound)
        let bytes = headers.bytes.span
        return switch name.count {
        case 4: bytes.isEqual(name, lowercase: "date")
        case 10: bytes.isEqual(name, lowercase: "connection") || bytes.isEqual(name, lowercase: "keep-alive")
        case 14: bytes.isEqual(name, lowercase: "content-length")
        case 17: bytes.isEqual(name, lowercase: "transfer-encoding")
        default: false
        }
    }
}

extension [UInt8] {
    /// Appends the bytes of a literal.
    mutating func append(static text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    /// Appends a non-negative number in decimal.
    mutating func append(decimal number: Int) {
        var divisor = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}
