package import Storage
import Testing

/// Sample values for the cases: the relevant parts are given, the rest is made up.
package enum Samples {
    /// A time in 2026 that has milliseconds and doesn't fit in 32 bits.
    package static let time: EpochMilliseconds = 1_795_262_400_123

    /// The key of a secret without a pepper.
    package static func key(_ secret: String) -> SecretKey {
        SecretHasher().key(of: Secret(secret))
    }

    /// Keys of secrets whose rows are in the same part of the queue.
    static func keys(_ count: Int, inBucket bucket: Int) -> [SecretKey] {
        var keys: [SecretKey] = []
        var number = 0
        while keys.count < count {
            let key = key("secret \(number)")
            if key.primary.bucket == bucket { keys.append(key) }
            number += 1
        }
        return keys
    }

    /// A unique ID.
    package static func id(at time: EpochMilliseconds = time) -> UUIDv7 {
        generator.withLock { UUIDv7(at: time, using: &$0) }
    }

    private static let generator = Guarded(SeededGenerator(seed: 1))

    /// A registration of a token.
    package static func registration(
        _ token: String, bundleID: String = "com.example.app", environment: DeviceEnvironment = .production,
        at time: EpochMilliseconds = time, details: DeviceDetails = .none
    ) -> Registration {
        Registration(
            newID: id(at: time), token: token, bundleID: bundleID, environment: environment, at: time,
            details: details)
    }

    package static func delivery(
        _ key: SecretKey, id: String = Samples.id().text, sessionID: String = "ses_1",
        status: DeliveryStatus = .sent, error: String? = nil, at time: EpochMilliseconds = time,
        to device: String? = nil, of eventID: String? = nil
    ) -> Delivery {
        Delivery(
            id: id, secretHash: key.primary, eventType: "complete", sessionID: sessionID, status: status,
            error: error, createdAt: time, deviceID: device, eventID: eventID)
    }

    /// A device that isn't stored.
    package static func device(_ key: SecretKey, _ token: String) -> Device {
        Device(
            id: id().text, secretHash: key.primary, token: token, bundleID: "com.example.app",
            environment: .production, createdAt: time, updatedAt: time)
    }

    /// A delivery log row for a push to each of the given devices.
    package static func delivery(
        _ key: SecretKey, status: DeliveryStatus = .sent, error: String? = nil, at time: EpochMilliseconds,
        toAll devices: [Device], of eventID: String? = nil
    ) -> Delivery {
        var row = delivery(key, status: status, error: error, at: time, to: devices[0].id, of: eventID)
        for device in devices.dropFirst() {
            let isAdded = row.add(id: id().text, deviceID: device.id)
            #expect(isAdded)
        }
        return row
    }

    /// A push waiting for a device, which is due now and expires in a day.
    package static func pending(
        _ device: Device, id: String = Samples.id().text, attempts: Int = 1,
        dueAt: EpochMilliseconds = time, expiresAt: EpochMilliseconds = time + 86_400_000,
        eventID: String? = nil
    ) -> PendingPush {
        PendingPush(
            id: id, secretHash: device.secretHash, deviceID: device.id, eventType: "complete",
            sessionID: "ses_1", payload: Array(#"{"aps":{}}"#.utf8), pushType: "alert", priority: 10,
            collapseID: nil, attempts: attempts, dueAt: dueAt, createdAt: time, expiresAt: expiresAt,
            eventID: eventID)
    }

    /// A lease that starts at a time.
    package static func lease(
        from now: EpochMilliseconds = time, lasting duration: EpochMilliseconds = 90_000
    ) -> PushLease {
        PushLease(owner: id(at: now), until: now + duration)
    }

    /// The end of a push, with a row in the delivery log.
    static func over(
        _ push: PendingPush, _ owner: UUIDv7, _ status: DeliveryStatus = .sent, error: String? = nil
    ) -> Settlement {
        let delivery = Delivery(
            id: push.id, secretHash: push.secretHash, eventType: push.eventType, sessionID: push.sessionID,
            status: status, error: error, createdAt: time, deviceID: push.deviceID, eventID: push.eventID)
        return Settlement(id: push.id, secretHash: push.secretHash, owner: owner, end: .over(delivery))
    }

    /// A settlement after which a push is tried again.
    static func again(
        _ push: PendingPush, _ owner: UUIDv7, dueAt: EpochMilliseconds = time, attempts: Int = 2
    ) -> Settlement {
        Settlement(
            id: push.id, secretHash: push.secretHash, owner: owner,
            end: .again(dueAt: dueAt, attempts: attempts))
    }

    /// An access token of a secret.
    package static func accessToken(
        _ key: SecretKey, name: String = "CI", scope: AccessTokenScope = .send,
        at time: EpochMilliseconds = time, expiresAt: EpochMilliseconds? = nil
    ) -> AccessToken {
        let id = id(at: time)
        return AccessToken(
            id: id, digest: Digest256(of: Array("token \(id.text)".utf8)), secretHash: key.primary,
            scope: scope, name: name, createdAt: time, expiresAt: expiresAt)
    }

    /// A schedule of a secret, due at its time.
    package static func schedule(
        _ key: SecretKey, _ kind: ScheduleKind = .schedule, name: String? = nil, rule: String? = nil,
        content: String = "{}", at next: EpochMilliseconds = time, window: EpochMilliseconds = 0
    ) -> Schedule {
        Schedule(
            id: id(at: next), secretHash: key.primary, kind: kind, name: name, rule: rule, content: content,
            nextAt: next, endsAt: rule == nil ? nil : next + 1_000_000, lateBy: 3_600_000, window: window,
            createdAt: time)
    }

    static func blocked(_ key: SecretKey, note: String? = nil) -> BlockedSecret {
        BlockedSecret(secretHash: key.primary, createdAt: time, note: note)
    }

    /// An item in a secret's history, with the key that calls take with it.
    package static func item(
        _ key: SecretKey, eventID: String? = nil, sessionID: String = "ses_1",
        at time: EpochMilliseconds = time,
        title: String? = nil, body: String? = nil, sealed: String? = nil
    ) -> (item: HistoryItem, key: SecretKey) {
        let item = HistoryItem(
            id: id(at: time), secretHash: key.primary, eventID: eventID, eventType: "complete",
            sessionID: sessionID, serverID: "srv_1", title: title, body: body, sealed: sealed)
        return (item, key)
    }

    static func claim(
        _ eventID: String, under key: SecretKey, content: String = "content", actions: [String] = [],
        at time: EpochMilliseconds = time,
        lease: EpochMilliseconds = 60_000
    ) -> EventClaim {
        EventClaim(
            id: id(at: time), key: key, eventID: eventID, content: Digest256(of: Array(content.utf8)),
            actions: actions, at: time,
            leaseUntil: time + lease)
    }

    /// Strings that databases tend to confuse or change; each must be kept as it is.
    static let confusable = [
        "abcdef", "ABCDEF", "abcdef ", " abcdef", "abcdef\t", "", "'; --", "%", "_", "NULL", "🦊🦊", "🦊",
        "\u{E9}", "e\u{301}", "straße", "STRASSE", "\u{FEFF}abcdef", "ab\\0cdef", "ı", "i",
    ]
}

extension Storage {
    /// Registers with a limit that doesn't matter.
    @discardableResult
    func register(
        _ registration: Registration, _ key: SecretKey
    ) async throws(StorageError) -> RegistrationResult {
        try await register(registration, under: key, deviceLimit: 1_000_000)
    }

    /// Registers a device and returns its row.
    func registered(_ token: String, _ key: SecretKey) async throws -> Device {
        try await register(Samples.registration(token), key)
        return try #require(try await devices(of: key).first { $0.token == token })
    }

    func tokens(of key: SecretKey) async throws(StorageError) -> [String] {
        try await devices(of: key).map(\.token)
    }

    /// The last use of a secret by an agent, without its deliveries.
    package func agentUse(of key: SecretKey) async throws(StorageError) -> AgentUse? {
        try await agentUse(of: key, deliveries: 0).use
    }
}

/// Runs a body several times concurrently and returns the results in any order.
func concurrently<Output: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Output
) async throws -> [Output] {
    try await withThrowingTaskGroup(of: Output.self) { group in
        for index in 0..<count { group.addTask { @concurrent in try await body(index) } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}

/// A generator that returns the same numbers in every run (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator whose numbers are determined by a seed.
    package init(seed: UInt64) {
        state = seed
    }

    /// The next number.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
