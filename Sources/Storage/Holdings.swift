/// How many of a secret's rows `Storage.revoke` removes, by kind.
package struct Holdings: Hashable, Sendable {
    /// Devices; a token with rows under several hashes counts once per row.
    package var devices: Int
    /// Queued pushes, including leased ones.
    package var pushes: Int
    /// Event receipts, including expired ones.
    package var receipts: Int
    /// History items.
    package var history: Int
    /// Schedules.
    package var schedules: Int
    /// Acknowledgements and replies, including expired ones.
    package var replies: Int
    /// Tokens other than the devices' own, and records of started activities, including expired ones.
    package var tokens: Int
    /// Records of agents' last uses.
    package var agents: Int
    /// Access tokens, including expired ones.
    package var accessTokens: Int

    /// Creates holdings from their counts.
    package init(
        devices: Int = 0, pushes: Int = 0, receipts: Int = 0, history: Int = 0, schedules: Int = 0,
        replies: Int = 0, tokens: Int = 0, agents: Int = 0, accessTokens: Int = 0
    ) {
        self.devices = devices
        self.pushes = pushes
        self.receipts = receipts
        self.history = history
        self.schedules = schedules
        self.replies = replies
        self.tokens = tokens
        self.agents = agents
        self.accessTokens = accessTokens
    }

    /// Whether all numbers are zero.
    package var isEmpty: Bool { self == Holdings() }

    /// Adds the other holdings.
    package static func += (left: inout Holdings, right: Holdings) {
        left.devices += right.devices
        left.pushes += right.pushes
        left.receipts += right.receipts
        left.history += right.history
        left.schedules += right.schedules
        left.replies += right.replies
        left.tokens += right.tokens
        left.agents += right.agents
        left.accessTokens += right.accessTokens
    }
}

/// Delivery log totals for a period.
package struct DeliveryTally: Hashable, Sendable {
    /// The number of distinct combinations of time, session, event type and secret: all pushes for an event that end
    /// before its response is sent are logged with the same time.
    package var events: Int
    /// Pushes that APNs accepted.
    package var sent: Int
    /// Failed pushes by reason; the reason is empty if the row has none.
    package var failed: [String: Int]
    /// The end of the period that was counted, exclusive.
    package var end: EpochMilliseconds

    /// Creates a tally from its parts.
    package init(events: Int = 0, sent: Int = 0, failed: [String: Int] = [:], end: EpochMilliseconds) {
        self.events = events
        self.sent = sent
        self.failed = failed
        self.end = end
    }

    /// Adds rows with the same result.
    package mutating func add(_ status: DeliveryStatus, _ reason: String?, count: Int) {
        switch status {
        case .sent: sent += count
        case .failed: failed[reason ?? "", default: 0] += count
        }
    }

    /// The time up to which a step counts, if the first row after the step was written at `next`.
    ///
    /// Rows from the same millisecond are counted together.
    package static func end(
        from start: EpochMilliseconds, next: EpochMilliseconds?, before end: EpochMilliseconds
    ) -> EpochMilliseconds {
        next.map { max($0, start + 1) } ?? end
    }
}

/// The number of rows in the whole database or in a share of it.
package struct Census: Hashable, Sendable {
    /// The shares that a census counts one by one, determined by the first two digits of the secrets' hashes.
    package static let shares: ClosedRange<UInt8> = 0...255

    /// Secrets with devices.
    package var secrets: Int
    /// Devices.
    package var devices: Int
    /// Queued pushes, including leased ones.
    package var waiting: Int

    /// Creates a census from its counts.
    package init(secrets: Int = 0, devices: Int = 0, waiting: Int = 0) {
        self.secrets = secrets
        self.devices = devices
        self.waiting = waiting
    }

    /// Adds another share.
    package static func += (left: inout Census, right: Census) {
        left.secrets += right.secrets
        left.devices += right.devices
        left.waiting += right.waiting
    }

    /// The bounds of a share's hashes: the first inclusive, the second exclusive.
    package static func bounds(ofShare share: UInt8) -> (from: String, before: String) {
        func digits(_ value: UInt8) -> String { (value < 16 ? "0" : "") + String(value, radix: 16) }
        // "g" sorts after all hexadecimal digits.
        return (digits(share), share == shares.upperBound ? "g" : digits(share + 1))
    }
}

extension Storage {
    /// Counts the rows of the whole database, share by share.
    package func census() async throws(StorageError) -> Census {
        var all = Census()
        for share in Census.shares { all += try await census(ofShare: share) }
        return all
    }
}
