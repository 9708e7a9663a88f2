/// Pipelined input that was received ahead of its turn.
struct Backlog {
    private var bytes: [UInt8] = []
    private var start = 0

    /// The number of unparsed bytes.
    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }
    /// The allocated memory in bytes.
    var memoryBytes: Int { bytes.capacity }

    mutating func append(_ span: Span<UInt8>, _ range: Range<Int>) {
        guard !range.isEmpty else { return }
        if start > 0 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(span, range)
    }

    mutating func removeAll() { self = Backlog() }

    /// Passes the unparsed bytes to `take`, which advances the offset past those it consumes.
    mutating func take(_ take: (Span<UInt8>, inout Int) -> Void) {
        // A local copy of the reference: a span of `self.bytes` would keep all of `self` borrowed.
        let pending = bytes
        var offset = start
        take(pending.span, &offset)
        if offset == pending.count { removeAll() } else { start = offset }
    }
}
