import APNsSimulator
import HTTP2
import PushSealing

/// A valid push that a test makes invalid in one way.
struct PushFixture {
    static let now: Int64 = 1_800_000_000
    static let keyID = "ABC123DEFG"
    static let teamID = "TEAM123456"

    var headers: [(name: String, value: String)]
    var payload = #"{"aps":{"alert":{"title":"Hello","body":"World"},"sound":"default"},"id":7}"#
    var environment = PushEnvironment.production
    var now = Self.now
    var validator = PushValidator()

    /// A valid push of a type to a token, with an unverified provider token.
    init(authorization: String? = nil) {
        headers = [
            (":method", "POST"), (":path", "/3/device/" + String(repeating: "ab", count: 32)),
            (":scheme", "https"), (":authority", "localhost"),
            ("authorization", authorization ?? "bearer " + Self.unsignedToken()),
            ("apns-topic", "com.example.app"), ("apns-push-type", "alert"),
            ("apns-id", "123e4567-e89b-12d3-a456-426614174000"), ("apns-expiration", "1800003600"),
            ("apns-priority", "10"), ("apns-collapse-id", "one"),
        ]
    }

    /// A well-formed token with an arbitrary signature.
    static func unsignedToken(
        keyID: String = keyID, teamID: String = teamID, issuedAt: Int64 = now, signature: UInt8 = 7
    ) -> String {
        token(
            header: #"{"alg":"ES256","kid":"\#(keyID)"}"#,
            claims: #"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#,
            signature: [UInt8](repeating: signature, count: 64))
    }

    /// A token made of any three parts.
    static func token(header: String, claims: String, signature: [UInt8]) -> String {
        [
            Base64URL.encode(Array(header.utf8)), Base64URL.encode(Array(claims.utf8)),
            Base64URL.encode(signature),
        ]
        .joined(separator: ".")
    }

    /// Sets or removes a header.
    mutating func set(_ name: String, _ value: String?) {
        headers.removeAll { $0.name == name }
        if let value { headers.append((name, value)) }
    }

    /// The push as HTTP/2 delivers it.
    var request: PushRequest {
        var fields = HeaderFields()
        for (name, value) in headers { fields.append(name: name, value: value) }
        return PushRequest(ServerRequest(fields: fields, body: Array(payload.utf8)))
    }

    /// The push as the simulator records it.
    func recorded(_ stream: Int32 = 1) -> PushRecord.Push {
        .apns(
            APNsPush(
                environment: environment, connection: 1, stream: StreamID(rawValue: stream), request: request,
                uniqueID: nil))
    }

    /// The validator's result on a fresh connection with any key.
    func check() -> Result<CheckedPush, PushRefusal> {
        var trust = ConnectionTrust()
        var verifier = ProviderTokenVerifier(.anyKey)
        return check(trust: &trust, verifier: &verifier)
    }

    /// The validator's result.
    func check(
        trust: inout ConnectionTrust, verifier: inout ProviderTokenVerifier
    ) -> Result<CheckedPush, PushRefusal> {
        do throws(PushRefusal) {
            return .success(
                try validator.check(request, to: environment, now: now, trust: &trust, verifier: &verifier))
        } catch {
            return .failure(error)
        }
    }
}

extension Result<CheckedPush, PushRefusal> {
    /// Why the push was refused; `nil` if it was accepted.
    var reason: Reason? {
        if case .failure(let refusal) = self { refusal.reason } else { nil }
    }
}
