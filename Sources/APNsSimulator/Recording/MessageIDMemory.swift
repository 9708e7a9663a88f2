/// The `apns-id`s that clients sent, to find pushes that were sent twice.
///
/// Bounded: the oldest are forgotten.
package struct MessageIDMemory: Sendable {
    /// How many identifiers are remembered at least, once so many have come.
    package static let rememberedMin = 500_000

    /// What an identifier has been seen with before.
    package enum Earlier: Hashable, Sendable {
        case nothing
        case notAccepted
        case accepted
    }

    private let generationSize: Int
    /// Each identifier with whether a push with it was accepted.
    ///
    /// When it is full it becomes the older generation.
    private var recent: [MessageID: Bool] = [:]
    private var older: [MessageID: Bool] = [:]

    /// Remembers nothing yet.
    package init(generationSize: Int = rememberedMin) { self.generationSize = generationSize }

    /// Notes a push and returns what was known about its identifier.
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
