package import Network

/// Counts the open connections of all loops, estimates their memory, and decides whether to admit another.
///
/// One lock serves all loops: separate counts would make the limit per address depend on how the kernel distributes its
/// connections. The lock is taken a few times per connection, alongside system calls that cost a hundred times more.
package final class ConnectionLedger: Sendable {
    /// The decision about a new connection.
    enum Admission {
        case admitted
        /// All connections are in use; close one first.
        case connectionsFull
        /// All memory for connections is in use; free some first.
        case memoryFull
        /// The limit for its address or IPv6 site has been reached.
        case refused
    }

    private struct Counts {
        var open = 0
        var bytes = 0
        var refused: UInt64 = 0
        var evicted: UInt64 = 0
        var byClient: [UInt64: Int] = [:]
        var bySite: [UInt64: Int] = [:]
    }

    private let share: AddressShare
    /// The limit on ``memoryBytes``.
    package let memoryBytesMax: Int
    private let isExempt: @Sendable (SocketAddress) -> Bool
    private let counts = Lock(Counts())

    /// Creates a ledger that enforces `limits`.
    ///
    /// - Parameter isExempt: Whether an address is exempt from the limit per address, for example a reverse proxy's.
    package init(limits: Limits, isExempt: @escaping @Sendable (SocketAddress) -> Bool = { _ in false }) {
        share = AddressShare(limits)
        memoryBytesMax = limits.connectionMemoryBytesMax
        self.isExempt = isExempt
    }

    /// The number of open connections.
    package var count: Int { counts.withLock(\.open) }

    /// The estimated memory of the open connections, in bytes.
    package var memoryBytes: Int { counts.withLock(\.bytes) }

    /// Whether the estimate is above the limit.
    var isMemoryFull: Bool { memoryBytes > memoryBytesMax }

    /// The total number of refused connections.
    package var refusedCount: UInt64 { counts.withLock(\.refused) }

    /// The total number of connections closed to make room for others.
    package var evictedCount: UInt64 { counts.withLock(\.evicted) }

    /// Counts a connection from `address` that uses `bytes` of memory, if it is admitted.
    func admit(_ address: SocketAddress?, bytes: Int) -> Admission {
        let client = counted(address)
        return counts.withLock { counts in
            if let client {
                let ofClient = counts.byClient[client.clientKey, default: 0]
                let ofSite = client.siteKey.map { counts.bySite[$0, default: 0] } ?? 0
                guard share.allows(ofClient: ofClient, ofSite: ofSite, open: counts.open) else {
                    return .refused
                }
            }
            guard counts.open < share.connectionsMax else { return .connectionsFull }
            guard counts.bytes + bytes <= memoryBytesMax else { return .memoryFull }
            if let client {
                counts.byClient[client.clientKey, default: 0] += 1
                if let site = client.siteKey { counts.bySite[site, default: 0] += 1 }
            }
            counts.open += 1
            counts.bytes += bytes
            return .admitted
        }
    }

    /// Removes a connection from `address`; `bytes` is its memory as last counted.
    func release(_ address: SocketAddress?, bytes: Int) {
        let client = counted(address)
        counts.withLock { counts in
            counts.open -= 1
            counts.bytes -= bytes
            guard let client else { return }
            counts.byClient.countDown(client.clientKey)
            if let site = client.siteKey { counts.bySite.countDown(site) }
        }
    }

    /// Adds a change in one connection's memory; returns whether the total is above the limit.
    func addBytes(_ difference: Int) -> Bool {
        counts.withLock { counts in
            counts.bytes += difference
            return counts.bytes > memoryBytesMax
        }
    }

    /// Counts a connection that was not admitted.
    func noteRefused() { counts.withLock { $0.refused += 1 } }

    /// Counts a connection that was closed to make room.
    func noteEvicted() { counts.withLock { $0.evicted += 1 } }

    private func counted(_ address: SocketAddress?) -> SocketAddress? {
        guard let address, !isExempt(address) else { return nil }
        return address
    }
}

/// How many connections an address or an IPv6 site may have: fewer as the server fills up.
///
/// The limit per address applies in full until half of all connections are in use. From there it falls linearly, so a
/// few addresses can't fill the server.
struct AddressShare {
    let connectionsMax: Int
    private let most: Int
    private let least: Int
    private let addressesPerSite: Int

    init(_ limits: Limits) {
        connectionsMax = limits.connectionsMax
        most = limits.connectionsPerAddressMax
        // If one address may use all connections, there is no limit per address.
        least = most >= connectionsMax ? most : min(most, limits.connectionsPerAddressMin)
        addressesPerSite = limits.addressesPerSite
    }

    /// The maximum number of connections per address while `open` connections are in use.
    func perAddress(open: Int) -> Int {
        let half = connectionsMax / 2
        guard open > half, connectionsMax > half else { return most }
        return most - (most - least) * (min(open, connectionsMax) - half) / (connectionsMax - half)
    }

    /// Whether an address and its site, with these counts, may have another connection.
    ///
    /// Without a limit per address, they always may: when all connections are in use, one is closed to make room.
    func allows(ofClient: Int, ofSite: Int, open: Int) -> Bool {
        guard least < connectionsMax else { return true }
        let share = perAddress(open: open)
        return ofClient < share && ofSite < share * addressesPerSite
    }
}

extension [UInt64: Int] {
    /// Subtracts one and removes the key at zero.
    fileprivate mutating func countDown(_ key: UInt64) {
        guard let count = self[key] else { return }
        self[key] = count > 1 ? count - 1 : nil
    }
}
