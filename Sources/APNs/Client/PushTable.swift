internal import Network

/// A client's pushes that have no outcome yet; each has a place and is in up to two lists.
struct PushTable {
    struct Entry {
        var push: Push
        var completion: (Outcome) -> Void
        /// When the push times out.
        let deadline: MonotonicTime
        /// When the push was sent on its connection.
        var sentAt: MonotonicTime
        /// The push's connection; nil while the push is queued.
        var connection: Int?
        var stream = -1
        /// The serial of the provider token that the push was sent with.
        var tokenSerial: UInt64 = 0
        /// How many times the push was sent again.
        var moves = 0

        fileprivate mutating func sent(on connection: Int, stream: Int, token: UInt64, at now: MonotonicTime)
        {
            self.connection = connection
            self.stream = stream
            tokenSerial = token
            sentAt = now
        }
    }

    private var entries: [Entry?] = []
    private var free: [Int] = []
    /// The places of the queued pushes, in the order in which they will be sent.
    private(set) var waiting = IndexLine()
    /// All places by deadline, which is the order of arrival, since all pushes have the same timeout.
    private(set) var byDeadline = IndexLine()

    /// The number of pushes without an outcome.
    var count: Int { entries.count - free.count }

    mutating func insert(_ entry: consuming Entry) -> Int {
        let place = free.popLast() ?? entries.count
        if place == entries.count { entries.append(nil) }
        entries[place] = consume entry
        byDeadline.append(place)
        return place
    }

    /// Removes a push and frees its place.
    mutating func remove(_ place: Int) -> Entry? {
        guard let entry = entries[place].take() else { return nil }
        byDeadline.remove(place)
        waiting.remove(place)
        free.append(place)
        return entry
    }

    /// Records where a push was sent.
    mutating func sent(_ place: Int, on connection: Int, stream: Int, token: UInt64, at now: MonotonicTime) {
        entries[place]?.sent(on: connection, stream: stream, token: token, at: now)
    }

    /// Appends a push to the queue, or prepends it if it must be sent first.
    mutating func wait(_ place: Int, first: Bool) {
        entries[place]?.connection = nil
        entries[place]?.stream = -1
        if first { waiting.prepend(place) } else { waiting.append(place) }
    }

    /// Removes the first push from the queue and returns its place.
    mutating func popWaiting() -> Int? {
        guard let place = waiting.first else { return nil }
        waiting.remove(place)
        return place
    }

    subscript(place: Int) -> Entry? {
        _read { yield entries[place] }
        _modify { yield &entries[place] }
    }
}

/// A linked list of small integers without duplicates; all operations take constant time.
struct IndexLine: Sendable {
    private static let none: Int32 = -1
    /// Marks an integer that isn't in the list.
    private static let out: Int32 = -2

    private var before: [Int32] = []
    private var after: [Int32] = []
    private var head = none
    private var tail = none

    var first: Int? { head == Self.none ? nil : Int(head) }

    /// All integers, first to last.
    var all: [Int] {
        var numbers: [Int] = []
        var next = head
        while next != Self.none {
            numbers.append(Int(next))
            next = after[Int(next)]
        }
        return numbers
    }

    /// Whether the integer is in the list.
    func contains(_ index: Int) -> Bool {
        index < after.count && after[index] != Self.out
    }

    mutating func append(_ index: Int) {
        guard makeRoom(for: index) else { return }
        before[index] = tail
        after[index] = Self.none
        if tail == Self.none { head = Int32(index) } else { after[Int(tail)] = Int32(index) }
        tail = Int32(index)
    }

    mutating func prepend(_ index: Int) {
        guard makeRoom(for: index) else { return }
        before[index] = Self.none
        after[index] = head
        if head == Self.none { tail = Int32(index) } else { before[Int(head)] = Int32(index) }
        head = Int32(index)
    }

    /// Removes an integer if it is in the list.
    mutating func remove(_ index: Int) {
        guard contains(index) else { return }
        let (previous, next) = (before[index], after[index])
        if previous == Self.none { head = next } else { after[Int(previous)] = next }
        if next == Self.none { tail = previous } else { before[Int(next)] = previous }
        after[index] = Self.out
    }

    private mutating func makeRoom(for index: Int) -> Bool {
        while after.count <= index {
            after.append(Self.out)
            before.append(Self.out)
        }
        return after[index] == Self.out
    }
}
