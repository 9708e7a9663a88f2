/// What a token besides a device's own is for; the raw value is the column's text.
package enum PushTokenKind: String, Hashable, Sendable, CaseIterable {
    /// Updates and ends one Live Activity.
    case activity
    /// Starts Live Activities on a device (iOS 17.2 and later).
    case start
    /// Reloads a device's widgets.
    case widgets
    /// Reloads a device's controls.
    case controls

    /// The text of rows that hold no token: that a session's activity was started on a device, for
    /// ``StorageLimits/activityStartInterval``.
    static let startedColumn = "started"
}

/// A token besides a device's own, registered under a secret: a row of `push_token`.
package struct PushToken: Hashable, Sendable {
    /// The row's ID, by which queued pushes find it.
    package let id: String
    /// The hash under which the row is stored, one of a `SecretKey`'s hashes.
    package let secretHash: SecretHash
    /// What it is for.
    package let kind: PushTokenKind
    /// The token as hexadecimal text.
    package let token: String
    /// The session that an activity shows; empty for the other kinds.
    package let sessionID: String
    /// The `id` of the device that it belongs to; nil if an activity was registered without one.
    package let deviceID: String?
    /// The app's bundle identifier.
    package let bundleID: String
    /// The environment that the token belongs to.
    package let environment: DeviceEnvironment
    /// The name of the app's type of activity attributes, for kind `start`.
    package let attributesType: String?
    /// When the row was created.
    package let createdAt: EpochMilliseconds
    /// When the app last registered the token.
    package let updatedAt: EpochMilliseconds
    /// When the row is removed; nil for as long as its device is registered.
    package let expiresAt: EpochMilliseconds?
    /// The last `timestamp` that was sent to an activity, in seconds since 1970; 0 if none.
    package private(set) var stamp: Int64
    /// When the last state of an activity arrived; 0 if none.
    package private(set) var stateAt: EpochMilliseconds
    /// When the last progress was sent to an activity; 0 if none.
    package private(set) var progressAt: EpochMilliseconds
    /// Whether an activity's end is queued.
    package let hasEnded: Bool

    /// Creates a token from its columns.
    package init(
        id: String, secretHash: SecretHash, kind: PushTokenKind, token: String, sessionID: String = "",
        deviceID: String?, bundleID: String, environment: DeviceEnvironment, attributesType: String? = nil,
        createdAt: EpochMilliseconds, updatedAt: EpochMilliseconds, expiresAt: EpochMilliseconds? = nil,
        stamp: Int64 = 0, stateAt: EpochMilliseconds = 0, progressAt: EpochMilliseconds = 0,
        hasEnded: Bool = false
    ) {
        self.id = id
        self.secretHash = secretHash
        self.kind = kind
        self.token = token
        self.sessionID = sessionID
        self.deviceID = deviceID
        self.bundleID = bundleID
        self.environment = environment
        self.attributesType = attributesType
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.expiresAt = expiresAt
        self.stamp = stamp
        self.stateAt = stateAt
        self.progressAt = progressAt
        self.hasEnded = hasEnded
    }

    /// The same token with another stamp.
    package func stamped(_ stamp: Int64) -> PushToken {
        var stamped = self
        stamped.stamp = stamp
        return stamped
    }

    /// The recipient of pushes to this token.
    ///
    /// Removing it, or storing its environment, changes this token's row and never a device.
    package var recipient: Device {
        Device(
            id: id, secretHash: secretHash, token: token, bundleID: bundleID, environment: environment,
            createdAt: createdAt, updatedAt: updatedAt, details: DeviceDetails(tokenKind: kind))
    }

    /// The recipient, with the preferences of its device.
    package func recipient(asIn device: Device) -> Device {
        Device(
            id: id, secretHash: secretHash, token: token, bundleID: bundleID, environment: environment,
            createdAt: createdAt, updatedAt: updatedAt,
            details: DeviceDetails(preferences: device.details.preferences, tokenKind: kind))
    }

    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(id, field: "id", bytes: StorageLimits.idBytes)
        try StorageText.check(token, field: "token", bytes: StorageLimits.tokenBytes)
        try StorageText.check(sessionID, field: "sessionID", bytes: StorageLimits.sessionIDBytes)
        try StorageText.check(deviceID ?? "", field: "deviceID", bytes: StorageLimits.idBytes)
        try StorageText.check(bundleID, field: "bundleId", bytes: StorageLimits.bundleIDBytes)
        try StorageText.check(
            attributesType ?? "", field: "attributesType", bytes: StorageLimits.attributesTypeBytes)
    }
}

/// A state of a session for its activities.
package struct ActivityState: Hashable, Sendable {
    /// How a state reaches the activities.
    package enum Urgency: Hashable, Sendable {
        /// At most once per interval, the newest state only; with `starting` also on devices without an activity.
        case progress(interval: EpochMilliseconds, starting: Bool)
        /// At once.
        case immediate
    }

    /// The session.
    package let sessionID: String
    /// When the state arrived.
    package let at: EpochMilliseconds
    /// The time of the call: the same, or later for a state that waited.
    package let now: EpochMilliseconds
    /// How it reaches the activities.
    package let urgency: Urgency

    /// Creates a state from its parts.
    package init(
        sessionID: String, at: EpochMilliseconds, now: EpochMilliseconds? = nil, urgency: Urgency
    ) {
        self.sessionID = sessionID
        self.at = at
        self.now = now ?? at
        self.urgency = urgency
    }

    /// Whether activities may be started with it.
    package var isStarting: Bool {
        if case .progress(_, starting: true) = urgency { true } else { false }
    }
}

extension PushToken {
    /// Whether an activity gets a state.
    package enum Turn: Hashable, Sendable {
        /// It does, and is then as given.
        case now(PushToken)
        /// It had another progress a moment ago, and may get the state from this time on.
        case later(EpochMilliseconds)
        /// It had a newer state.
        case never
    }

    /// Decides whether this activity gets a state; a pure function.
    ///
    /// Its `timestamp` is the time at which the state arrived, but later than the one before.
    package func turn(for state: ActivityState) -> Turn {
        var next = stamped(max(state.at / 1_000, stamp + 1))
        next.stateAt = max(stateAt, state.at)
        guard case .progress(let interval, _) = state.urgency else { return .now(next) }
        // Times far ahead come from a clock that was wrong, which must not silence the activity.
        let isOlder = state.at < stateAt && stateAt - state.at < StorageLimits.activityStartInterval
        guard !isOlder else { return .never }
        let until = min(progressAt, state.now) + interval
        guard progressAt == 0 || until <= state.now else { return .later(until) }
        next.progressAt = state.now
        return .now(next)
    }
}

/// Which activities get a state now.
package struct ActivityTurn: Hashable, Sendable {
    /// The activities to push to, each with the `stamp` of this push.
    package var updates: [PushToken] = []
    /// The devices on which to start an activity: tokens of kind `start`, each with the `stamp` of this push.
    package var starts: [PushToken] = []
    /// The number of activities that get the state later, and when the first may.
    package var held = 0
    /// When the first of these may get it; nil if there are none.
    package var heldUntil: EpochMilliseconds?
    /// The devices that show an activity of the session, by their `id`.
    package var devices: Set<String> = []

    /// No activities.
    package init() {}

    /// Whether no activity is concerned.
    package var isEmpty: Bool { updates.isEmpty && starts.isEmpty && held == 0 }
}

/// The tokens of secrets besides their devices' own.
package protocol PushTokenStorage: Sendable {
    /// Stores a token, or updates it if the secret has it already; false, with nothing stored, if the secret has no
    /// device.
    ///
    /// A device has one token of each kind, and one activity per session: the call's replaces the one before, and an
    /// activity's stamp goes on growing. On update `id` and `createdAt` stay, and `updatedAt` becomes later than it was.
    /// An activity that has ended stays ended. A secret keeps its newest ``StorageLimits/activitiesMax`` activities.
    func save(_ token: PushToken, under key: SecretKey) async throws(StorageError) -> Bool

    /// Removes tokens of a kind, and says how many.
    ///
    /// - Parameters:
    ///   - session: Of kind `activity`, those of this session.
    ///   - token: Only this token; nil for all.
    ///   - device: Only those of the device with this `id`; nil for all.
    func removeTokens(
        _ kind: PushTokenKind, session: String, token: String?, device: String?, under key: SecretKey
    ) async throws(StorageError) -> Int

    /// The secret's tokens of a kind, in the order of their `id`s; expired ones are left out.
    func tokens(
        _ kind: PushTokenKind, of key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> [PushToken]

    /// Decides which activities get a state, and records that they do; with no activity it only reads.
    ///
    /// Each chosen activity's `stamp` is the state's time in seconds, and later than its stamp before, whichever relay sent
    /// that. A progress older than the last state of an activity isn't sent to it. A device gets at most one start per
    /// session and ``StorageLimits/activityStartInterval``, at most ``StorageLimits/activityStartsMax`` in that time, and
    /// none for a session that has an activity without a device, which may be its own.
    func take(_ state: ActivityState, under key: SecretKey) async throws(StorageError) -> ActivityTurn

    /// Removes activities whose end was sent, and marks those whose end is queued, which get no state any more.
    func endActivities(sent: [PushToken], queued: [PushToken]) async throws(StorageError)
}
