/// Bounds the number of pushes that one loop has in flight, and thus the memory that they use.
///
/// An event takes slots for all its devices before anything is sent, and releases each when its push has an
/// outcome, which may be after the event's response.
struct PushSlots {
    /// Maximum slots.
    let capacity: Int
    /// Slots in use.
    private(set) var taken = 0

    /// Creates slots that are all free.
    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Whether an event with this many devices must be refused now.
    ///
    /// An event with more devices than slots is accepted when no slot is in use; otherwise it could never be
    /// sent.
    func refuses(_ count: Int) -> Bool {
        taken > 0 && taken + count > capacity
    }

    /// Takes slots for an event, all or nothing.
    mutating func take(_ count: Int) -> Bool {
        guard !refuses(count) else { return false }
        taken += count
        return true
    }

    /// Adjusts a reservation to the number of slots that are needed.
    ///
    /// Never refuses, even if more slots are needed than were reserved, because the pushes can no longer be cancelled.
    mutating func exchange(_ reserved: Int, for count: Int) {
        giveBack(reserved)
        taken += count
    }

    /// Releases slots.
    mutating func giveBack(_ count: Int = 1) {
        precondition(count <= taken, "more slots given back than taken")
        taken -= count
    }
}
