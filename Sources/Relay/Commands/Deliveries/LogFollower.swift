import Storage

/// Finds new rows in a delivery log that is read repeatedly, starting at its newest row.
///
/// Rows don't arrive in the order of their times: relays write them in batches, late if the database was down, and
/// their clocks differ. A row is therefore new if it wasn't among the newest `window` rows of the previous read.
struct LogFollower: Sendable {
    /// The maximum number of remembered rows.
    static let window = StorageLimits.lastDeliveriesWindow

    private var seen: Set<String> = []
    /// The oldest remembered row; `nil` while the whole log is remembered.
    private var floor: DeliveryCursor?

    /// A follower that has seen the newest rows of a log, newest first: at least `window`, or all of them.
    init(seen rows: [Delivery]) {
        remember(rows)
    }

    /// Whether older rows must be read after this page, whose rows are newest first.
    func goesOn(behind page: [Delivery], of limit: Int) -> Bool {
        guard page.count == limit, let last = page.last else { return false }
        return floor.map { !Self.isOlder(last.cursor, than: $0) } ?? true
    }

    /// Processes the rows from a read, newest first, and returns the new ones, oldest first.
    mutating func take(_ rows: [Delivery]) -> [Delivery] {
        let new = rows.filter { row in
            let isBelow = floor.map { Self.isOlder(row.cursor, than: $0) } ?? false
            return !isBelow && !seen.contains(row.id)
        }
        remember(rows)
        return new.reversed()
    }

    private mutating func remember(_ rows: [Delivery]) {
        seen = Set(rows.prefix(Self.window).map(\.id))
        floor = rows.count >= Self.window ? rows[Self.window - 1].cursor : nil
    }

    private static func isOlder(_ left: DeliveryCursor, than right: DeliveryCursor) -> Bool {
        (left.createdAt, left.id) < (right.createdAt, right.id)
    }
}
