import Cryptography
import HTTPServer
import JSON
import Testing

@testable import Relay

/// An OpenChamber server, which signs as OpenChamber's apns-runtime.js does.
struct OpenChamberServer {
    static let now = 1_800_000_000_000
    let publicKey: [UInt8]
    private let key: P256PrivateKey

    init(_ pem: String) throws { try self.init(P256PrivateKey(pem: Array(pem.utf8))) }

    init(_ key: P256PrivateKey) throws {
        self.key = key
        publicKey = try #require(P256.publicKey(of: key.scalar))
    }

    var jwk: JSON.Value {
        [
            "kty": "EC", "crv": "P-256", "x": .string(Base64.urlText(Array(publicKey[1...32]))),
            "y": .string(Base64.urlText(Array(publicKey[33...]))),
        ]
    }

    /// The members with a signature of a time and a text.
    func signed(_ text: String, _ members: JSON.Value, at time: Int) -> JSON.Value {
        var object = members.object ?? JSON.Object()
        object["publicKeyJwk"] = jwk
        object["ts"] = .int(time)
        object["sig"] = .string(Base64.urlText(key.sign(Array("\(time).\(text)".utf8)) ?? []))
        return .object(object)
    }

    func message(
        _ tokens: [String], title: String, _ members: JSON.Value = [:], at time: Int
    ) -> JSON.Value {
        var object = members.object ?? JSON.Object()
        object["tokens"] = .array(tokens.map { .string($0) })
        object["title"] = .string(title)
        return signed("\(tokens.sorted().joined(separator: ",")).\(title)", .object(object), at: time)
    }

    func register(
        _ relay: RelayFixture, _ token: String, _ members: JSON.Value = [:],
        headers: [(name: String, value: String)] = []
    ) async -> Response {
        var object = members.object ?? JSON.Object()
        object["token"] = .string(token)
        object["platform"] = "ios"
        let body = signed("\(token).ios", .object(object), at: Self.now)
        return await relay.answer(
            Request(
                method: .post, target: "/v1/push/register-token", headers: headers, body: body.encoded()))
    }

    func send(
        _ relay: RelayFixture, _ tokens: [String], _ members: JSON.Value = [:], title: String = "Title",
        at time: Int = now
    ) async -> Response {
        await relay.post("/v1/push/send", message(tokens, title: title, members, at: time))
    }

    /// The other valid signature with the same r, which needs no key: the curve's order minus s.
    static func turned(_ signature: String) throws -> String {
        var bytes = try #require(Base64.decode(Array(signature.utf8)))
        let order = try #require(Base64.decode(Array("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE".utf8)))
        var borrow = 0
        for index in (0..<32).reversed() {
            let digit = Int(order[index]) - Int(bytes[32 + index]) - borrow
            borrow = digit < 0 ? 1 : 0
            bytes[32 + index] = UInt8(digit + 256 * borrow)
        }
        return Base64.urlText(bytes)
    }
}
