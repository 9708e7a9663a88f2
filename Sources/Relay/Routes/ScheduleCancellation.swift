import HTTPServer
import JSON
import Storage

/// `POST /v1/schedule/cancel` on the admin listener.
///
/// `relay schedules --cancel` calls it when only the running relay may change the database (docs/design/security.md).
struct ScheduleCancellation: Sendable {
    let storage: any Storage
    let hasher: SecretHasher
    let log: Log

    /// Removes the schedule that the request names.
    func answer(_ request: Request) async -> Response {
        do throws(APIError) {
            let reference = try ScheduleReference(RequestFields(body: request.body))
            let key = try hasher.key(ofAdmin: request)
            let wasThere: Bool
            do throws(StorageError) {
                wasThere = try await storage.cancel(reference, kind: .schedule, of: key)
            } catch {
                throw APIError(error)
            }
            log(
                .info, "schedule.cancelled",
                [.secretHash(key.primary), .count("schedules", wasThere ? 1 : 0)])
            return Reply(cancelled: wasThere).response(requestID: request.id)
        } catch {
            log(.warning, "secret.not_changed", [.code(error.code)])
            return Reply(error).response(requestID: request.id)
        }
    }
}

extension ScheduleReference {
    /// The schedule that a request names by `id` or `name`.
    init(_ fields: RequestFields) throws(APIError) {
        let id = try fields.optional(.scheduleID) { $0.string.flatMap { UUIDv7($0) } }
        let name = try fields.word(.scheduleName, most: Bounds.scheduleNameBytesMax)
        switch (id, name) {
        case (let id?, nil): self = .id(id)
        case (nil, let name?): self = .name(name)
        case (nil, nil): throw APIError(.missingField, field: .scheduleID)
        case (_?, _?): throw APIError(.invalidField, field: .scheduleName, hint: "Send id or name, not both.")
        }
    }
}

extension Reply {
    /// The response to a cancellation: `{"ok":true,"cancelled":1}`.
    init(cancelled wasThere: Bool) {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("cancelled", wasThere ? 1 : 0)
        writer.endObject()
        self.init(body: writer.finish())
    }
}
