/// Work in its order, taken one by one.
struct PostponedWork {
    private var items: [(() -> Void)?] = []
    private var start = 0

    var count: Int { items.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ work: @escaping () -> Void) { items.append(work) }

    mutating func takeFirst() -> (() -> Void)? {
        guard start < items.count else { return nil }
        let first = items[start].take()
        start += 1
        if start == items.count {
            items.removeAll(keepingCapacity: items.count <= 256)
            start = 0
        } else if start >= 1024 && start > items.count / 2 {
            items.removeFirst(start)
            start = 0
        }
        return first
    }
}
