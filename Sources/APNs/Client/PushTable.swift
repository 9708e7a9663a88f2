internal import Network

/// The pushes of a client that have no outcome yet: each has a place, and stands in up to two lines.
struct PushTable {
    struct Entry {
        var push: Push
        var completion: (Outcome) -> Void
        /// When it is given up.
        let deadline: MonotonicTime
        /// When it went onto its connection.
        var sentAt: MonotonicTime
        /// The connection it is on; nil while it waits.
        var connection: Int?
        var stream = -1
        /// The serial of the provider token it was sent with.
        var tokenSerial: UInt64 = 0
        /// How often it went to a connection again.
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
    /// The places of those that wait, first come first.
    private(set) var waiting = IndexLine()
    /// Every place by deadline; all pushes have the same time, so it is the order of their coming.
    private(set) var byDeadline = IndexLine()

    /// How many pushes have no outcome yet.
    var count: Int { entries.count - free.count }

    /// Takes a push in.
    mutating func insert(_ entry: consuming Entry) -> Int {
        let place = free.popLast() ?? entries.count
        if place == entries.count { entries.append(nil) }
        entries[place] = consume entry
        byDeadline.append(place)
        return place
    }

    /// Gives a place up.
    mutating func remove(_ place: Int) -> Entry? {
        guard let entry = entries[place].take() else { return nil }
        byDeadline.remove(place)
        waiting.remove(place)
        free.append(place)
        return entry
    }

    /// Notes where a push went.
    mutating func sent(_ place: Int, on connection: Int, stream: Int, token: UInt64, at now: MonotonicTime) {
        entries[place]?.sent(on: connection, stream: stream, token: token, at: now)
    }

    /// Puts a push behind those that wait, or before them when it has waited before.
    mutating func wait(_ place: Int, first: Bool) {
        entries[place]?.connection = nil
        entries[place]?.stream = -1
        if first { waiting.prepend(place) } else { waiting.append(place) }
    }

    /// Takes out the push that waits longest.
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

/// A line of small numbers, each at most once; every step takes constant time.
struct IndexLine: Sendable {
    private static let none: Int32 = -1
    /// Marks a number that isn't in the line.
    private static let out: Int32 = -2

    private var before: [Int32] = []
    private var after: [Int32] = []
    private var head = none
    private var tail = none

    /// The first number.
    var first: Int? { head == Self.none ? nil : Int(head) }

    /// Every number, first to last.
    var all: [Int] {
        var numbers: [Int] = []
        var next = head
        while next != Self.none {
            numbers.append(Int(next))
            next = after[Int(next)]
        }
        return numbers
    }

    /// Whether the number is in the line.
    func contains(_ index: Int) -> Bool {
        index < after.count && after[index] != Self.out
    }

    /// Puts a number at the end.
    mutating func append(_ index: Int) {
        guard makeRoom(for: index) else { return }
        before[index] = tail
        after[index] = Self.none
        if tail == Self.none { head = Int32(index) } else { after[Int(tail)] = Int32(index) }
        tail = Int32(index)
    }

    /// Puts a number at the beginning.
    mutating func prepend(_ index: Int) {
        guard makeRoom(for: index) else { return }
        before[index] = Self.none
        after[index] = head
        if head == Self.none { tail = Int32(index) } else { before[Int(head)] = Int32(index) }
        head = Int32(index)
    }

    /// Takes a number out, if it is in.
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
