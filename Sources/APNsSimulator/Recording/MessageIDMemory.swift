/// Remembers the `apns-id`s that clients sent, to detect pushes sent twice.
///
/// Bounded: forgets the oldest first.
package struct MessageIDMemory: Sendable {
    /// The number of most recent identifiers that are always remembered; older ones may be forgotten.
    package static let rememberedMin = 500_000

    /// What is known about earlier pushes with the same identifier.
    package enum Earlier: Hashable, Sendable {
        case nothing
        case notAccepted
        case accepted
    }

    private let generationSize: Int
    /// For each identifier, whether a push with it was accepted.
    ///
    /// A full generation becomes the older one.
    private var recent: [MessageID: Bool] = [:]
    private var older: [MessageID: Bool] = [:]

    /// An empty memory.
    package init(generationSize: Int = rememberedMin) { self.generationSize = generationSize }

    /// Records a push and returns what was known about its identifier.
    package mutating func note(_ id: MessageID, isAccepted: Bool) -> Earlier {
        let known = recent[id] ?? older[id]
        if recent.count >= generationSize {
            older = recent
            recent = [:]
        }
        recent[id] = isAccepted || known == true
        switch known {
        case nil: return .nothing
        case true?: return .accepted
        case false?: return .notAccepted
        }
    }
}
