/// How many rows a secret has that `Storage.revoke` removes.
package struct Holdings: Hashable, Sendable {
    /// Devices; a token that has rows under several hashes counts as often.
    package var devices: Int
    /// Pushes that wait, leased ones included.
    package var pushes: Int
    /// Receipts of events, those included whose time is over.
    package var receipts: Int

    /// Holdings of their numbers.
    package init(devices: Int = 0, pushes: Int = 0, receipts: Int = 0) {
        self.devices = devices
        self.pushes = pushes
        self.receipts = receipts
    }

    /// Whether there is nothing.
    package var isEmpty: Bool { self == Holdings() }

    /// Adds others to these.
    package static func += (left: inout Holdings, right: Holdings) {
        left.devices += right.devices
        left.pushes += right.pushes
        left.receipts += right.receipts
    }
}

/// What the delivery log says of a span of time.
package struct DeliveryTally: Hashable, Sendable {
    /// Different moments, sessions, event types and secrets among the rows: all pushes of an event that end while it is
    /// answered are logged with one time.
    package var events: Int
    /// Pushes that APNs accepted.
    package var sent: Int
    /// Pushes that were given up, by their reason; empty where none was written.
    package var failed: [String: Int]
    /// The time before which everything from the asked start on was counted.
    package var end: EpochMilliseconds

    /// A tally of its numbers.
    package init(events: Int = 0, sent: Int = 0, failed: [String: Int] = [:], end: EpochMilliseconds) {
        self.events = events
        self.sent = sent
        self.failed = failed
        self.end = end
    }

    /// Adds rows that ended alike.
    package mutating func add(_ status: DeliveryStatus, _ reason: String?, count: Int) {
        switch status {
        case .sent: sent += count
        case .failed: failed[reason ?? "", default: 0] += count
        }
    }

    /// The time before which `about limit` rows lie, when the row behind them was made at `next`.
    ///
    /// Rows of one millisecond are counted together.
    package static func end(
        from start: EpochMilliseconds, next: EpochMilliseconds?, before end: EpochMilliseconds
    ) -> EpochMilliseconds {
        next.map { max($0, start + 1) } ?? end
    }
}

/// How much is there, in the whole database or in a share of it.
package struct Census: Hashable, Sendable {
    /// The shares that a database is counted in: by the first two digits of the secrets' hashes.
    package static let shares: ClosedRange<UInt8> = 0...255

    /// Secrets with devices.
    package var secrets: Int
    /// Devices.
    package var devices: Int
    /// Pushes that wait, leased ones included.
    package var waiting: Int

    /// A census of its numbers.
    package init(secrets: Int = 0, devices: Int = 0, waiting: Int = 0) {
        self.secrets = secrets
        self.devices = devices
        self.waiting = waiting
    }

    /// Adds another share to these.
    package static func += (left: inout Census, right: Census) {
        left.secrets += right.secrets
        left.devices += right.devices
        left.waiting += right.waiting
    }

    /// The texts between which a share's hashes lie: from the first on and before the second.
    package static func bounds(ofShare share: UInt8) -> (from: String, before: String) {
        func digits(_ value: UInt8) -> String { (value < 16 ? "0" : "") + String(value, radix: 16) }
        // Behind every hexadecimal digit comes "g".
        return (digits(share), share == shares.upperBound ? "g" : digits(share + 1))
    }
}

extension Storage {
    /// Counts what is there in the whole database, one share after the other.
    package func census() async throws(StorageError) -> Census {
        var all = Census()
        for share in Census.shares { all += try await census(ofShare: share) }
        return all
    }
}
