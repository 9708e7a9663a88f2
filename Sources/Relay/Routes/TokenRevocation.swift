import HTTPServer
import JSON
import Storage

/// `POST /v1/token/revoke` on the admin listener.
///
/// The console and `relay tokens --revoke` call it (docs/design/security.md).
struct TokenRevocation: Sendable {
    let storage: any Storage
    let hasher: SecretHasher
    let log: Log

    /// Removes the token that the request names.
    func answer(_ request: Request) async -> Response {
        do throws(APIError) {
            let wanted = try TokenRevokeRequest(RequestFields(body: request.body))
            let key = try hasher.key(ofAdmin: request)
            let wasThere: Bool
            do throws(StorageError) {
                wasThere = try await storage.revokeAccessToken(wanted.id, of: key)
            } catch {
                throw APIError(error)
            }
            log(.info, "token.revoked", [.secretHash(key.primary), .count("tokens", wasThere ? 1 : 0)])
            return Reply(revoked: wasThere).response(requestID: request.id)
        } catch {
            log(.warning, "secret.not_changed", [.code(error.code)])
            return Reply(error).response(requestID: request.id)
        }
    }
}

extension Reply {
    /// The response to a token's revocation: `{"ok":true,"revoked":1}`.
    init(revoked wasThere: Bool) {
        let response: JSON.Value = ["ok": true, "revoked": .int(wasThere ? 1 : 0)]
        self.init(body: response.encoded())
    }
}
