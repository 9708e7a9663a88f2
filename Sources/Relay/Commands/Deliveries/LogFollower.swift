import Storage

/// Finds what is new in a delivery log that is read again and again from its newest row on.
///
/// Rows don't come in the order of their times: relays write them in batches, later while the database is away, and
/// their clocks differ. So a row counts as new when it wasn't among those that were seen, as far down as the newest
/// `window` rows of the look before.
struct LogFollower: Sendable {
    /// Rows that are remembered.
    static let window = StorageLimits.lastDeliveriesWindow

    private var seen: Set<String> = []
    /// The oldest row that is remembered; `nil` while the whole log is.
    private var floor: DeliveryCursor?

    /// A follower that has seen the newest rows of a log, newest first: at least `window`, or all there are.
    init(seen rows: [Delivery]) {
        remember(rows)
    }

    /// Whether a page of a look, newest first, leaves older rows to be looked at.
    func goesOn(behind page: [Delivery], of limit: Int) -> Bool {
        guard page.count == limit, let last = page.last else { return false }
        return floor.map { !Self.isOlder(last.cursor, than: $0) } ?? true
    }

    /// Takes the rows of a look, newest first, and returns those that are new, oldest first.
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
