import HTTPServer
import JSON
import Storage

/// `POST /v1/secret/revoke` on the admin listener: `relay revoke` asks the relay that runs, where only that may change the
/// database (docs/decisions/0013).
struct Revocation: Sendable {
    let storage: any Storage
    let hasher: SecretHasher
    let log: Log

    /// Removes what the secret of the request has, and says how much that was.
    func answer(_ request: Request) async -> Response {
        do throws(APIError) {
            return try await reply(request).response(requestID: request.id)
        } catch {
            log(.warning, "secret.not_revoked", [.code(error.code)])
            return Reply(error).response(requestID: request.id)
        }
    }

    private func reply(_ request: Request) async throws(APIError) -> Reply {
        let text = try RequestFields(body: request.body).required(.secret) {
            (1...Bounds.secretBytesMax).contains($0.count)
        }
        let key = hasher.key(of: Secret(text))
        do throws(StorageError) {
            let removed = try await storage.revokeAll(key)
            log(
                .info, "secret.revoked",
                [
                    .secretHash(key.primary), .count("devices", removed.devices),
                    .count("pushes", removed.pushes), .count("receipts", removed.receipts),
                ])
            return Reply(body: removed.json)
        } catch {
            throw APIError(error)
        }
    }
}

extension Storage {
    /// Removes all devices, waiting pushes and receipts of a secret, in steps, and says how many.
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
    /// `{"ok":true,"devices":2,"pushes":0,"receipts":1}`.
    var json: [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("devices", devices)
        writer.member("pushes", pushes)
        writer.member("receipts", receipts)
        writer.endObject()
        return writer.finish()
    }

    /// The holdings that such a text tells of.
    init?(json bytes: [UInt8]) {
        guard let value = try? JSON.parse(bytes, maxBytes: Bounds.requestBodyBytesMax),
            let devices = value["devices"]?.int, let pushes = value["pushes"]?.int,
            let receipts = value["receipts"]?.int
        else { return nil }
        self.init(devices: devices, pushes: pushes, receipts: receipts)
    }

    /// `2 devices, 1 waiting push and 3 receipts`.
    var text: String {
        func counted(_ number: Int, _ one: String, _ many: String) -> String {
            "\(CopyProgress.grouped(number)) \(number == 1 ? one : many)"
        }
        return counted(devices, "device", "devices") + ", "
            + counted(pushes, "waiting push", "waiting pushes") + " and "
            + counted(receipts, "receipt", "receipts")
    }
}
