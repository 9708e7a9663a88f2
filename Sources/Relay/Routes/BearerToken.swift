import HTTPServer
import Storage

extension Request {
    /// The request's token in `Authorization: Bearer` (RFC 6750, section 2.1); `nil` if there is none.
    ///
    /// Other schemes are ignored, because a proxy may require them.
    var bearerToken: Secret? {
        guard let value = headers.bytes(of: "Authorization") else { return nil }
        let scheme = value.prefix { $0 != UInt8(ascii: " ") }
        guard String(decoding: scheme, as: UTF8.self).lowercased() == "bearer" else { return nil }
        return Secret(Array(value.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }))
    }

    /// Whether the request carries this token as `Authorization: Bearer`.
    ///
    /// The comparison takes constant time.
    func hasBearer(_ token: Secret) -> Bool { bearerToken == token }
}

extension LoopServices {
    /// The secret in the header of a request to the public API; `nil` if there is none.
    ///
    /// The registration key is sent in the same header and is never a secret.
    func headerSecret(of request: Request) -> Secret? {
        guard let token = request.bearerToken else { return nil }
        if case .key(let key) = shared.registration, token == key { return nil }
        return token
    }

    /// The credential that identifies the tenant of a request to the public API.
    func credential(of request: Request, _ fields: RequestFields) throws(APIError) -> Credential {
        let header = headerSecret(of: request)
        guard let header, let token = AccessTokenText.digest(of: header.bytes) else {
            return .secret(try fields.secret(orOf: header))
        }
        guard fields.value(.secret) == nil else {
            throw APIError(
                .invalidField, field: .secret, hint: "The Authorization header has a token, so leave it out.")
        }
        return .token(token)
    }
}
