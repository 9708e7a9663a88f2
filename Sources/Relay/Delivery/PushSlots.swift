/// How many pushes of one loop may wait for their outcome: the bound that keeps memory bounded.
///
/// An event takes slots for all its devices before anything is sent and gives each back when its push has an
/// outcome, which may be after the event was answered.
struct PushSlots {
    /// The bound.
    let capacity: Int
    /// Slots that are taken.
    private(set) var taken = 0

    /// Slots of which none is taken.
    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Whether an event with so many devices has to be refused now.
    ///
    /// One with more devices than there are slots goes when nothing else does, or it could never go.
    func refuses(_ count: Int) -> Bool {
        taken > 0 && taken + count > capacity
    }

    /// Takes slots for an event, or none.
    mutating func take(_ count: Int) -> Bool {
        guard !refuses(count) else { return false }
        taken += count
        return true
    }

    /// Gives slots back.
    mutating func giveBack(_ count: Int = 1) {
        precondition(count <= taken, "more slots given back than taken")
        taken -= count
    }
}
