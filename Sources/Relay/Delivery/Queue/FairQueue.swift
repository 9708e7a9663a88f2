/// A FIFO queue per destination; destinations take turns.
///
/// A destination that isn't free gets no turn until ``free(_:)`` is called for it, so taking an element costs the same
/// for any number of destinations.
struct FairQueue<Destination: Hashable, Element> {
    private struct Line<Item> {
        var items: [Item] = []
        /// The index of the first item that has not been taken.
        var first = 0

        var rest: ArraySlice<Item> { items[first...] }

        mutating func popFirst() -> Item? {
            guard first < items.count else { return nil }
            let item = items[first]
            first += 1
            if first > items.count / 2 { self = Line(items: Array(rest)) }
            return item
        }
    }

    private var lines: [Destination: Line<Element>] = [:]
    /// The destinations that have elements and may be free.
    private var turns = Line<Destination>()
    /// The destinations that have elements but weren't free at their last turn.
    private var blocked: Set<Destination> = []
    /// The number of queued elements.
    private(set) var count = 0

    init() {}

    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element, for destination: Destination) {
        count += 1
        if lines[destination] == nil { turns.items.append(destination) }
        lines[destination, default: Line()].items.append(element)
    }

    /// Takes the first element of the next destination that is free.
    mutating func takeFirst(whereFree isFree: (Destination) -> Bool) -> Element? {
        while let destination = turns.popFirst() {
            guard isFree(destination) else {
                blocked.insert(destination)
                continue
            }
            guard let element = lines[destination]?.popFirst() else { continue }
            count -= 1
            if lines[destination]?.rest.isEmpty == true {
                lines[destination] = nil
            } else {
                turns.items.append(destination)
            }
            return element
        }
        return nil
    }

    /// Gives a destination turns again, because it may be free.
    mutating func free(_ destination: Destination) {
        if blocked.remove(destination) != nil { turns.items.append(destination) }
    }

    /// Removes and returns all elements that satisfy a condition, in order within each destination.
    mutating func takeAll(where isTaken: (Destination, Element) -> Bool = { _, _ in true }) -> [Element] {
        var taken: [Element] = []
        for (destination, line) in lines {
            let kept = line.rest.filter { !isTaken(destination, $0) }
            guard kept.count < line.rest.count else { continue }
            taken += line.rest.filter { isTaken(destination, $0) }
            lines[destination] = kept.isEmpty ? nil : Line(items: kept)
        }
        turns = Line(items: turns.rest.filter { lines[$0] != nil })
        blocked.formIntersection(lines.keys)
        count -= taken.count
        return taken
    }
}
