import JSON
import Network
import WebClient

extension OpenCodeClient {
    /// Performs an action of the model and returns the event with its result.
    func answer(_ action: BridgeAction) async -> BridgeEvent? {
        switch action {
        case .lookUp(let session, let directory): return await lookUp(session, directory)
        case .read(let id, let session, let directory, let needsOutcome, let api):
            let reading = try? await retrying { () async throws(ServerError) in
                try await read(session, directory, needsOutcome: needsOutcome, api: api)
            }
            return .read(id, reading)
        case .check(let request, let directory): return await check(request, directory)
        case .ring, .began, .ended, .over:
            return nil
        }
    }

    private func retrying<Value: Sendable>(
        _ ask: () async throws(ServerError) -> Value
    ) async throws(ServerError) -> Value {
        for pause in Bounds.serverRetryPauses {
            do throws(ServerError) {
                return try await ask()
            } catch {
                guard error.isPassing, (try? await Task.sleep(for: pause)) != nil else { throw error }
            }
        }
        return try await ask()
    }

    // MARK: Sessions

    private func lookUp(_ session: SessionID, _ directory: String?) async -> BridgeEvent {
        do throws(ServerError) {
            let info = try await retrying { () async throws(ServerError) in
                try await sessionInfo(session, directory)
            }
            let place = info.identifier("directory") ?? info["location"]?.identifier("directory")
            return .session(session, parent: info.sessionID("parentID"), directory: place)
        } catch {
            return error == .status(404) ? .deleted(session) : .lookUpFailed(session)
        }
    }

    private func sessionInfo(_ session: SessionID, _ directory: String?) async throws(ServerError)
        -> JSON.Value
    {
        switch generation {
        case .first: return try await get(first(session), Self.directoryQuery(directory))
        case .second:
            let answer = try await get(second(session))
            return answer["data"] ?? answer
        }
    }

    /// Reads a session's title and last messages.
    ///
    /// - Parameter api: The API of its last run, if not the server's own.
    func read(_ session: SessionID, _ directory: String?, needsOutcome: Bool, api: Generation? = nil)
        async throws(ServerError) -> Reading
    {
        let limit = String(Bounds.messagesRead)
        var reading: Reading
        switch api ?? generation {
        case .first:
            let query = Self.directoryQuery(directory) + [("limit", limit)]
            reading = SessionReading.first(try await get(first(session) + "/message", query))
        case .second:
            let query = [("order", "desc"), ("limit", limit)]
            reading = SessionReading.second(try await get(second(session) + "/message", query))
            if needsOutcome, let outcome = await loggedOutcome(session) { reading.outcome = outcome }
        }
        // A notification without a title is better than no notification.
        if let info = try? await sessionInfo(session, directory) {
            SessionReading.describe(info, in: &reading)
        }
        return reading
    }

    // MARK: Requests

    private func check(_ request: Request, _ directory: String?) async -> BridgeEvent {
        // Requests without a session are listed by location, which the event may lack.
        guard request.session != .global else { return .checked(request.id, .unlistable) }
        do throws(ServerError) {
            let list = try await retrying { () async throws(ServerError) in
                try await openRequests(like: request, directory)
            }
            note(listOf: request, directory, isReadable: true)
            guard let listed = list[request.id] else { return .checked(request.id, .notListed) }
            guard listed.asksSame(as: request) else { return .opened(listed) }
            return .checked(request.id, await hasEnded(listed, directory) ? .notListed : .listed)
        } catch {
            guard error.isRefusal else { return .checked(request.id, .unknown) }
            // 2.x lists requests by session, and a deleted session has none.
            if generation == .second, error == .status(404) { return .checked(request.id, .notListed) }
            note(listOf: request, directory, isReadable: false)
            return .checked(request.id, .unlistable)
        }
    }

    private func note(listOf request: Request, _ directory: String?, isReadable: Bool) {
        switch generation {
        case .first: if request.api == nil { memory.note(list: directory ?? "", isReadable: isReadable) }
        // One session's list says nothing about the others.
        case .second: if !isReadable { memory.note(list: ServerMemory.sessions, isReadable: false) }
        }
    }

    /// Whether the call that waits for a permission has ended: 1.x keeps listing the requests of aborted runs.
    private func hasEnded(_ request: Request, _ directory: String?) async -> Bool {
        guard let call = request.call else { return false }
        let path = first(request.session) + "/message/" + WebAddress.encoded(call.message)
        guard let message = try? await get(path, Self.directoryQuery(directory)) else { return false }
        let part = message["parts"]?.array?.first { $0["callID"]?.string == call.id }
        return ["completed", "error"].contains(part?["state"]?["status"]?.string)
    }

    /// The open requests at the place where a request was made, by ID.
    func openRequests(like request: Request, _ directory: String?) async throws(ServerError)
        -> [RequestID: Request]
    {
        let open: [Request]
        switch request.api ?? generation {
        case .first:
            let path = request.kind == .permission ? "/permission" : "/question"
            open = Self.elements(try await get(path, Self.directoryQuery(directory)))
                .compactMap { FirstGeneration.request($0, request.kind, directory) }
        case .second:
            let isPermission = request.kind == .permission
            let list = try await get(second(request.session) + (isPermission ? "/permission" : "/form"))
            open = Self.elements(list)
                .compactMap { isPermission ? SecondGeneration.permission($0) : SecondGeneration.form($0) }
        }
        return Dictionary(open.map { ($0.id, $0) }) { first, _ in first }
    }
}
