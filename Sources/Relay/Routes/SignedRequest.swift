import Cryptography
import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A request that an OpenChamber server signed with its key, which takes the place of a secret.
struct SignedRequest: Sendable {
    /// The body's members; the signature covers only those in the text given to ``sender(signing:to:_:_:)``.
    let members: JSON.Object
    private let request: Request
    /// When the request was signed, in milliseconds.
    private let time: Int
    private let signature: [UInt8]
    private let publicKey: [UInt8]

    /// Reads the body without verifying anything.
    init(_ request: Request, bytesMax: Int = Bounds.requestBodyBytesMax) throws(APIError) {
        self.request = request
        let bounds = BodyBounds(bytesMax: bytesMax, depthMax: Bounds.requestJSONDepthMax)
        members = try RequestFields(body: request.body, bounds: bounds).members(without: [])
        let key = members["publicKeyJwk"]
        guard key?["kty"] == "EC", key?["crv"] == "P-256",
            let x = Self.bytes(key?["x"], P256.scalarBytes), let y = Self.bytes(key?["y"], P256.scalarBytes)
        else { throw APIError(.invalidField, hint: "publicKeyJwk must be a public key on P-256.") }
        guard let time = members["ts"]?.int, let signature = Self.bytes(members["sig"], P256.signatureBytes)
        else {
            throw APIError(
                .invalidField, hint: "ts must be a time in milliseconds, and sig r and s in 64 bytes.")
        }
        (self.time, self.signature, publicKey) = (time, signature, [4] + x + y)
    }

    private static func bytes(_ value: JSON.Value?, _ count: Int) -> [UInt8]? {
        value?.string.flatMap { Base64.decode(Array($0.utf8)) }.flatMap { $0.count == count ? $0 : nil }
    }

    /// Verifies a server's recent signature over the time and `text`; returns the server's secret and the signed bytes.
    ///
    /// No signature is verified for an address that has sent too many wrong ones, or for a server that would be
    /// refused.
    func sender(
        signing text: String, to admission: Admission, _ services: LoopServices, _ trace: inout RequestTrace
    ) throws(APIError) -> (secret: Secret, signed: [UInt8]) {
        let (now, age) = (Int(services.shared.clock.now), Int(Bounds.signatureAgeMax.inMilliseconds))
        guard (now - age...now + age).contains(time) else {
            throw APIError(
                .unauthorized, hint: "ts is more than five minutes from the relay's time.",
                logDetail: "the signature's time is off by more than five minutes")
        }
        let secret = Self.secret(of: publicKey)
        try services.check(secret, for: admission, &trace)
        let rates = services.shared.rates
        try rates.checkUnknownSecret(request, at: services.loop.now)
        let signed = Array("\(time).\(text)".utf8)
        guard P256.verifies(signature, of: signed, by: publicKey) else {
            try rates.countUnknownSecret(request, at: services.loop.now)
            throw APIError(
                .unauthorized, hint: "The signature is wrong.", logDetail: "the signature is wrong")
        }
        return (secret, signed)
    }

    /// The secret that stands for a public key.
    ///
    /// No other request can contain this secret: headers contain no NUL, and JSON strings are UTF-8, which never
    /// contains FF.
    static func secret(of publicKey: [UInt8]) -> Secret {
        Secret([0x00, 0xFF] + Array("openchamber ".utf8) + publicKey)
    }
}
