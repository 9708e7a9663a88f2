package import Network

/// Counts the open connections of all loops, in all and for each client, and says whether one more may come.
///
/// One lock over all loops: a share per loop would make the cap of one address depend on how the kernel spreads its connections. The
/// lock is taken twice in a connection's life, beside system calls a hundred times as dear.
package final class ConnectionLedger: Sendable {
    private struct Counts {
        var all = 0
        var refused: UInt64 = 0
        var byClient: [UInt64: Int] = [:]
    }

    private let max: Int
    private let maxPerClient: Int
    private let isExempt: @Sendable (SocketAddress) -> Bool
    private let counts = Lock(Counts())

    /// A ledger with the caps of `limits`.
    ///
    /// - Parameter isExempt: whether an address has no cap of its own, as a reverse proxy must not have.
    package init(limits: Limits, isExempt: @escaping @Sendable (SocketAddress) -> Bool = { _ in false }) {
        max = limits.connectionsMax
        maxPerClient = limits.connectionsPerAddressMax
        self.isExempt = isExempt
    }

    /// How many are open.
    package var count: Int { counts.withLock(\.all) }

    /// How many were refused in all.
    package var refusedCount: UInt64 { counts.withLock(\.refused) }

    /// Counts one more connection from `address`, an IPv6 client by its /64; false when a cap forbids it.
    func admit(_ address: SocketAddress?) -> Bool {
        let client = key(address)
        return counts.withLock { counts in
            guard counts.all < max else {
                counts.refused += 1
                return false
            }
            if let client {
                guard counts.byClient[client, default: 0] < maxPerClient else {
                    counts.refused += 1
                    return false
                }
                counts.byClient[client, default: 0] += 1
            }
            counts.all += 1
            return true
        }
    }

    /// Takes back what `admit` counted for `address`.
    func release(_ address: SocketAddress?) {
        let client = key(address)
        counts.withLock { counts in
            counts.all -= 1
            guard let client, let count = counts.byClient[client] else { return }
            counts.byClient[client] = count > 1 ? count - 1 : nil
        }
    }

    private func key(_ address: SocketAddress?) -> UInt64? {
        guard let address, !isExempt(address) else { return nil }
        return address.clientKey
    }
}
