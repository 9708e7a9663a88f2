import JSON
import Network
import WebClient

extension OpenCodeClient {
    /// Asks for the state of everything that may run.
    ///
    /// - Parameter isFirst: Whether nothing has been seen yet, so that the server's projects are asked for.
    func snapshot(isFirst: Bool) async throws(ServerFault) -> Snapshot {
        switch generation {
        case .first: try await firstSnapshot(isFirst: isFirst)
        case .second: try await secondSnapshot()
        }
    }

    // MARK: 1.x

    private func firstSnapshot(isFirst: Bool) async throws(ServerFault) -> Snapshot {
        if isFirst { await rememberProjects() }
        var snapshot = Snapshot(askedAt: .current, busy: [:], requests: [], directories: [])
        // The server's own directory, without which there is no answer at all.
        try await add("", to: &snapshot)
        for directory in memory.directories {
            do throws(ServerFault) {
                try await add(directory, to: &snapshot)
            } catch {
                guard !error.isPassing, error != .unauthorized else { throw error }
            }
        }
        return snapshot
    }

    private func add(_ directory: String, to snapshot: inout Snapshot) async throws(ServerFault) {
        let query = Self.directoryQuery(directory)
        let given = directory.isEmpty ? nil : directory
        let status = try await get("/session/status", query)
        let permissions = try await get("/permission", query)
        let questions = try await questionsIfKnown(query)
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

    /// Earlier servers have no questions.
    private func questionsIfKnown(_ query: [(String, String)]) async throws(ServerFault) -> JSON.Value {
        do throws(ServerFault) {
            return try await get("/question", query)
        } catch {
            guard case .status(404) = error else { throw error }
            return []
        }
    }

    private func rememberProjects() async {
        guard let projects = try? await get("/project") else { return }
        let recent = Self.elements(projects).compactMap { project -> (directory: String, at: Double)? in
            guard let directory = project.identifier("worktree"), directory != "/" else { return nil }
            let time = project["time"]?["updated"]?.double ?? project["time"]?["created"]?.double
            return (directory, time ?? 0)
        }
        for project in recent.sorted(by: { $0.at > $1.at }).prefix(Bounds.projectsMax).reversed() {
            memory.note(directory: project.directory)
        }
    }

    // MARK: 2.x

    private func secondSnapshot() async throws(ServerFault) -> Snapshot {
        var snapshot = Snapshot(askedAt: .current, busy: [:], requests: [])
        let active = try await get("/api/session/active")
        for member in active["data"]?.object?.members ?? [] {
            if let session = SessionID(member.name) { snapshot.busy[session] = .some(nil) }
        }
        let sessions = snapshot.busy.keys.sorted { $0.text < $1.text }
        snapshot.hasRequests = sessions.count <= Bounds.sessionsListedMax
        for session in sessions.prefix(Bounds.sessionsListedMax) {
            do throws(ServerFault) {
                let permissions = try await get(second(session) + "/permission")
                let forms = try await get(second(session) + "/form")
                snapshot.requests += Self.elements(permissions).compactMap(SecondGeneration.permission)
                snapshot.requests += Self.elements(forms).compactMap(SecondGeneration.form)
            } catch {
                guard !error.isPassing else { throw error }
                snapshot.hasRequests = false
            }
        }
        return snapshot
    }

    /// How a session's last run ended, from its durable events; `nil` if they don't tell.
    ///
    /// The log is an event stream that ends by itself.
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
                    case .busy(session, _): outcome = nil
                    case .settled(session, let end, _): outcome = end
                    default: break
                    }
                }
            }
        }
        return outcome
    }
}
