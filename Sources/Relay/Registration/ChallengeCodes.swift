import APNs
import Programs
import Storage

/// Creates and verifies registration challenge codes; knowing one proves that the client receives the device's pushes.
///
/// A code consists of its expiry, in seconds since 1970, and a MAC (HMAC-SHA-256, truncated to 128 bits) of the expiry
/// and the subject. The MAC's key is derived from the pepper, so nothing is stored, and relays with the same pepper
/// accept each other's codes.
struct ChallengeCodes: Sendable {
    /// What a code permits: registering an app's device in one environment under a secret.
    struct Subject: Sendable {
        var secret: Secret
        var token: DeviceToken
        var bundleID: Topic
        var environment: DeviceEnvironment
    }

    /// The length of a code, in lower-case hexadecimal characters.
    static let count = timeCount + macCount
    private static let timeCount = 8
    private static let macCount = 32

    /// The key for new codes comes first; the other one is for the second pepper while the pepper is being changed.
    private let keys: [Secret]

    /// Codes with keys from a hasher's peppers; `nil` without a pepper.
    init?(_ hasher: SecretHasher) {
        keys = hasher.keys(for: "apn-relay registration challenge 1")
        guard !keys.isEmpty else { return nil }
    }

    /// A code valid for ``Bounds/challengeLifetime`` from now.
    func code(for subject: Subject, at now: EpochMilliseconds) -> String {
        let end = (now + Bounds.challengeLifetime.inMilliseconds) / 1000
        let time = Self.text(of: UInt32(clamping: end))
        return time + Self.mac(of: subject, time, keys[0])
    }

    /// Whether a code permits registering the subject now.
    ///
    /// The comparison takes constant time.
    func isValid(_ code: String, for subject: Subject, at now: EpochMilliseconds) -> Bool {
        guard Self.isWellFormed(code.utf8), let end = UInt32(code.prefix(Self.timeCount), radix: 16),
            now / 1000 <= Int64(end)
        else { return false }
        let given = Secret(String(code.suffix(Self.macCount)))
        let time = Self.text(of: end)
        return keys.contains { Secret(Self.mac(of: subject, time, $0)) == given }
    }

    /// Whether a text has the format of a code.
    static func isWellFormed(_ code: String.UTF8View) -> Bool {
        code.count == count && code.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func text(of time: UInt32) -> String {
        let digits = String(time, radix: 16)
        return String(repeating: "0", count: timeCount - digits.count) + digits
    }

    private static func mac(of subject: Subject, _ time: String, _ key: Secret) -> String {
        // The plain hash, because the hash used for rows changes with the pepper.
        let secret = Digest256(of: subject.secret.bytes).hex
        let content = Digest256(ofParts: [
            secret, subject.token.text, subject.bundleID.text, subject.environment.rawValue, time,
        ])
        return String(Digest256(of: Array(content.hex.utf8), authenticatedBy: key.bytes).hex.prefix(macCount))
    }
}
