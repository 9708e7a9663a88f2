/// A table with reusable slots: an index is valid until released, and a released element keeps its memory.
///
/// nghttp2 stores the index as a stream's user data, so frames need no dictionary lookup.
struct SlotTable<Element> {
    private var elements: [Element] = []
    private var isUsed: [Bool] = []
    private var free: [Int] = []

    /// The number of slots in use.
    var count: Int { elements.count - free.count }

    /// The indices in use, lowest first.
    var indices: [Int] { isUsed.indices.filter { isUsed[$0] } }

    /// Takes a free slot or creates one; a reused element keeps its previous contents.
    mutating func take(orMake make: () -> Element) -> Int {
        if let index = free.popLast() {
            isUsed[index] = true
            return index
        }
        elements.append(make())
        isUsed.append(true)
        return elements.count - 1
    }

    /// Releases a slot.
    ///
    /// Has no effect on a slot that is already free.
    mutating func release(_ index: Int) {
        guard isUsed[index] else { return }
        isUsed[index] = false
        free.append(index)
    }

    subscript(index: Int) -> Element {
        _read { yield elements[index] }
        _modify { yield &elements[index] }
    }
}
