import JSON
import Storage

/// Measures how several relays claim a queue of due pushes in one database, each through its own storage.
struct ClaimLoad: Sendable {
    let storages: [any Storage]
    /// Pushes per claim.
    let limit: Int

    private static let now: EpochMilliseconds = 1_800_000_000_000
    /// The largest share of time spent on claims that look past backlogs, as in the relay's worker.
    private static let wideShare = 0.1
    /// Pushes that each storage claims before the measurement begins.
    private static let warmUpClaim = 16

    /// What the claims cost.
    struct Result: Sendable {
        var claimed = 0
        var claims = 0
    }

    /// Lets each storage connect and prepare its statements; returns the number of leased pushes.
    func warmUp() async throws -> Int {
        var claimed = 0
        var generator = SystemRandomNumberGenerator()
        for (index, storage) in storages.enumerated() {
            for scope in [ClaimScope.everySecret, .oldest] {
                let owner = UUIDv7(at: Self.now, using: &generator)
                let lease = PushLease(owner: owner, until: Self.now + 500_000 + EpochMilliseconds(index))
                claimed += try await storage.claimPushes(
                    dueAt: Self.now, lease: lease, limit: Self.warmUpClaim, scope: scope
                ).count
            }
        }
        return claimed
    }

    /// Claims with all storages at once until the given number of pushes is leased.
    func run(until target: Int) async throws -> Result {
        let total = Counter(target: target)
        let leases = Counter(target: .max)
        return try await withThrowingTaskGroup(of: Result.self) { group in
            for storage in storages {
                group.addTask { try await claim(from: storage, total, leases) }
            }
            return try await group.reduce(into: Result()) {
                $0.claimed += $1.claimed
                $0.claims += $1.claims
            }
        }
    }

    private func claim(
        from storage: any Storage, _ total: Counter, _ leases: Counter
    ) async throws -> Result {
        var result = Result()
        var generator = SystemRandomNumberGenerator()
        let began = ContinuousClock.now
        var wideTime: Duration = .zero
        while !total.isReached {
            let start = ContinuousClock.now
            let isWide = wideTime / max(began.duration(to: start), .milliseconds(1)) < Self.wideShare
            let owner = UUIDv7(at: Self.now, using: &generator)
            // In a relay, two leases rarely end in the same millisecond.
            let until = Self.now + 600_000 + EpochMilliseconds(leases.add(1))
            let claimed = try await storage.claimPushes(
                dueAt: Self.now, lease: PushLease(owner: owner, until: until), limit: limit,
                scope: isWide ? .everySecret : .oldest)
            if isWide { wideTime += start.duration(to: .now) }
            result.claims += 1
            result.claimed += claimed.count
            total.add(claimed.count)
        }
        return result
    }

    private struct Counter: Sendable {
        let target: Int
        private let count = Guarded(0)

        init(target: Int) { self.target = target }

        var isReached: Bool { count.withLock { $0 } >= target }

        @discardableResult
        func add(_ more: Int) -> Int {
            count.withLock { count in
                count += more
                return count
            }
        }
    }

    /// Stores due pushes for several secrets with one device each.
    static func fill(_ storage: any Storage, secrets: Int, pushes: Int) async throws {
        var generator = SystemRandomNumberGenerator()
        for secret in 0..<secrets {
            let key = SecretHasher().key(of: Secret("claimed-\(secret)"))
            let registration = Registration(
                newID: UUIDv7(at: now, using: &generator), token: "aabb", bundleID: "com.example.app",
                environment: .production, at: now)
            _ = try await storage.register(registration, under: key, deviceLimit: 9)
            guard let device = try await storage.devices(of: key).first else { continue }
            let rows = (0..<(pushes / secrets)).map { _ in
                PendingPush(
                    id: UUIDv7(at: now, using: &generator).text, secretHash: device.secretHash,
                    deviceID: device.id, eventType: "complete", sessionID: "ses_0123456789abcdef",
                    payload: [UInt8](repeating: 0x20, count: 400), pushType: "alert", priority: 10,
                    collapseID: nil, attempts: 1,
                    dueAt: now - EpochMilliseconds.random(in: 0..<60_000, using: &generator),
                    createdAt: now - 60_000, expiresAt: now + 600_000)
            }
            _ = try await storage.enqueue(rows, lease: nil, limitPerSecret: pushes)
        }
    }
}

/// Fills a database's queue, claims three quarters of it with several storages and prints the cost as JSON.
///
/// Options: `url` (of a new database), `claimers`, `limit`, `secrets`, `count` (pushes).
func claimPushes(_ options: Options) throws(BenchError) {
    let url = try options.string("url")
    let claimers = try options.integer("claimers")
    let limit = try options.integer("limit")
    let secrets = try options.integer("secrets")
    let count = try options.integer("count")
    runToEnd {
        var storages: [any Storage] = []
        for _ in 0..<claimers { storages.append(try await openStorage(url)) }
        try await ClaimLoad.fill(storages[0], secrets: secrets, pushes: count)
        let load = ClaimLoad(storages: storages, limit: limit)
        let held = try await load.warmUp()
        let began = Usage.now
        let result = try await load.run(until: (count - held) * 3 / 4)
        let took = Usage.now.since(began)
        for storage in storages { await storage.close() }
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("count", result.claimed)
        writer.member("claims", result.claims)
        writer.member("microseconds", took.wallMicroseconds)
        writer.member("cpuMicroseconds", took.cpuMicroseconds)
        writer.endObject()
        print(String(decoding: writer.finish(), as: UTF8.self))
    }
}
