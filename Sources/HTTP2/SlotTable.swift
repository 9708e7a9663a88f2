/// A table of reusable places: an index stays valid until it is freed, and a freed element keeps its memory for the next use.
///
/// The index travels through the C library as a stream's user data, so no dictionary is looked up for a frame.
struct SlotTable<Element> {
    private var elements: [Element] = []
    private var isUsed: [Bool] = []
    private var free: [Int] = []

    /// How many places are in use.
    var count: Int { elements.count - free.count }

    /// The indices in use, lowest first.
    var indices: [Int] { isUsed.indices.filter { isUsed[$0] } }

    /// Takes a free place, or makes one; a reused element is as its last user left it.
    mutating func take(orMake make: () -> Element) -> Int {
        if let index = free.popLast() {
            isUsed[index] = true
            return index
        }
        elements.append(make())
        isUsed.append(true)
        return elements.count - 1
    }

    /// Gives a place back.
    ///
    /// A place that is free already stays as it is.
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
