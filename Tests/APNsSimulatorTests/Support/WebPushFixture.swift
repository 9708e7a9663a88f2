import APNsSimulator
import Cryptography
import HTTPServer
import JSON
import PushSealing
import WebPush

/// A valid Web Push that a test makes invalid in one way.
struct WebPushFixture {
    static let now: Int64 = 1_800_000_000
    static let origin = "https://localhost:8445"
    /// The keys and the body of RFC 8291, appendix A.
    static let privateKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
    static let publicKey =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    static let text = "When I grow up, I want to be a watermelon"
    static let body =
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3"
        + "jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"

    var vendor: WebPushVendor
    var subscription: WebPushSubscription
    var method = Method.post
    var headers = [("TTL", "60"), ("Urgency", "high"), ("Topic", "abcd"), ("Content-Encoding", "aes128gcm")]
    var body = Base64URL.decode(Self.body) ?? []
    var claims: [String: JSON.Value?] = [:]
    var tokenHeader: JSON.Value = ["typ": "JWT", "alg": "ES256"]
    var sender = Sender(scalar: 7)
    /// Replaces the value of `Authorization`.
    var authorization: String?

    /// An application server with its key pair.
    struct Sender {
        let key: P256PrivateKey?
        let publicKey: [UInt8]

        init(scalar: UInt8) {
            let scalar = [UInt8](repeating: scalar, count: P256.scalarBytes)
            key = P256PrivateKey(scalar: scalar)
            publicKey = P256.publicKey(of: scalar) ?? []
        }

        /// A token for the header `Authorization`.
        func token(header: JSON.Value, claims: JSON.Value) -> String {
            let signed = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(claims.encoded())
            return signed + "." + Base64URL.encode(key?.sign(Array(signed.utf8)) ?? [])
        }
    }

    init(_ vendor: WebPushVendor = .mozilla, android: Bool = false) throws {
        self.vendor = vendor
        subscription = try WebPushSubscription([
            "vendor": .string(vendor.rawValue), "android": .bool(android),
            "keys": ["privateKey": .string(Self.privateKey), "auth": .string(Self.auth)],
        ])
        if vendor == .microsoft { headers.append(("X-WNS-Cache-Policy", "cache")) }
    }

    /// Sets or removes a header.
    mutating func set(_ name: String, _ value: String?) {
        headers.removeAll { $0.0 == name }
        if let value { headers.append((name, value)) }
    }

    var token: String {
        var all = JSON.Object()
        let valid: [String: JSON.Value?] = [
            "aud": .string(Self.origin), "exp": .int(Self.now + 43_200), "sub": "mailto:push@example.com",
        ]
        for (name, value) in valid.merging(claims, uniquingKeysWith: { $1 }) { all[name] = value }
        return sender.token(header: tokenHeader, claims: .object(all))
    }

    var request: Request {
        let credentials = authorization ?? "vapid t=\(token), k=\(Base64URL.encode(sender.publicKey))"
        return Request(
            method: method, target: subscription.target,
            headers: [("Host", "localhost:8445")] + headers + [("Authorization", credentials)], body: body)
    }

    func check() -> Result<CheckedWebPush, WebPushRefusal> {
        Result { () throws(WebPushRefusal) in
            try WebPushValidator(origin: Self.origin).check(request, to: subscription, now: Self.now)
        }
    }

    /// What is wrong with the push; `nil` if it is valid.
    var fault: WebPushFault? {
        if case .failure(let refusal) = check() { refusal.fault } else { nil }
    }

    /// A message encrypted by the relay's code.
    static func encrypted(
        _ plaintext: String, p256dh: String = publicKey, auth: String = auth
    ) throws -> [UInt8] {
        try MessageEncryption.encrypt(
            Array(plaintext.utf8), for: try SubscriptionKeys(p256dh: p256dh, auth: auth))
    }

    /// The push as the simulator records it.
    func recorded(
        _ outcome: PushOutcome = .answered(status: 201, reason: nil), at time: Int64 = 0
    ) -> PushRecord {
        PushRecord(
            receivedAt: time, push: .webPush(WebPushRequest(request, to: subscription)),
            id: MessageID(high: 0, low: 0), detail: nil, rule: nil, outcome: outcome)
    }
}
