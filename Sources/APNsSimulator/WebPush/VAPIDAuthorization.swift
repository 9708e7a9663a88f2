import JSON
import PushSealing

/// The parsed header `Authorization: vapid t=TOKEN, k=KEY` (RFC 8292, section 3).
struct VAPIDAuthorization {
    /// The longest time that a token may be valid, in seconds (RFC 8292, section 2).
    static let lifetimeMax: Int64 = 86_400
    /// The longest header in bytes.
    static let bytesMax = 4_096

    /// `k`: 04, x and y.
    let publicKey: [UInt8]
    private let key: PublicKey
    private let token: String

    /// Parses the header's value without verifying anything.
    init(_ value: String?) throws(WebPushRefusal) {
        guard let value else { throw WebPushRefusal(.authorization, "no `Authorization` header") }
        guard value.utf8.count <= Self.bytesMax, value.prefix(6).lowercased() == "vapid " else {
            throw WebPushRefusal(.authorization, "`Authorization` must be `vapid t=TOKEN, k=KEY`")
        }
        var parameters: [Substring: Substring] = [:]
        for part in value.dropFirst(6).split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.drop { $0 == " " }.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, ["t", "k"].contains(sides[0]),
                parameters.updateValue(sides[1], forKey: sides[0]) == nil
            else { throw WebPushRefusal(.authorization, "`Authorization` must have one `t` and one `k`") }
        }
        guard let token = parameters["t"] else { throw WebPushRefusal(.token, "`Authorization` has no `t`") }
        guard let text = parameters["k"], let bytes = Base64URL.decode(String(text)),
            let key = PublicKey(point: bytes)
        else { throw WebPushRefusal(.publicKey, "`k` must be a P-256 key: 65 bytes in base64url") }
        self.token = String(token)
        publicKey = bytes
        self.key = key
    }

    /// Verifies the token's signature and claims.
    ///
    /// - Parameters:
    ///   - origin: The only valid audience.
    ///   - now: Seconds since 1970.
    func check(for origin: String, by vendor: WebPushVendor, now: Int64) throws(WebPushRefusal) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]) else {
            throw refusal("a JWT has three parts in base64url, separated by dots")
        }
        let header = try object(parts[0], "header")
        guard header["alg"]?.string == "ES256", header["typ"].map({ $0.string == "JWT" }) ?? true else {
            throw refusal("header `alg` must be \"ES256\", and `typ` \"JWT\"")
        }
        guard key.verifies(signature, over: Array((parts[0] + "." + parts[1]).utf8)[...]) else {
            throw refusal("the signature does not match `k`")
        }
        let claims = try object(parts[1], "claims")
        guard claims["aud"]?.string == origin else {
            throw refusal("claim `aud` must be the endpoint's origin, \(origin)")
        }
        guard let expiry = claims["exp"]?.int.map({ Int64($0) }) else {
            throw refusal("claim `exp` must be an integer number of seconds since 1970")
        }
        guard expiry > now else { throw refusal("claim `exp` is in the past") }
        guard expiry <= now + Self.lifetimeMax else {
            throw refusal("claim `exp` is more than \(Self.lifetimeMax) seconds ahead")
        }
        try checkSubject(claims["sub"], by: vendor)
    }

    /// Apple requires a contact that it can reach; the other vendors require none.
    private func checkSubject(_ value: JSON.Value?, by vendor: WebPushVendor) throws(WebPushRefusal) {
        guard value != nil || vendor == .apple else { return }
        let text = value?.string ?? ""
        guard text.hasPrefix("mailto:") || text.hasPrefix("https://") else {
            throw refusal("claim `sub` must be a mailto: or https: URL")
        }
        guard vendor == .apple else { return }
        let isMail = text.hasPrefix("mailto:")
        let host =
            isMail
            ? text.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            : text.dropFirst("https://".count).prefix { !"/:?#".contains($0) }
        let labels = host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        guard !isMail || text.contains("@"), !text.contains(where: { " <>".contains($0) }),
            labels.count > 1, !labels.contains(""), let last = labels.last,
            !["localhost", "invalid"].contains(last)
        else {
            throw refusal("claim `sub` must have a domain that Apple can reach, without spaces and brackets")
        }
    }

    private func object(_ part: String, _ name: String) throws(WebPushRefusal) -> JSON.Object {
        guard let bytes = Base64URL.decode(part),
            let object = (try? JSON.parse(bytes, maxBytes: Self.bytesMax))?.object
        else { throw refusal("the \(name) is not a JSON object in base64url without padding") }
        return object
    }

    private func refusal(_ detail: String) -> WebPushRefusal { WebPushRefusal(.token, detail) }
}
