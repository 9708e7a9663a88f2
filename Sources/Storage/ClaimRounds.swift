/// The parts of the queue that a process's next claims will search, chosen so that relays rarely compete for the same
/// pushes.
///
/// A round visits every part with a backlog once, in a new random order; then the next round begins. So each
/// part gets its turn, no matter how many rows the others have. Claims that scan past backlogs have separate rounds, so
/// that they also reach every part.
package struct ClaimRounds: Hashable, Sendable {
    /// The parts not visited yet; the last element is visited next.
    private var left: [ClaimScope: [Int]] = [:]

    /// Creates a value in which no round has begun.
    package init() {}

    /// Begins a round for a scope unless one is still in progress.
    ///
    /// - Parameter backlogs: The parts that have a backlog.
    package mutating func begin(
        _ scope: ClaimScope, _ backlogs: [Int], using generator: inout some RandomNumberGenerator
    ) {
        guard left[scope, default: []].isEmpty else { return }
        left[scope] = backlogs.shuffled(using: &generator)
    }

    /// The part that a claim with this scope visits next; nil when the round is over.
    package mutating func next(_ scope: ClaimScope) -> Int? {
        left[scope]?.popLast()
    }
}
