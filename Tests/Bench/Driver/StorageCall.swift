import Storage

/// One kind of call to a storage, made many times.
struct StorageCall: Sendable {
    enum Kind: String, CaseIterable {
        /// Looks up the devices of a secret picked at random.
        case lookUps = "look-ups"
        /// Registers one device under a new secret.
        case registrations
        /// Registers a device again under the secret that already has it, as an app does at each start.
        case updates
        /// Appends 64 rows to the delivery log.
        case logRows = "log-rows"
        /// Claims an event and stores its response.
        case receipts
        /// Stores 16 pushes, claims the due ones and ends the claimed ones.
        case queue
    }

    let kind: Kind
    let storage: any Storage
    /// The number of secrets in the database.
    let rows: Int

    private let run = UInt64.random(in: 0...UInt64.max)
    private static let now: EpochMilliseconds = 1_800_000_000_000
    private static let logRows = 64
    private static let pushes = 16

    init(kind: Kind, storage: any Storage, rows: Int) {
        self.kind = kind
        self.storage = storage
        self.rows = rows
    }

    /// Stores the rows that each lane's calls need.
    func prepare(inFlight: Int) async throws(StorageError) {
        guard kind == .queue || kind == .updates else { return }
        for lane in 0..<inFlight {
            _ = try await storage.register(Self.registration, under: key(ofLane: lane), deviceLimit: 50)
        }
    }

    /// Makes one call; returns whether its result was as expected.
    func make(_ number: Int, lane: Int) async throws(StorageError) -> Bool {
        switch kind {
        case .lookUps:
            let secret = Secret("secret-of-the-bench-\(scatter(number) % UInt64(rows))")
            return try await storage.devices(of: SecretHasher().key(of: secret)).count == 1
        case .registrations:
            let key = SecretHasher().key(of: Secret("registration-\(run)-\(number)"))
            return try await storage.register(Self.registration, under: key, deviceLimit: 50) == .created
        case .updates:
            let key = key(ofLane: lane)
            return try await storage.register(Self.registration, under: key, deviceLimit: 50) == .updated
        case .logRows:
            try await storage.append(logRows(number, key(ofLane: lane).primary))
            return true
        case .receipts:
            let event = EventClaim(
                id: Self.newID, key: key(ofLane: lane), eventID: "event-\(run)-\(number)",
                content: Digest256(of: [1]), at: Self.now, leaseUntil: Self.now + 30_000)
            guard try await storage.claim(event) == .claimed else { return false }
            return try await storage.complete(event, answer: Array("{\"sent\":1}".utf8))
        case .queue:
            return try await queue(key(ofLane: lane))
        }
    }

    private func queue(_ key: SecretKey) async throws(StorageError) -> Bool {
        guard let device = try await storage.devices(of: key).first else { return false }
        let pushes = (0..<Self.pushes).map { _ in push(to: device) }
        let stored = try await storage.enqueue(pushes, lease: nil, limitPerSecret: 1_000)
        let lease = PushLease(owner: Self.newID, until: Self.now + 60_000)
        let claimed = try await storage.claimPushes(
            dueAt: Self.now, lease: lease, limit: Self.pushes, scope: .oldest)
        let held = try await storage.settle(
            claimed.map { claimed in
                let end = delivery(claimed.push.secretHash, claimed.push.id)
                return Settlement(
                    id: claimed.push.id, secretHash: claimed.push.secretHash, owner: lease.owner,
                    end: .over(end))
            })
        return stored.allSatisfy { $0 != .deviceGone } && held.allSatisfy { $0 }
    }

    private func key(ofLane lane: Int) -> SecretKey {
        SecretHasher().key(of: Secret("lane-\(run)-\(lane)"))
    }

    private func logRows(_ number: Int, _ hash: SecretHash) -> [Delivery] {
        (0..<Self.logRows).map { _ in delivery(hash, Self.newID.text) }
    }

    private func delivery(_ hash: SecretHash, _ id: String) -> Delivery {
        Delivery(
            id: id, secretHash: hash, eventType: "complete", sessionID: "ses_0123456789abcdef", status: .sent,
            error: nil, createdAt: Self.now, deviceID: "0123456789abcdef")
    }

    private func push(to device: Device) -> PendingPush {
        PendingPush(
            id: Self.newID.text, secretHash: device.secretHash, deviceID: device.id, eventType: "complete",
            sessionID: "ses_0123456789abcdef", payload: Self.payload, pushType: "alert", priority: 10,
            collapseID: nil, attempts: 1, dueAt: Self.now, createdAt: Self.now, expiresAt: Self.now + 60_000)
    }

    private static let payload = [UInt8](repeating: 0x20, count: 400)

    private static var newID: UUIDv7 {
        var generator = SystemRandomNumberGenerator()
        return UUIDv7(at: now, using: &generator)
    }

    private static var registration: Registration {
        Registration(
            newID: newID, token: "aabb", bundleID: "com.example.app", environment: .production, at: now)
    }
}

/// Scatters numbers: the same input gives the same output, without a pattern (SplitMix64's mixing).
private func scatter(_ number: Int) -> UInt64 {
    var mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
}
