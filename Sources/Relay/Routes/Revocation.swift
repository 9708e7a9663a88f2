import HTTPServer
import JSON
import Storage

/// `POST /v1/secret/revoke` on the admin listener.
///
/// `relay revoke` calls it when only the running relay may change the database (docs/design/security.md).
struct Revocation: Sendable {
    let storage: any Storage
    let hasher: SecretHasher
    let log: Log

    /// Removes the rows of the request's secret, and returns the counts.
    func answer(_ request: Request) async -> Response {
        do throws(APIError) {
            return try await reply(request).response(requestID: request.id)
        } catch {
            log(.warning, "secret.not_revoked", [.code(error.code)])
            return Reply(error).response(requestID: request.id)
        }
    }

    private func reply(_ request: Request) async throws(APIError) -> Reply {
        let key = try hasher.key(ofAdmin: request)
        do throws(StorageError) {
            let removed = try await storage.revokeAll(key)
            log(
                .info, "secret.revoked",
                [
                    .secretHash(key.primary), .count("devices", removed.devices),
                    .count("pushes", removed.pushes), .count("receipts", removed.receipts),
                    .count("history", removed.history), .count("schedules", removed.schedules),
                    .count("replies", removed.replies), .count("tokens", removed.tokens),
                    .count("agents", removed.agents), .count("access_tokens", removed.accessTokens),
                ])
            return Reply(body: removed.json)
        } catch {
            throw APIError(error)
        }
    }
}

extension SecretHasher {
    /// The key for the secret, or for the single hash, in an admin request.
    func key(ofAdmin request: Request) throws(APIError) -> SecretKey {
        let fields = try RequestFields(body: request.body)
        if let value = try? JSON.parse(request.body, maxBytes: Bounds.requestBodyBytesMax)["secretHash"] {
            guard fields.value(.secret) == nil, let hash = value.string.flatMap({ SecretHash(hex: $0) })
            else {
                throw APIError(
                    .invalidField,
                    hint: "secretHash must be 64 lower-case hexadecimal digits, without secret.")
            }
            return SecretKey(primary: hash)
        }
        let text = try fields.required(.secret) { (1...Bounds.secretBytesMax).contains($0.count) }
        return key(of: Secret(text))
    }
}

extension Storage {
    /// Removes all of a secret's rows except its delivery log, in steps, and returns the counts.
    func revokeAll(_ key: SecretKey) async throws(StorageError) -> Holdings {
        var removed = Holdings()
        while true {
            let step = try await revoke(key, limit: Bounds.revokeRowsPerStep)
            guard !step.isEmpty else { return removed }
            removed += step
        }
    }
}

extension Holdings {
    /// `{"ok":true,"devices":2,"pushes":0,"receipts":1}`, plus the other counts that aren't zero.
    var json: [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("devices", devices)
        writer.member("pushes", pushes)
        writer.member("receipts", receipts)
        let others: [(StaticString, Int)] = [
            ("history", history), ("schedules", schedules), ("replies", replies), ("tokens", tokens),
            ("agents", agents), ("accessTokens", accessTokens),
        ]
        for (name, number) in others where number > 0 { writer.member(name, number) }
        writer.endObject()
        return writer.finish()
    }

    /// Parses the text that ``json`` returns.
    init?(json bytes: [UInt8]) {
        guard let value = try? JSON.parse(bytes, maxBytes: Bounds.requestBodyBytesMax),
            let devices = value["devices"]?.int, let pushes = value["pushes"]?.int,
            let receipts = value["receipts"]?.int
        else { return nil }
        func other(_ name: String) -> Int { value[name]?.int ?? 0 }
        self.init(
            devices: devices, pushes: pushes, receipts: receipts, history: other("history"),
            schedules: other("schedules"), replies: other("replies"), tokens: other("tokens"),
            agents: other("agents"), accessTokens: other("accessTokens"))
    }

    /// `2 devices, 1 waiting push and 3 receipts`.
    var text: String {
        func counted(_ number: Int, _ one: String, _ many: String) -> String {
            "\(CopyProgress.grouped(number)) \(number == 1 ? one : many)"
        }
        var parts = [
            counted(devices, "device", "devices"), counted(pushes, "waiting push", "waiting pushes"),
            counted(receipts, "receipt", "receipts"),
        ]
        if history > 0 { parts.append(counted(history, "history item", "history items")) }
        if schedules > 0 { parts.append(counted(schedules, "schedule", "schedules")) }
        if replies > 0 { parts.append(counted(replies, "reply", "replies")) }
        if tokens > 0 { parts.append(counted(tokens, "further push token", "further push tokens")) }
        if agents > 0 { parts.append(counted(agents, "agent's last use", "agents' last uses")) }
        if accessTokens > 0 { parts.append(counted(accessTokens, "access token", "access tokens")) }
        return parts.dropLast().joined(separator: ", ") + " and " + (parts.last ?? "")
    }
}
