/// Writes responses as bytes (RFC 9112, section 4), behind one another into one buffer.
enum ResponseEncoder {
    /// What the connection adds to a response.
    struct Framing {
        /// The request was `HEAD`: the body is measured and left out.
        var isHead = false
        /// The connection ends with this response.
        var closes = false
        /// The client speaks HTTP/1.0 and wants to go on, which has to be granted in words.
        var grantsKeepAlive = false
    }

    /// The interim answer that makes a waiting client send its body (RFC 9110, section 15.2.1).
    static let continueLine: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    /// Appends `response`; `date` is a whole `Date` line with its CRLF.
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

    /// Whether only the server may write a field of that name; decided by length first, since few names share theirs.
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

    /// Appends a number that isn't negative, in decimal.
    mutating func append(decimal number: Int) {
        var divisor = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}
