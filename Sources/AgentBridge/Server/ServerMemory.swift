import Network

/// State from earlier events that later requests to the server need.
final class ServerMemory: Sendable {
    private struct State {
        /// The known directories, the most recent last.
        var directories: [String] = []
        var positions: [SessionID: Int] = [:]
        /// The directories whose open requests can't be listed.
        var unlisted: Set<String> = []
        /// The directories whose lists became unreadable, or readable again, since the last report.
        var changed: Set<String> = []
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

    /// Stands for the sessions of 2.x, whose requests aren't listed by directory.
    static let sessions = "some sessions"

    /// Records whether a directory's open requests could be listed; the empty string is the server's own directory.
    func note(list directory: String, isReadable: Bool) {
        state.withLock { state in
            guard state.unlisted.contains(directory) == isReadable,
                state.unlisted.count < Bounds.directoriesMax || isReadable
            else { return }
            if isReadable { state.unlisted.remove(directory) } else { state.unlisted.insert(directory) }
            state.changed.insert(directory)
        }
    }

    /// The directories whose open requests can't be listed.
    var unlisted: [String] { state.withLock { $0.unlisted.sorted() } }

    /// Messages about changes since the last call.
    func takeReports() -> [String] {
        state.withLock { state in
            defer { state.changed = [] }
            return state.changed.sorted().map {
                state.unlisted.contains($0)
                    ? Self.unlistedReport($0)
                    : "OpenCode can list the open requests of \(Self.name($0)) again"
            }
        }
    }

    /// The message saying that a directory's open requests can't be listed.
    static func unlistedReport(_ directory: String) -> String {
        "OpenCode can't list the open requests of \(name(directory)): new requests ring, but not those made before the "
            + "bridge started. Answer the pending requests, or restart OpenCode"
    }

    private static func name(_ directory: String) -> String {
        directory.isEmpty ? "its own directory" : Console.safe(directory)
    }

    /// The number of the last durable event seen in a session (2.x).
    func position(of session: SessionID) -> Int? { state.withLock { $0.positions[session] } }

    /// Records the number of a session's durable event.
    func note(position: Int, of session: SessionID) {
        state.withLock { state in
            if state.positions.count >= Bounds.positionsMax, state.positions[session] == nil {
                state.positions.removeAll(keepingCapacity: true)
            }
            state.positions[session] = position
        }
    }
}
