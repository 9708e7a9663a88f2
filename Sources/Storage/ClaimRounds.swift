/// Which parts of the queue the next claims of a process look into, so that several relays rarely want the same pushes.
///
/// A round visits every part that has a backlog once, in an order that is new each time; then the next one begins. So
/// each part gets its turn, however many rows another has. Claims that look past backlogs have rounds of their own,
/// because each of them should get to every part, too.
package struct ClaimRounds: Hashable, Sendable {
    /// The parts that are still to be visited, the next one last.
    private var left: [ClaimScope: [Int]] = [:]

    /// No round has begun.
    package init() {}

    /// Begins a round of a scope, unless one isn't over.
    ///
    /// - Parameter backlogs: The parts that have a backlog.
    package mutating func begin(
        _ scope: ClaimScope, _ backlogs: [Int], using generator: inout some RandomNumberGenerator
    ) {
        guard left[scope, default: []].isEmpty else { return }
        left[scope] = backlogs.shuffled(using: &generator)
    }

    /// The part that a claim of this scope visits next; nil when the round is over.
    package mutating func next(_ scope: ClaimScope) -> Int? {
        left[scope]?.popLast()
    }
}
