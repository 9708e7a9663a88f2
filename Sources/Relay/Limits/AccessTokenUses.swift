import Network
import Storage

/// When uses of access tokens were last stored, so that only one request a minute for each token waits for storage,
/// even if storing fails.
struct AccessTokenUses {
    private var stored: [UUIDv7: MonotonicTime] = [:]

    /// Returns whether a use should be stored now; if so, it counts as stored.
    mutating func isDue(_ id: UUIDv7, at now: MonotonicTime) -> Bool {
        if let last = stored[id], now.since(last) < Bounds.accessTokenUseInterval { return false }
        if stored.count >= Bounds.accessTokenUsesMax { stored.removeAll(keepingCapacity: true) }
        stored[id] = now
        return true
    }
}
