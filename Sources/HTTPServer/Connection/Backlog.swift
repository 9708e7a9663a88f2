/// Bytes that came behind a request that is being answered: the next requests, or parts of one.
struct Backlog {
    private var bytes: [UInt8] = []
    private var start = 0

    /// Bytes that wait.
    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }
    /// Bytes of memory.
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

    /// Lets `take` have the bytes that wait; it moves the offset behind those that it takes.
    mutating func take(_ take: (Span<UInt8>, inout Int) -> Void) {
        // A second name for the array: a span of `self.bytes` would lock all of `self`.
        let pending = bytes
        var offset = start
        take(pending.span, &offset)
        if offset == pending.count { removeAll() } else { start = offset }
    }
}
