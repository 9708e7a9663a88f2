import Storage

/// What tenants are sorted by, highest value first.
enum TenantSort: String, CaseIterable, Sendable {
    case devices
    case waiting
    case lastUsed = "last-used"

    /// A tenant's value for the sort key.
    func value(of tenant: Tenant) -> Int64 {
        switch self {
        case .devices: Int64(tenant.devices)
        case .waiting: Int64(tenant.waiting)
        case .lastUsed: tenant.lastUsed ?? 0
        }
    }

    /// A tenant's position.
    func cursor(of tenant: Tenant) -> TenantCursor {
        TenantCursor(value: value(of: tenant), secretHash: tenant.secretHash)
    }
}

/// A position among sorted tenants: after the one with this value and hash.
struct TenantCursor: Equatable, Sendable, CustomStringConvertible {
    let value: Int64
    let secretHash: SecretHash

    init(value: Int64, secretHash: SecretHash) {
        self.value = value
        self.secretHash = secretHash
    }

    /// Parses a cursor printed by the command.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let value = Int64(parts[0]), let hash = SecretHash(hex: parts[1]) else {
            return nil
        }
        self.init(value: value, secretHash: hash)
    }

    var description: String { "\(value)-\(secretHash.hex)" }

    /// Whether this position comes before another; equal values are ordered by hash.
    func isBefore(_ other: TenantCursor) -> Bool {
        value == other.value ? secretHash < other.secretHash : value > other.value
    }
}

/// Finds the first tenants in one order while they are read in another; a pure value.
///
/// It keeps about twice as many tenants as it returns, however many are added.
struct TenantRanking: Sendable {
    private let sort: TenantSort
    private let after: TenantCursor?
    private let limit: Int
    private var kept: [Tenant] = []
    /// The number of tenants added.
    private(set) var total = 0

    /// The first `limit` tenants after a position.
    init(by sort: TenantSort, after: TenantCursor?, limit: Int) {
        self.sort = sort
        self.after = after
        self.limit = max(limit, 1)
    }

    mutating func add(_ tenant: Tenant) {
        total += 1
        if let after, !after.isBefore(sort.cursor(of: tenant)) { return }
        kept.append(tenant)
        if kept.count > 2 * (limit + 1) { trim() }
    }

    /// The page, and where the next one begins, if any.
    var page: (tenants: [Tenant], next: TenantCursor?) {
        var ranking = self
        ranking.trim()
        let tenants = Array(ranking.kept.prefix(limit))
        return (tenants, ranking.kept.count > limit ? tenants.last.map(sort.cursor) : nil)
    }

    private mutating func trim() {
        let sort = sort
        kept.sort { sort.cursor(of: $0).isBefore(sort.cursor(of: $1)) }
        // Keeps one tenant more than is shown, to find out whether there is another page.
        let surplus = max(kept.count - limit - 1, 0)
        kept.removeLast(surplus)
    }
}
