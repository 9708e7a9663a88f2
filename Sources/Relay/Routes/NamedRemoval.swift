import HTTPServer
import JSON
import Storage

/// The removal of a secret's access token or schedule, by its ID or name.
///
/// Commands perform the removal themselves or, if only the running relay may change the database, send it to the admin
/// listener, as the console does (docs/design/security.md).
enum NamedRemoval: Sendable {
    case accessToken(UUIDv7)
    case schedule(ScheduleReference)

    /// The name of the response member that contains the number of removed rows; also used in messages.
    var verb: StaticString {
        switch self {
        case .accessToken: "revoked"
        case .schedule: "cancelled"
        }
    }

    /// The message if there was nothing to remove.
    var absence: String {
        switch self {
        case .accessToken: "no such token"
        case .schedule: "no such schedule"
        }
    }

    /// Performs the removal; returns false if there was nothing to remove.
    func make(in storage: any Storage, of key: SecretKey) async throws(StorageError) -> Bool {
        switch self {
        case .accessToken(let id): try await storage.revokeAccessToken(id, of: key)
        case .schedule(let reference): try await storage.cancel(reference, kind: .schedule, of: key)
        }
    }

    /// Writes the request members that identify what to remove.
    func write(to writer: inout JSON.Writer) {
        switch self {
        case .accessToken(let id): writer.member("tokenID", id.text)
        case .schedule(.id(let id)): writer.member("id", id.text)
        case .schedule(.name(let name)): writer.member("name", name)
        }
    }

    /// Logs the removal.
    fileprivate func note(_ wasThere: Bool, of key: SecretKey, in log: Log) {
        let (event, rows): (StaticString, StaticString) =
            switch self {
            case .accessToken: ("token.revoked", "tokens")
            case .schedule: ("schedule.cancelled", "schedules")
            }
        log(.info, event, [.secretHash(key.primary), .count(rows, wasThere ? 1 : 0)])
    }
}

/// `POST /v1/token/revoke` and `/v1/schedule/cancel` on the admin listener.
struct NamedRemovals: Sendable {
    let storage: any Storage
    let hasher: SecretHasher
    let log: Log

    /// Performs the removal that the request describes.
    func answer(
        _ request: Request, _ read: (RequestFields) throws(APIError) -> NamedRemoval
    ) async -> Response {
        do throws(APIError) {
            let removal = try read(try RequestFields(body: request.body))
            let key = try hasher.key(ofAdmin: request)
            let wasThere: Bool
            do throws(StorageError) {
                wasThere = try await removal.make(in: storage, of: key)
            } catch {
                throw APIError(error)
            }
            removal.note(wasThere, of: key, in: log)
            return Reply(removal.verb, wasThere).response(requestID: request.id)
        } catch {
            log(.warning, "secret.not_changed", [.code(error.code)])
            return Reply(error).response(requestID: request.id)
        }
    }
}

extension Reply {
    /// The response to a removal: `{"ok":true,"revoked":1}`.
    init(_ verb: StaticString, _ wasThere: Bool) {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member(verb, wasThere ? 1 : 0)
        writer.endObject()
        self.init(body: writer.finish())
    }
}
