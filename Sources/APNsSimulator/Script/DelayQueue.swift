/// A priority queue of elements ordered by due time, first in, first out for equal times.
package struct DelayQueue<Element> {
    private struct Entry {
        let due: UInt64
        let order: UInt64
        let element: Element

        static func < (left: Entry, right: Entry) -> Bool {
            (left.due, left.order) < (right.due, right.order)
        }
    }

    /// A binary heap: each entry's parent is at half its index and due no later.
    private var entries: [Entry] = []
    private var nextOrder: UInt64 = 0

    /// An empty queue.
    package init() {}

    /// The number of waiting elements.
    package var count: Int { entries.count }

    /// When the first element is due; `nil` when the queue is empty.
    package var firstDue: UInt64? { entries.first?.due }

    /// Inserts an element.
    ///
    /// Cheap when the element is due after everything else.
    package mutating func insert(_ element: Element, due: UInt64) {
        entries.append(Entry(due: due, order: nextOrder, element: element))
        nextOrder += 1
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child] < entries[parent] else { break }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// Removes and returns the first element due by `now`; `nil` if there is none.
    package mutating func removeFirst(dueBy now: UInt64) -> Element? {
        guard let first = entries.first, first.due <= now else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first.element }
        entries[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < entries.count else { break }
            let right = left + 1
            let child = right < entries.count && entries[right] < entries[left] ? right : left
            guard entries[child] < entries[parent] else { break }
            entries.swapAt(child, parent)
            parent = child
        }
        return first.element
    }
}
