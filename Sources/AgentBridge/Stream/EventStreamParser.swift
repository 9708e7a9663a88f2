/// Splits a server-sent event stream into the data of its events (WHATWG HTML, "Server-sent events").
///
/// Event names, identifiers and retry times aren't used. Lines and events over their limits are skipped entirely.
struct EventStreamParser {
    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var isLineTooLong = false
    /// Whether the current event has lost a line.
    private var isFrameBroken = false
    private var wasCarriageReturn = false
    private var isAtStart = true
    /// How many events were skipped because they were too large.
    private(set) var skipped = 0

    private let lineBytesMax: Int
    private let frameBytesMax: Int

    init(
        lineBytesMax: Int = Bounds.streamLineBytesMax, frameBytesMax: Int = Bounds.streamFrameBytesMax
    ) {
        self.lineBytesMax = lineBytesMax
        self.frameBytesMax = frameBytesMax
    }

    /// Reads the next bytes, in pieces of any size, and passes the data of each complete event to `frame`.
    mutating func feed(_ bytes: UnsafeRawBufferPointer, _ frame: ([UInt8]) -> Void) {
        var rest = bytes[...]
        if wasCarriageReturn, let first = rest.first {
            wasCarriageReturn = false
            if first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
        }
        while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            keep(rest[..<end])
            endLine(frame)
            let isReturn = rest[end] == UInt8(ascii: "\r")
            rest = rest[(end + 1)...]
            guard isReturn else { continue }
            if let next = rest.first {
                if next == UInt8(ascii: "\n") { rest = rest.dropFirst() }
            } else {
                wasCarriageReturn = true
            }
        }
        keep(rest)
    }

    private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>) {
        guard !isLineTooLong, line.count + bytes.count <= lineBytesMax else {
            isLineTooLong = true
            line = []
            return
        }
        line += bytes
    }

    private mutating func endLine(_ frame: ([UInt8]) -> Void) {
        defer {
            line.removeAll(keepingCapacity: line.capacity <= Self.keptCapacity)
            isLineTooLong = false
        }
        if isAtStart {
            isAtStart = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        }
        guard !isLineTooLong else {
            isFrameBroken = true
            return
        }
        guard !line.isEmpty else { return dispatch(frame) }
        guard line.starts(with: Self.dataField) else { return }
        var value = line[Self.dataField.count...]
        // "data" alone is a field with an empty value; "database" is another field.
        if let separator = value.first {
            guard separator == UInt8(ascii: ":") else { return }
            value = value.dropFirst()
            if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        }
        guard data.count + value.count < frameBytesMax else {
            isFrameBroken = true
            data = []
            return
        }
        if hasData { data.append(UInt8(ascii: "\n")) }
        data += value
        hasData = true
    }

    private mutating func dispatch(_ frame: ([UInt8]) -> Void) {
        if isFrameBroken {
            skipped += 1
        } else if hasData {
            frame(data)
        }
        data.removeAll(keepingCapacity: data.capacity <= Self.keptCapacity)
        hasData = false
        isFrameBroken = false
    }

    private static let dataField = Array("data".utf8)
    /// Larger buffers are freed after use.
    private static let keptCapacity = 64 * 1024
}
