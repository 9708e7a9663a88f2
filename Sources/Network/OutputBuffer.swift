/// A FIFO of unsent bytes; removing from the front doesn't move the rest.
struct OutputBuffer {
    /// Storage above this size is freed when the buffer becomes empty.
    static let keptCapacityBytes = 4 * 1024

    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        unsafe bytes.append(contentsOf: new)
    }

    mutating func removeFirst(_ count: Int) {
        start += count
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacityBytes)
            start = 0
        } else if start > 64 * 1024 && start > bytes.count / 2 {
            bytes.removeFirst(start)
            start = 0
        }
    }

    mutating func removeAll() {
        bytes = []
        start = 0
    }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes { unsafe body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
    }
}
