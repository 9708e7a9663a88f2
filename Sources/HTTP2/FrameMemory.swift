import CNghttp2
import Glibc

/// The allocator for one nghttp2 session, which reuses freed blocks for later frames.
///
/// A push allocates and frees five blocks, too many at a time for malloc's small cache; malloc's slow path accounted
/// for a fifteenth of a push's cost. Free blocks are kept in a list per size class, at most ``keptPerClass``.
@safe final class FrameMemory {
    /// The size of the smallest class in bytes; each class is twice as large as the one before.
    static let smallestBytes = 64
    /// The number of classes, from 64 to 2,048 bytes.
    ///
    /// Larger blocks always come from malloc.
    static let classCount = 6
    /// The maximum number of free blocks per class.
    static let keptPerClass = 512
    /// The size of the header before each block, which holds the block's class.
    ///
    /// Sixteen bytes keep the block aligned like malloc's blocks.
    private static let headBytes = 16

    /// The free blocks of one class; each stores the address of the next.
    @unsafe private struct FreeList {
        var first: UnsafeMutableRawPointer?
        var count = 0
    }

    private let lists: UnsafeMutablePointer<FreeList>

    init() {
        unsafe lists = .allocate(capacity: Self.classCount)
        unsafe lists.initialize(repeating: FreeList(), count: Self.classCount)
    }

    deinit {
        for index in 0..<Self.classCount {
            while let block = unsafe Self.pop(&lists[index]) { unsafe Glibc.free(block) }
        }
        unsafe lists.deallocate()
    }

    /// The allocation functions for nghttp2; valid for the lifetime of this object.
    var functions: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: lists,
            malloc: { size, lists in unsafe FrameMemory.take(size, lists) },
            free: { block, lists in unsafe FrameMemory.give(block, lists) },
            calloc: { count, size, lists in
                let (bytes, overflows) = count.multipliedReportingOverflow(by: size)
                guard !overflows, let block = unsafe FrameMemory.take(bytes, lists) else { return nil }
                unsafe memset(block, 0, bytes)
                return unsafe block
            },
            realloc: { block, size, lists in unsafe FrameMemory.change(block, to: size, lists) })
    }

    private static func take(_ size: Int, _ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        let index = index(for: size)
        let lists = unsafe context?.assumingMemoryBound(to: FreeList.self)
        if index < classCount, let lists = unsafe lists, let block = unsafe pop(&lists[index]) {
            return unsafe block + headBytes
        }
        let bytes = index < classCount ? smallestBytes << index : size
        guard let block = unsafe Glibc.malloc(bytes + headBytes) else { return nil }
        unsafe block.storeBytes(of: index, as: Int.self)
        return unsafe block + headBytes
    }

    private static func give(_ memory: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?) {
        guard let memory = unsafe memory else { return }
        let block = unsafe memory - headBytes
        let index = unsafe block.load(as: Int.self)
        guard index < classCount, let lists = unsafe context?.assumingMemoryBound(to: FreeList.self),
            unsafe lists[index].count < keptPerClass
        else { return unsafe Glibc.free(block) }
        unsafe memory.storeBytes(of: lists[index].first, as: UnsafeMutableRawPointer?.self)
        unsafe lists[index].first = unsafe block
        unsafe lists[index].count += 1
    }

    private static func change(
        _ memory: UnsafeMutableRawPointer?, to size: Int, _ context: UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer? {
        guard let memory = unsafe memory else { return unsafe take(size, context) }
        let index = unsafe (memory - headBytes).load(as: Int.self)
        guard index < classCount else {
            guard let block = unsafe Glibc.realloc(memory - headBytes, size + headBytes) else { return nil }
            return unsafe block + headBytes
        }
        let capacity = smallestBytes << index
        guard size > capacity else { return unsafe memory }
        guard let larger = unsafe take(size, context) else { return nil }
        unsafe larger.copyMemory(from: memory, byteCount: capacity)
        unsafe give(memory, context)
        return unsafe larger
    }

    /// The smallest class for `size` bytes; ``classCount`` if none fits.
    private static func index(for size: Int) -> Int {
        guard size > smallestBytes else { return 0 }
        let index = Int.bitWidth - (size - 1).leadingZeroBitCount - smallestBytes.trailingZeroBitCount
        return min(index, classCount)
    }

    private static func pop(_ list: inout FreeList) -> UnsafeMutableRawPointer? {
        guard let block = unsafe list.first else { return nil }
        unsafe list.first = unsafe (block + headBytes).load(as: UnsafeMutableRawPointer?.self)
        unsafe list.count -= 1
        return unsafe block
    }
}
