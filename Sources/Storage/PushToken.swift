/// The kind of a token other than a device's own; the raw value is the column's text.
package enum PushTokenKind: String, Hashable, Sendable, CaseIterable {
    /// Updates and ends one Live Activity.
    case activity
    /// Starts Live Activities on a device (iOS 17.2 and later).
    case start
    /// Reloads a device's widgets.
    case widgets
    /// Reloads a device's controls.
    case controls

    /// The `kind` text of rows without a token, which record for ``StorageLimits/activityStartInterval`` that a
    /// session's activity was started on a device.
    static let startedColumn = "started"
    /// The `kind` text of rows with an activity's former token, which the app has since replaced.
    static let replacedColumn = "replaced"
}

/// A token other than a device's own, registered under a secret: a row of `push_token`.
package struct PushToken: Hashable, Sendable {
    /// The row's ID, by which queued pushes refer to it.
    package let id: String
    /// The hash under which the row is stored, one of a `SecretKey`'s hashes.
    package let secretHash: SecretHash
    /// The token's kind.
    package let kind: PushTokenKind
    /// The token as hexadecimal text.
    package let token: String
    /// The session that the token's activity shows; empty for other kinds of tokens.
    package let sessionID: String
    /// The `id` of the device that the token belongs to; nil if an activity was registered without a device.
    package let deviceID: String?
    /// The app's bundle identifier.
    package let bundleID: String
    /// The environment that the token belongs to.
    package let environment: DeviceEnvironment
    /// The name of the app's activity attributes type, for kind `start`.
    package let attributesType: String?
    /// When the row was created.
    package let createdAt: EpochMilliseconds
    /// When the app last registered the token.
    package let updatedAt: EpochMilliseconds
    /// When the row expires; nil if it is kept as long as its device is registered.
    package let expiresAt: EpochMilliseconds?
    /// The last `timestamp` sent to the activity, in seconds since 1970; 0 if there is none.
    package private(set) var stamp: Int64
    /// When the activity's last state arrived; 0 if there is none.
    package private(set) var stateAt: EpochMilliseconds
    /// When progress was last sent to the activity; 0 if never.
    package private(set) var progressAt: EpochMilliseconds
    /// Whether the activity's end is queued.
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
    /// Removing the recipient or storing its environment changes this token's row, never a device's.
    package var recipient: Device {
        Device(
            id: id, secretHash: secretHash, token: token, bundleID: bundleID, environment: environment,
            createdAt: createdAt, updatedAt: updatedAt, details: DeviceDetails(tokenKind: kind))
    }

    /// The recipient of pushes to this token, with its device's preferences.
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

/// A session's state for its Live Activities.
package struct ActivityState: Hashable, Sendable {
    /// How soon a state is sent to the activities.
    package enum Urgency: Hashable, Sendable {
        /// At most once per interval, and only the newest state; with `starting`, also to devices without an activity.
        case progress(interval: EpochMilliseconds, starting: Bool)
        /// Immediately.
        case immediate
    }

    /// The session's ID.
    package let sessionID: String
    /// When the state arrived.
    package let at: EpochMilliseconds
    /// The time of the call: `at`, or later for a state that has waited.
    package let now: EpochMilliseconds
    /// How soon the state is sent to the activities.
    package let urgency: Urgency
    /// Whether an earlier call deferred the state for some activities; others may already have it.
    package let isHeld: Bool

    /// Creates a state from its parts.
    package init(
        sessionID: String, at: EpochMilliseconds, now: EpochMilliseconds? = nil, urgency: Urgency,
        isHeld: Bool = false
    ) {
        self.sessionID = sessionID
        self.at = at
        self.now = now ?? at
        self.urgency = urgency
        self.isHeld = isHeld
    }

    /// Whether activities may be started with this state.
    package var isStarting: Bool {
        if case .progress(_, starting: true) = urgency { true } else { false }
    }

    /// The state, with a time that differs from that of every activity's last state.
    ///
    /// Two events can arrive in the same millisecond, and an activity that has received the first must also get the
    /// second.
    fileprivate func distinct(from activities: [PushToken]) -> ActivityState {
        guard !isHeld else { return self }
        let taken = Set(activities.map(\.stateAt))
        var time = at
        while taken.contains(time) { time += 1 }
        return ActivityState(sessionID: sessionID, at: time, now: now, urgency: urgency)
    }
}

extension PushToken {
    /// Whether and when an activity gets a state.
    package enum Turn: Hashable, Sendable {
        /// The activity gets the state; the associated value is the activity afterwards.
        case now(PushToken)
        /// The activity received other progress recently; it may get the state from this time on.
        case later(EpochMilliseconds)
        /// The activity has already received this state or a newer one.
        case never
    }

    /// Decides whether this activity gets a state; a pure function.
    ///
    /// The push's `timestamp` is the state's arrival time, or later if needed to follow the previous one. States are
    /// identified by their time, so no two may have the same time; see ``ActivityTurn/init(of:among:)``.
    package func turn(for state: ActivityState) -> Turn {
        var next = stamped(max(state.at / 1_000, stamp + 1))
        // A time far in the future was set by a wrong clock, which must not stop the activity's updates.
        let aheadMin = StorageLimits.activityStartInterval
        let isAhead = stateAt - state.at >= aheadMin
        next.stateAt = isAhead ? state.at : max(stateAt, state.at)
        guard case .progress(let interval, _) = state.urgency else { return .now(next) }
        guard isAhead || state.at > stateAt else { return .never }
        let until = min(progressAt, state.now) + interval
        let mayGo = progressAt == 0 || progressAt - state.now >= aheadMin || until <= state.now
        guard mayGo else { return .later(until) }
        next.progressAt = state.now
        return .now(next)
    }

    /// This token as the successor of the device's earlier tokens for the activity.
    ///
    /// The new token may get the last state again (the previous token may already have been invalid), but no older one.
    package func succeeding(_ others: [PushToken]) -> PushToken {
        var next = stamped(others.map(\.stamp).max() ?? stamp)
        next.stateAt = max(0, (others.map(\.stateAt).max() ?? 0) - 1)
        return next
    }
}

/// Which activities get a state now.
package struct ActivityTurn: Hashable, Sendable {
    /// The activities to push to, each with the `stamp` for this push.
    package var updates: [PushToken] = []
    /// The devices on which to start an activity: tokens of kind `start`, each with the `stamp` for this push.
    package var starts: [PushToken] = []
    /// The number of activities that get the state later.
    package var held = 0
    /// The earliest time at which an activity that gets the state later may get it; nil if there is none.
    package var heldUntil: EpochMilliseconds?
    /// The `id`s of the devices that show an activity for the session.
    package var devices: Set<String> = []
    /// The time that identifies the state to activities: its arrival time or slightly later.
    ///
    /// A deferred state keeps this time.
    package private(set) var at: EpochMilliseconds = 0

    /// Creates a turn without activities.
    package init() {}

    /// Decides which of a session's activities get a state; a pure function.
    package init(of state: ActivityState, among activities: [PushToken]) {
        let state = state.distinct(from: activities)
        at = state.at
        for activity in activities {
            if let device = activity.deviceID { devices.insert(device) }
            switch activity.turn(for: state) {
            case .now(let next): updates.append(next)
            case .later(let until):
                held += 1
                heldUntil = min(heldUntil ?? until, until)
            case .never: break
            }
        }
    }

    /// Whether no activity is affected.
    package var isEmpty: Bool { updates.isEmpty && starts.isEmpty && held == 0 }
}

/// The secrets' tokens other than their devices' own.
package protocol PushTokenStorage: Sendable {
    /// Stores a token, or updates it if the secret has it already; false, with nothing stored, if the secret has no
    /// device.
    ///
    /// A device has one token of each kind, and one activity per session: the new token replaces the previous one, as
    /// described in ``PushToken/succeeding(_:)``. Registering an activity's former token changes nothing while the
    /// device has a later one, because such a registration was delayed or repeated. On an update, `id` and `createdAt`
    /// are kept, and `updatedAt` increases. An activity that has ended stays ended. A secret keeps its newest
    /// ``StorageLimits/activitiesMax`` activities.
    func save(_ token: PushToken, under key: SecretKey) async throws(StorageError) -> Bool

    /// Removes tokens of a kind and returns how many it removed.
    ///
    /// - Parameters:
    ///   - session: Only tokens of this session; empty for kinds other than `activity`.
    ///   - token: Only this token; nil for all tokens.
    ///   - device: Only tokens of the device with this `id`; nil for all devices.
    func removeTokens(
        _ kind: PushTokenKind, session: String, token: String?, device: String?, under key: SecretKey
    ) async throws(StorageError) -> Int

    /// The secret's tokens of a kind, ordered by `id`; expired ones are left out.
    func tokens(
        _ kind: PushTokenKind, of key: SecretKey, at now: EpochMilliseconds
    ) async throws(StorageError) -> [PushToken]

    /// Decides which activities get a state, and records that they do; if there are none, it only reads.
    ///
    /// Each chosen activity's `stamp` is the state's time in seconds, increased if necessary to exceed the activity's
    /// previous stamp, whichever relay sent it. Progress that isn't newer than an activity's last state isn't sent to
    /// it, so a deferred state reaches each activity only once. Within ``StorageLimits/activityStartInterval`` a device
    /// gets at most one start per session and at most ``StorageLimits/activityStartsMax`` in total. It gets no start
    /// for a session that has an activity without a device, because that activity may be on this device.
    func take(_ state: ActivityState, under key: SecretKey) async throws(StorageError) -> ActivityTurn

    /// Forgets that a session's activity was started with these `start` tokens, because their pushes failed.
    ///
    /// The session's next start then includes these devices again.
    func releaseStarts(_ starts: [PushToken], session sessionID: String) async throws(StorageError)

    /// Removes activities whose end was sent, and marks those whose end is queued, so that they get no more states.
    func endActivities(sent: [PushToken], queued: [PushToken]) async throws(StorageError)
}
