import Network

/// What later requests to the server need of earlier events.
final class ServerMemory: Sendable {
    private struct State {
        /// The most recent last.
        var directories: [String] = []
        var positions: [SessionID: Int] = [:]
    }

    private let state = Lock(State())

    /// The directories whose instances are known (1.x), the most recent first.
    var directories: [String] { state.withLock { $0.directories.reversed() } }

    /// Remembers a directory.
    func note(directory: String) {
        guard directory != "global" else { return }
        state.withLock { state in
            guard state.directories.last != directory else { return }
            state.directories.removeAll { $0 == directory }
            state.directories.append(directory)
            if state.directories.count > Bounds.directoriesMax { state.directories.removeFirst() }
        }
    }

    /// The number of a session's last durable event that was seen (2.x).
    func position(of session: SessionID) -> Int? { state.withLock { $0.positions[session] } }

    /// Remembers the number of a session's durable event.
    func note(position: Int, of session: SessionID) {
        state.withLock { state in
            if state.positions.count >= Bounds.positionsMax, state.positions[session] == nil {
                state.positions.removeAll(keepingCapacity: true)
            }
            state.positions[session] = position
        }
    }
}
