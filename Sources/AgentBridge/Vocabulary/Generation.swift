/// The generations of OpenCode servers.
enum Generation: Sendable, Equatable {
    /// 1.x: one instance for each directory, a bus of events named `session.status` and the like.
    case first
    /// 2.x: one server for all locations, durable events with `data`.
    case second
}
