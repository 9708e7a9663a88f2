/// A FIFO queue for each destination.
///
/// The cost of finding the next element is proportional to the number of destinations, not to the queue's length.
struct FairQueue<Destination: Equatable, Element> {
    private struct Line {
        let destination: Destination
        var elements: [Element] = []
        /// The first element that has not been taken.
        var first = 0
    }

    private var lines: [Line] = []
    /// The number of queued elements.
    private(set) var count = 0

    /// An empty queue.
    init() {}

    /// Whether the queue is empty.
    var isEmpty: Bool { count == 0 }

    /// Appends an element to a destination's queue.
    mutating func append(_ element: Element, for destination: Destination) {
        count += 1
        if let index = lines.firstIndex(where: { $0.destination == destination }) {
            lines[index].elements.append(element)
        } else {
            lines.append(Line(destination: destination, elements: [element]))
        }
    }

    /// Takes the first element of the first queue whose destination is free.
    mutating func takeFirst(whereFree isFree: (Destination) -> Bool) -> Element? {
        guard let index = lines.firstIndex(where: { isFree($0.destination) }) else { return nil }
        let element = lines[index].elements[lines[index].first]
        lines[index].first += 1
        count -= 1
        if lines[index].first == lines[index].elements.count {
            lines.remove(at: index)
        } else if lines[index].first > lines[index].elements.count / 2 {
            lines[index].elements.removeFirst(lines[index].first)
            lines[index].first = 0
        }
        return element
    }

    /// Removes all elements that satisfy a condition, in order.
    mutating func takeAll(where isTaken: (Destination, Element) -> Bool = { _, _ in true }) -> [Element] {
        var taken: [Element] = []
        for index in lines.indices {
            var kept: [Element] = []
            for element in lines[index].elements[lines[index].first...] {
                if isTaken(lines[index].destination, element) {
                    taken.append(element)
                } else {
                    kept.append(element)
                }
            }
            (lines[index].elements, lines[index].first) = (kept, 0)
        }
        lines.removeAll { $0.elements.isEmpty }
        count -= taken.count
        return taken
    }
}
