internal import HTTP2

/// Parses one HTTP/1.1 response (RFC 9112), as far as the outcome of a push requires.
///
/// A body is cut off at ``Answer/bodyBytesMax``; a response that isn't complete within a bounded number of bytes is
/// malformed.
struct ResponseParser {
    enum Progress {
        case incomplete
        case complete
        case malformed
    }

    private enum Framing {
        case length(Int)
        case chunked
        case untilClose
    }

    static let headBytesMax = 16 * 1024
    /// The maximum size of a chunk's first line, with its extensions.
    private static let chunkHeadBytesMax = 256
    /// The maximum size of a body with its framing.
    private static let rawBytesMax = 2 * Answer.bodyBytesMax

    /// The response so far; `nil` before the end of its head.
    private(set) var response: ClientResponse?
    /// Whether the connection may carry another request after a complete response.
    private(set) var keepsConnection = false

    private var status = 0
    private var line: [UInt8] = []
    private var headBytes = 0
    private var fields = HeaderFields()
    private var framing = Framing.untilClose
    /// The body with its framing.
    private var raw: [UInt8] = []
    /// The complete chunks without their framing; `nextChunk` is where the next one begins.
    private var chunks: [UInt8] = []
    private var nextChunk = 0

    /// Parses bytes from the server.
    mutating func take(_ bytes: some Collection<UInt8>) -> Progress {
        var rest = bytes[...]
        while response == nil {
            guard let byte = rest.popFirst() else { return .incomplete }
            headBytes += 1
            guard headBytes <= Self.headBytesMax else { return .malformed }
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            guard endLine() else { return .malformed }
            line.removeAll(keepingCapacity: true)
        }
        raw.append(contentsOf: rest.prefix(Self.rawBytesMax + 1 - raw.count))
        return takeBody()
    }

    // MARK: The head

    private mutating func endLine() -> Bool {
        if status == 0 { return startHead() }
        guard line.isEmpty else { return field() }
        // An interim response comes before the final one; 101 is unexpected, because no other protocol was requested.
        guard status >= 200 else {
            let isExpected = status != 101
            status = 0
            return isExpected
        }
        if status == 204 || status == 304 { framing = .length(0) }
        response = ClientResponse(status: status, fields: fields)
        return true
    }

    private mutating func startHead() -> Bool {
        let text = String(decoding: line, as: UTF8.self)
        let words = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, ["HTTP/1.1", "HTTP/1.0"].contains(words[0]), words[1].utf8.count == 3,
            let number = Int(words[1]), (100...999).contains(number)
        else { return false }
        status = number
        keepsConnection = words[0] == "HTTP/1.1"
        framing = .untilClose
        fields.removeAll()
        return true
    }

    private mutating func field() -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return false }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        let text = Self.trimmed(line[(colon + 1)...])
        let value = String(decoding: text, as: UTF8.self).lowercased()
        switch name {
        case "content-length":
            guard let count = Int(value), count >= 0 else { return false }
            switch framing {
            case .untilClose: framing = .length(count)
            case .length(count), .chunked: break
            case .length: return false
            }
        case "transfer-encoding":
            guard value == "chunked" else { return false }
            framing = .chunked
        case "connection": if value.contains("close") { keepsConnection = false }
        case "retry-after": fields.append("retry-after", text)
        default: break
        }
        return true
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isText = { (byte: UInt8) in byte != UInt8(ascii: " ") && byte != UInt8(ascii: "\t") }
        guard let first = value.firstIndex(where: isText), let last = value.lastIndex(where: isText) else {
            return []
        }
        return value[first...last]
    }

    // MARK: The body

    private mutating func takeBody() -> Progress {
        let limit = Answer.bodyBytesMax
        switch framing {
        case .length(let count):
            response?.body = Array(raw.prefix(min(count, limit)))
            guard raw.count >= min(count, limit) else { return .incomplete }
            if raw.count != count { keepsConnection = false }
        case .chunked:
            let progress = takeChunks()
            return progress == .incomplete && raw.count > Self.rawBytesMax ? .malformed : progress
        case .untilClose:
            keepsConnection = false
            response?.body = Array(raw.prefix(limit))
            guard raw.count > limit else { return .incomplete }
        }
        return .complete
    }

    /// Decodes the chunks that have become complete since the last call (RFC 9112, section 7.1).
    private mutating func takeChunks() -> Progress {
        var partial: ArraySlice<UInt8> = []
        defer { response?.body = Array((chunks + partial).prefix(Answer.bodyBytesMax)) }
        while chunks.count + partial.count <= Answer.bodyBytesMax {
            guard let end = raw[nextChunk...].firstIndex(of: UInt8(ascii: "\n")) else {
                return raw.count - nextChunk > Self.chunkHeadBytesMax ? .malformed : .incomplete
            }
            let digits = raw[nextChunk..<end].prefix {
                $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: ";")
            }
            guard (1...8).contains(digits.count),
                let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0
            else { return .malformed }
            let start = end + 1
            guard size > 0 else {
                guard let end = Self.endOfTrailer(raw, from: start) else { return .incomplete }
                if end != raw.count { keepsConnection = false }
                return .complete
            }
            guard start + size + 2 <= raw.count else {
                partial = raw[start...].prefix(size)
                guard chunks.count + partial.count > Answer.bodyBytesMax else { return .incomplete }
                break
            }
            guard raw[start + size] == UInt8(ascii: "\r"), raw[start + size + 1] == UInt8(ascii: "\n") else {
                return .malformed
            }
            chunks += raw[start..<start + size]
            nextChunk = start + size + 2
        }
        // The body is longer than the part that is read.
        keepsConnection = false
        return .complete
    }

    private static func endOfTrailer(_ raw: [UInt8], from start: Int) -> Int? {
        var index = start
        while let end = raw[index...].firstIndex(of: UInt8(ascii: "\n")) {
            if end == index || end == index + 1 && raw[index] == UInt8(ascii: "\r") { return end + 1 }
            index = end + 1
        }
        return nil
    }
}
