import JSON
import Network
import Programs
import WebClient

extension OpenCodeClient {
    /// Queries the state of everything that may be running.
    ///
    /// - Parameter isFirst: Whether nothing has been seen yet, so that the server's projects are also queried.
    func snapshot(isFirst: Bool) async throws(ServerError) -> Snapshot {
        switch generation {
        case .first: try await firstSnapshot(isFirst: isFirst)
        case .second: try await secondSnapshot()
        }
    }

    // MARK: 1.x

    private func firstSnapshot(isFirst: Bool) async throws(ServerError) -> Snapshot {
        if isFirst { await rememberDirectories() }
        var snapshot = Snapshot(askedAt: .current, busy: [:], requests: [], directories: [])
        // The server's own directory; if this fails, the whole query fails.
        try await add("", to: &snapshot)
        for directory in memory.directories {
            do throws(ServerError) {
                try await add(directory, to: &snapshot)
            } catch {
                guard !error.isPassing, error != .unauthorized else { throw error }
            }
        }
        for session in try await activeSessions() where snapshot.busy[session] == nil {
            snapshot.busy[session] = .some(nil)
        }
        return snapshot
    }

    /// The runs of the API that 1.18 shares with 2.x; earlier servers lack this API.
    private func activeSessions() async throws(ServerError) -> [SessionID] {
        do throws(ServerError) {
            let active = try await get("/api/session/active")
            return (active["data"]?.object?.members ?? []).compactMap { SessionID($0.name) }
        } catch {
            guard error.isRefusal else { throw error }
            return []
        }
    }

    private func add(_ directory: String, to snapshot: inout Snapshot) async throws(ServerError) {
        let query = Self.directoryQuery(directory)
        let given = directory.isEmpty ? nil : directory
        let status = try await get("/session/status", query)
        let permissions = try await list("/permission", query, &snapshot)
        let questions = try await list("/question", query, &snapshot)
        memory.note(list: directory, isReadable: !snapshot.unlisted.contains(directory))
        for member in status.object?.members ?? [] {
            guard let session = SessionID(member.name) else { continue }
            let type = member.value["type"]?.string
            guard type == "busy" || type == "retry" else { continue }
            snapshot.busy[session] = .some(given)
        }
        let known = Set(snapshot.requests.map(\.id))
        let listed =
            Self.elements(permissions).compactMap { FirstGeneration.request($0, .permission, given) }
            + Self.elements(questions).compactMap { FirstGeneration.request($0, .question, given) }
        snapshot.requests += listed.filter { !known.contains($0.id) }
        snapshot.directories?.insert(directory)
    }

    /// A list of a directory's open requests; empty if the server can't produce it.
    private func list(_ path: String, _ query: [(String, String)], _ snapshot: inout Snapshot)
        async throws(ServerError) -> JSON.Value
    {
        do throws(ServerError) {
            return try await get(path, query)
        } catch {
            guard error.isRefusal else { throw error }
            // Earlier servers have no questions; 1.18 fails for a whole directory if one permission is malformed.
            if error != .status(404) { snapshot.unlisted.insert(query.first?.1 ?? "") }
            return []
        }
    }

    /// Records the directories where something may be running or waiting.
    ///
    /// Reads sessions as well as projects, because a directory without a repository is known only from its sessions.
    private func rememberDirectories() async {
        var recent: [(directory: String, at: Double)] = []
        func add(_ directory: String?, _ time: JSON.Value?) {
            guard let directory, directory != "/" else { return }
            recent.append((directory, time?["updated"]?.double ?? time?["created"]?.double ?? 0))
        }
        if let projects = try? await get("/project") {
            for project in Self.elements(projects) { add(project.identifier("worktree"), project["time"]) }
        }
        if let sessions = try? await get("/experimental/session", [("limit", String(Bounds.sessionsRead))]) {
            for session in Self.elements(sessions) { add(session.identifier("directory"), session["time"]) }
        }
        var chosen: [String] = []
        let old = Double(WallClock.system.now - Bounds.directoryAgeMax.inMilliseconds)
        for entry in recent.sorted(by: { $0.at > $1.at }) where !chosen.contains(entry.directory) {
            let limit = entry.at < old ? Bounds.oldDirectoriesMax : Bounds.directoriesMax
            if chosen.count < limit { chosen.append(entry.directory) }
        }
        for directory in chosen.reversed() { memory.note(directory: directory) }
    }

    // MARK: 2.x

    private func secondSnapshot() async throws(ServerError) -> Snapshot {
        var snapshot = Snapshot(askedAt: .current, busy: [:], requests: [])
        let active = try await get("/api/session/active")
        for member in active["data"]?.object?.members ?? [] {
            if let session = SessionID(member.name) { snapshot.busy[session] = .some(nil) }
        }
        let sessions = snapshot.busy.keys.sorted { $0.text < $1.text }
        snapshot.hasRequests = sessions.count <= Bounds.sessionsListedMax
        for session in sessions.prefix(Bounds.sessionsListedMax) {
            do throws(ServerError) {
                let permissions = try await get(second(session) + "/permission")
                let forms = try await get(second(session) + "/form")
                snapshot.requests += Self.elements(permissions).compactMap(SecondGeneration.permission)
                snapshot.requests += Self.elements(forms).compactMap(SecondGeneration.form)
            } catch {
                guard error.isRefusal else { throw error }
                // A session that was just deleted has no open requests.
                if error != .status(404) { snapshot.unlistedSessions.insert(session) }
            }
        }
        memory.note(list: ServerMemory.sessions, isReadable: snapshot.unlistedSessions.isEmpty)
        return snapshot
    }

    /// How a session's last run ended, from its durable events; `nil` if they don't show it.
    ///
    /// The log is an event stream that ends on its own.
    func loggedOutcome(_ session: SessionID) async -> Outcome? {
        guard let position = memory.position(of: session) else { return nil }
        var request = Self.request(
            place, "/api/experimental/session/\(WebAddress.encoded(session.text))/log",
            [("after", String(position)), ("follow", "false")])
        request.accept = "text/event-stream"
        guard let answer = try? await WebClient.send(request), answer.status == 200,
            answer.isOfType("text/event-stream")
        else { return nil }
        var parser = EventStreamParser()
        var outcome: Outcome?
        answer.body.withUnsafeBytes { bytes in
            parser.feed(bytes) { data in
                for case .event(let event) in StreamFrame.decode(data, .second) {
                    switch event {
                    case .busy(session, _, _): outcome = nil
                    case .settled(session, let end, _, _): outcome = end
                    default: break
                    }
                }
            }
        }
        return outcome
    }
}
