/// A first-in, first-out queue.
package struct Line<Element> {
    private var items: [Element?] = []
    private var start = 0

    package init() {}

    package var count: Int { items.count - start }
    package var isEmpty: Bool { count == 0 }
    package var first: Element? { start < items.count ? items[start] : nil }

    package mutating func append(_ element: Element) { items.append(element) }

    package mutating func popFirst() -> Element? {
        guard start < items.count else { return nil }
        let first = items[start].take()
        start += 1
        if start == items.count {
            items.removeAll(keepingCapacity: items.count <= 256)
            start = 0
        } else if start >= 1_024 && start > items.count / 2 {
            items.removeFirst(start)
            start = 0
        }
        return first
    }
}
