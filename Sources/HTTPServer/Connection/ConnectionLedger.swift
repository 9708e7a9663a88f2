package import Network

/// Counts the open connections of all loops and their memory, and says whether one more may come.
///
/// One lock over all loops: a share per loop would make the cap of one address depend on how the kernel spreads its connections. The
/// lock is taken a few times in a connection's life, beside system calls a hundred times as dear.
package final class ConnectionLedger: Sendable {
    /// Whether a connection may come.
    enum Admission {
        case admitted
        /// Only once another one is closed.
        case connectionsFull
        /// Only once others take less memory.
        case memoryFull
        /// Its address or network has as many as it may have.
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
    /// How much memory the connections may take, in bytes.
    package let memoryBytesMax: Int
    private let isExempt: @Sendable (SocketAddress) -> Bool
    private let counts = Lock(Counts())

    /// A ledger with the caps of `limits`.
    ///
    /// - Parameter isExempt: whether an address has no cap of its own, as a reverse proxy must not have.
    package init(limits: Limits, isExempt: @escaping @Sendable (SocketAddress) -> Bool = { _ in false }) {
        share = AddressShare(limits)
        memoryBytesMax = limits.connectionMemoryBytesMax
        self.isExempt = isExempt
    }

    /// How many are open.
    package var count: Int { counts.withLock(\.open) }

    /// About how much memory they take, in bytes.
    package var memoryBytes: Int { counts.withLock(\.bytes) }

    /// Whether they take more than they may.
    var isMemoryFull: Bool { memoryBytes > memoryBytesMax }

    /// How many were refused in all.
    package var refusedCount: UInt64 { counts.withLock(\.refused) }

    /// How many were closed in all to make room for others.
    package var evictedCount: UInt64 { counts.withLock(\.evicted) }

    /// Counts one more connection from `address`, which takes so many bytes, if it is admitted.
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

    /// Takes back what `admit` counted for `address`, and the bytes that the connection had at last.
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

    /// Notes that a connection takes more or less memory; true when all together take more than they may.
    func addBytes(_ difference: Int) -> Bool {
        counts.withLock { counts in
            counts.bytes += difference
            return counts.bytes > memoryBytesMax
        }
    }

    /// Notes a connection that was not admitted.
    func noteRefused() { counts.withLock { $0.refused += 1 } }

    /// Notes a connection that was closed to make room.
    func noteEvicted() { counts.withLock { $0.evicted += 1 } }

    private func counted(_ address: SocketAddress?) -> SocketAddress? {
        guard let address, !isExempt(address) else { return nil }
        return address
    }
}

/// How many connections one address may have, and one IPv6 site with many addresses: fewer as the server fills.
///
/// Up to half of all connections an address has its whole cap. From there on the cap falls evenly, so that few addresses can't
/// take all places, to a number that no honest client exceeds.
struct AddressShare {
    let connectionsMax: Int
    private let most: Int
    private let least: Int
    private let addressesPerSite: Int

    init(_ limits: Limits) {
        connectionsMax = limits.connectionsMax
        most = limits.connectionsPerAddressMax
        // An operator who lets one address have all of them wants no shares.
        least = most >= connectionsMax ? most : min(most, limits.connectionsPerAddressMin)
        addressesPerSite = limits.addressesPerSite
    }

    /// Connections that one address may have while so many are open in all.
    func perAddress(open: Int) -> Int {
        let half = connectionsMax / 2
        guard open > half, connectionsMax > half else { return most }
        return most - (most - least) * (min(open, connectionsMax) - half) / (connectionsMax - half)
    }

    /// Whether one more may come from an address and a site that have so many.
    func allows(ofClient: Int, ofSite: Int, open: Int) -> Bool {
        let share = perAddress(open: open)
        return ofClient < share && ofSite < share * addressesPerSite
    }
}

extension [UInt64: Int] {
    /// Subtracts one and forgets what has come to zero.
    fileprivate mutating func countDown(_ key: UInt64) {
        guard let count = self[key] else { return }
        self[key] = count > 1 ? count - 1 : nil
    }
}
