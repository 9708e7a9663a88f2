internal import Network

/// Issues and reuses a relay's tokens, each for one key and push service.
///
/// Shared by all senders of the process, because Apple allows no more than one new token per hour.
package final class VAPIDTokenSource: Sendable {
    /// The maximum number of tokens kept; at the limit, the older half is dropped.
    package static let keptMax = 512

    private struct Recipient: Hashable {
        let keyID: String
        let origin: String
    }

    private let subject: VAPIDSubject
    private let kept = Lock<[Recipient: VAPIDToken]>([:])

    /// Creates a source without tokens.
    package init(subject: VAPIDSubject) {
        self.subject = subject
    }

    /// The value of `Authorization` for requests to an origin.
    ///
    /// Signs on the calling thread if there is no fresh token.
    ///
    /// - Parameter now: Seconds since 1970.
    package func authorization(
        for origin: String, key: VAPIDKey, at now: Int64
    ) throws(VAPIDTokenError) -> String {
        let recipient = Recipient(keyID: key.keyID, origin: origin)
        return try kept.withLock { (kept) throws(VAPIDTokenError) in
            if let token = kept[recipient], token.isFresh(at: now) { return token.authorization }
            let token = try VAPIDToken(origin: origin, subject: subject, key: key, now: now)
            if kept[recipient] == nil, kept.count >= Self.keptMax { Self.makeRoom(in: &kept) }
            kept[recipient] = token
            return token.authorization
        }
    }

    /// The number of tokens kept.
    package var count: Int { kept.withLock { $0.count } }

    /// Drops the older half, so that making room costs little per token on average, however many origins there are.
    private static func makeRoom(in kept: inout [Recipient: VAPIDToken]) {
        let expiries = kept.values.map(\.expiry).sorted()
        let median = expiries[expiries.count / 2]
        kept = kept.filter { $0.value.expiry > median }
    }
}
