/// Things that are due at a time, handed out in the order of their times and, at one time, in the order they came.
package struct DelayQueue<Element> {
    private struct Entry {
        let due: UInt64
        let order: UInt64
        let element: Element

        static func < (left: Entry, right: Entry) -> Bool {
            (left.due, left.order) < (right.due, right.order)
        }
    }

    /// A binary heap: no entry is due before its parent at half its index.
    private var entries: [Entry] = []
    private var nextOrder: UInt64 = 0

    /// An empty queue.
    package init() {}

    /// How many things wait.
    package var count: Int { entries.count }

    /// When the first is due; `nil` when none waits.
    package var firstDue: UInt64? { entries.first?.due }

    /// Puts something in.
    ///
    /// Cheap when it is due after everything else.
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

    /// Takes out the first that is due by `now`; `nil` when none is.
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
