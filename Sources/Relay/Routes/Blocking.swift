import HTTPServer
import JSON
import Programs
import Storage

/// `POST /v1/secret/block` and `/v1/secret/unblock` on the admin listener.
///
/// `relay block` and `relay unblock` call them when only the running relay may change the database.
struct Blocking: Sendable {
    let storage: any BlockStorage
    let list: BlockList
    let clock: WallClock
    let log: Log

    /// Blocks the hash in the request.
    func block(_ request: Request) async -> Response {
        await answer(request) { body, hash throws(StorageError) in
            let secret = BlockedSecret(
                secretHash: hash, createdAt: clock.now, note: body["note"]?.string)
            let result = try await storage.block(secret, limit: StorageLimits.blockedSecretsMax)
            if result == .blocked { log(.info, "secret.blocked", [.secretHash(hash)]) }
            return BlockAnswer(result, secret)
        }
    }

    /// Unblocks the hash in the request.
    func unblock(_ request: Request) async -> Response {
        await answer(request) { _, hash throws(StorageError) in
            let wasBlocked = try await storage.unblock(hash)
            if wasBlocked { log(.info, "secret.unblocked", [.secretHash(hash)]) }
            return BlockAnswer(outcome: wasBlocked ? .unblocked : .notBlocked)
        }
    }

    private func answer(
        _ request: Request, _ change: (JSON.Value, SecretHash) async throws(StorageError) -> BlockAnswer
    ) async -> Response {
        do throws(APIError) {
            guard let body = try? JSON.parse(request.body, maxBytes: Bounds.requestBodyBytesMax),
                body.object != nil
            else { throw APIError(.invalidBody) }
            guard let hash = body["secretHash"]?.string.flatMap({ SecretHash(hex: $0) }) else {
                throw APIError(.invalidField, hint: "secretHash must be 64 lower-case hexadecimal digits.")
            }
            let answer: BlockAnswer
            do throws(StorageError) {
                answer = try await change(body, hash)
            } catch {
                if case .invalidValue = error {
                    throw APIError(
                        .invalidField,
                        hint: "note must have at most \(StorageLimits.blockNoteBytes) bytes and no NUL.")
                }
                throw APIError(error)
            }
            // Makes the change take effect in this relay immediately.
            await list.refresh()
            return Reply(body: answer.json).response(requestID: request.id)
        } catch {
            log(.warning, "secret.not_changed", [.code(error.code)])
            return Reply(error).response(requestID: request.id)
        }
    }
}

/// The result of a request to block or unblock a hash.
struct BlockAnswer: Equatable, Sendable {
    enum Outcome: String, Sendable {
        case blocked
        case alreadyBlocked = "already_blocked"
        case limitReached = "limit_reached"
        case unblocked
        case notBlocked = "not_blocked"
    }

    let outcome: Outcome
    /// When the secret was blocked.
    var since: EpochMilliseconds?

    init(outcome: Outcome, since: EpochMilliseconds? = nil) {
        self.outcome = outcome
        self.since = since
    }

    /// Creates the response from the storage's result.
    init(_ result: BlockResult, _ secret: BlockedSecret) {
        switch result {
        case .blocked: self.init(outcome: .blocked, since: secret.createdAt)
        case .alreadyBlocked(let stored): self.init(outcome: .alreadyBlocked, since: stored.createdAt)
        case .limitReached: self.init(outcome: .limitReached)
        }
    }

    /// `{"ok":true,"outcome":"blocked","since":1800000000000}`.
    var json: [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", outcome != .limitReached)
        writer.member("outcome", outcome.rawValue)
        if let since { writer.member("since", Int(since)) }
        writer.endObject()
        return writer.finish()
    }

    /// Parses the text that ``json`` returns.
    init?(json bytes: [UInt8]) {
        guard let value = try? JSON.parse(bytes, maxBytes: Bounds.requestBodyBytesMax),
            let outcome = value["outcome"]?.string.flatMap(Outcome.init)
        else { return nil }
        self.init(outcome: outcome, since: value["since"]?.int.map(EpochMilliseconds.init))
    }
}
