import Storage

/// The tenants with the most recent requests, for the operator's console: a pure value with a bounded size.
///
/// The tenants include secrets that no device is registered under.
struct RecentTenants: Sendable, Equatable {
    /// What a tenant did while it was remembered.
    struct Activity: Sendable, Equatable {
        /// When the tenant's last request arrived.
        var at: EpochMilliseconds = 0
        /// The number of events and notifications.
        var events: UInt64 = 0
        /// The number of other requests.
        var others: UInt64 = 0
        /// The number of requests refused by the tenant's rate limits; also included in the other counts.
        var limited: UInt64 = 0
    }

    private(set) var activities: [SecretHash: Activity] = [:]

    /// Counts a request.
    mutating func note(_ hash: SecretHash, isEvent: Bool, isLimited: Bool, at now: EpochMilliseconds) {
        var activity = activities[hash] ?? Activity()
        activity.at = now
        if isEvent { activity.events &+= 1 } else { activity.others &+= 1 }
        if isLimited { activity.limited &+= 1 }
        activities[hash] = activity
        // Trims only occasionally, because sorting takes a while.
        if activities.count >= 2 * Bounds.recentTenantsMax { trim() }
    }

    /// Adds another loop's tenants.
    mutating func add(_ other: RecentTenants) {
        activities.merge(other.activities) { left, right in
            Activity(
                at: max(left.at, right.at), events: left.events &+ right.events,
                others: left.others &+ right.others, limited: left.limited &+ right.limited)
        }
    }

    /// The tenants, in order of their latest requests, newest first.
    var newestFirst: [(hash: SecretHash, activity: Activity)] {
        let sorted = activities.sorted { ($1.value.at, $0.key) < ($0.value.at, $1.key) }
        return sorted.prefix(Bounds.recentTenantsMax).map { ($0.key, $0.value) }
    }

    private mutating func trim() {
        let newest = newestFirst
        activities = Dictionary(uniqueKeysWithValues: newest.map { ($0.hash, $0.activity) })
    }
}
