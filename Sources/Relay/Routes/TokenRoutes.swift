import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A validated `POST /v1/token/create` request.
struct TokenRequest: RequestBody {
    let scope: AccessTokenScope
    let name: String
    let expiresAt: EpochMilliseconds?

    init(_ fields: RequestFields, _: RequestRules, at now: EpochMilliseconds) throws(APIError) {
        guard let scope = try fields.optional(.scope, { $0.string.flatMap(AccessTokenScope.init) }) else {
            throw APIError(.missingField, field: .scope)
        }
        self.scope = scope
        guard let name = try fields.word(.scheduleName, most: StorageLimits.accessTokenNameBytes) else {
            throw APIError(.missingField, field: .scheduleName)
        }
        self.name = name
        expiresAt = try fields.optional(.expiresAt) { value in
            value.string.flatMap(Timestamp.milliseconds(rfc3339:)).flatMap { $0 > now ? $0 : nil }
        }
    }
}

/// A validated `POST /v1/token/revoke` request.
struct TokenRevokeRequest: PlainRequestBody {
    let id: UUIDv7

    init(_ fields: RequestFields) throws(APIError) {
        guard let id = try fields.optional(.tokenID, { $0.string.flatMap { UUIDv7($0) } }) else {
            throw APIError(.missingField, field: .tokenID)
        }
        self.id = id
    }
}

/// `POST /v1/token/create`: creates a token that grants part of the access that the secret grants.
struct TokenCreateRoute: TenantRoute {
    static let admission = Admission.registering
    let services: LoopServices

    /// Responds with the token, which isn't stored and can't be shown again.
    func answer(
        _ wanted: TokenRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let text = AccessTokenText.make()
        guard let digest = AccessTokenText.digest(of: Array(text.utf8)) else {
            throw APIError(.internalError)
        }
        let token = AccessToken(
            id: services.makeID(), digest: digest, secretHash: tenant.key.primary, scope: wanted.scope,
            name: wanted.name, createdAt: services.shared.clock.now, expiresAt: wanted.expiresAt)
        let creation: AccessTokenCreation
        do throws(StorageError) {
            creation = try await services.shared.storage.create(
                token, under: tenant.key, limit: Bounds.accessTokensMax)
        } catch {
            throw APIError(error)
        }
        switch creation {
        case .created: services.noteKnown()
        case .limitReached:
            throw APIError(.tokenLimit, hint: "The limit is \(Bounds.accessTokensMax).")
        case .noDevices:
            try tenant.countAsUnknown()
            throw APIError(.noDevices)
        }
        trace.add(.note("token_id", token.id.text))
        let response: JSON.Value = [
            "ok": true, "token": .string(text), "tokenID": .string(token.id.text),
        ]
        return Reply(body: response.encoded())
    }
}

/// `POST /v1/token/list`: lists a secret's tokens, but never their text.
struct TokenListRoute: TenantRoute {
    static let admission = Admission.reading
    let services: LoopServices

    /// Reads the tokens, including expired ones that haven't been removed yet.
    func answer(
        _: SecretRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let tokens: [AccessToken]
        do throws(StorageError) {
            tokens = try await services.shared.storage.accessTokens(
                of: tenant.key, limit: Bounds.accessTokensMax)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("tokens", tokens.count))
        try tenant.note(isKnown: !tokens.isEmpty)
        let response: JSON.Value = ["ok": true, "tokens": .array(tokens.map(\.shown))]
        return Reply(body: response.encoded())
    }
}

/// `POST /v1/token/revoke`: removes a token.
struct TokenRevokeRoute: TenantRoute {
    static let admission = Admission.reading
    let services: LoopServices

    /// Removes the token and returns how many were removed: one or none.
    func answer(
        _ wanted: TokenRevokeRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let wasThere: Bool
        do throws(StorageError) {
            wasThere = try await services.shared.storage.revokeAccessToken(wanted.id, of: tenant.key)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("revoked", wasThere ? 1 : 0))
        try tenant.note(isKnown: wasThere)
        return Reply("revoked", wasThere)
    }
}

extension AccessToken {
    /// The token as lists show it.
    var shown: JSON.Value {
        var object = JSON.Object()
        object["tokenID"] = .string(id.text)
        object["name"] = .string(name)
        object["scope"] = .string(scope.rawValue)
        object["createdAt"] = .string(Timestamp(createdAt).text)
        object["expiresAt"] = expiresAt.map { .string(Timestamp($0).text) }
        object["usedAt"] = usedAt.map { .string(Timestamp($0).text) }
        return .object(object)
    }
}
