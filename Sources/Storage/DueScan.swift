/// A due push, as read by the scan for the next claims.
package struct DuePush: Hashable, Sendable {
    /// The hash under which the push is stored.
    package let secretHash: SecretHash
    /// The push's `id`.
    package let id: String
    /// When the push became due, or when its last lease expired.
    package let dueAt: EpochMilliseconds

    /// Creates a due push from its columns.
    package init(secretHash: SecretHash, id: String, dueAt: EpochMilliseconds) {
        self.secretHash = secretHash
        self.id = id
        self.dueAt = dueAt
    }
}

/// How far a claim searches each part of the queue that it visits.
package enum ClaimScope: Hashable, Sendable {
    /// Searches past other secrets' backlogs, scanning all of their rows.
    case everySecret
    /// Searches only the oldest ``StorageLimits/claimWindow`` rows.
    case oldest
}

/// Searches for due pushes so that no secret waits behind another: the logic shared by all drivers, without SQL.
///
/// The driver reads the oldest due rows, one window at a time, adds them and continues while `excluded` isn't nil, each
/// time leaving out the excluded secrets' rows. So a secret with one due row is found even behind any number of other
/// rows, as long as no more than ``StorageLimits/claimExcludedSecretsMax`` secrets have a backlog that fills windows.
package struct DueScan: Sendable {
    private let limit: Int
    private let scope: ClaimScope
    /// The rows found, in the order in which they were added.
    package private(set) var rows: [DuePush] = []
    private var secrets: Set<SecretHash> = []
    private var isComplete = false

    /// Creates an empty scan for at most `limit` pushes.
    package init(limit: Int, scope: ClaimScope = .everySecret) {
        self.limit = max(limit, 0)
        self.scope = scope
    }

    /// The secrets whose rows the next window must leave out, at most `claimExcludedSecretsMax`; nil when the scan is
    /// over.
    package var excluded: [SecretHash]? {
        guard !isComplete, secrets.count < limit, secrets.count <= StorageLimits.claimExcludedSecretsMax
        else { return nil }
        return Array(secrets)
    }

    /// Adds the next window: at most ``StorageLimits/claimWindow`` due rows, oldest first.
    package mutating func add(_ window: [DuePush]) {
        rows += window
        for row in window { secrets.insert(row.secretHash) }
        isComplete = scope == .oldest || window.count < StorageLimits.claimWindow
    }
}

extension [DuePush] {
    /// At most `limit` of the pushes found: one per secret in turn, starting with the secret that has waited longest,
    /// and within each secret the push that has waited longest.
    package func inTurn(limit: Int) -> [DuePush] {
        var order: [SecretHash] = []
        var bySecret: [SecretHash: [DuePush]] = [:]
        for row in sorted(by: { ($0.dueAt, $0.id) < ($1.dueAt, $1.id) }) {
            if bySecret[row.secretHash] == nil { order.append(row.secretHash) }
            bySecret[row.secretHash, default: []].append(row)
        }
        var chosen: [DuePush] = []
        var place = 0
        while chosen.count < limit, chosen.count < count {
            for secret in order {
                guard chosen.count < limit else { break }
                if let waiting = bySecret[secret], place < waiting.count { chosen.append(waiting[place]) }
            }
            place += 1
        }
        return chosen
    }
}
