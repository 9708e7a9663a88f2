/// The purpose of a scheduled send; names are unique within a kind, and limits apply to each kind.
package enum ScheduleKind: String, Hashable, Sendable, CaseIterable {
    /// A send that a client scheduled.
    case schedule
    /// A push that is repeated until it is acknowledged.
    case `repeat`
    /// A push that waits for the end of a device's quiet hours.
    case held
    /// An event whose response was sent before the event itself.
    case async
}

/// A send at a later time, once or repeatedly: a row of `schedule`.
///
/// It exists until its last occurrence has been sent or skipped. Storage doesn't interpret `rule` and `content`.
package struct Schedule: Hashable, Sendable {
    /// Its identifier; a schedule that replaces another one with the same name gets a new ID.
    package let id: UUIDv7
    /// The hash under which it is stored, together with the secret's devices.
    package let secretHash: SecretHash
    /// The schedule's kind.
    package let kind: ScheduleKind
    /// Its name, unique among those of its secret and kind; nil for none.
    package let name: String?
    /// The recurrence rule as JSON; nil for a single occurrence.
    package let rule: String?
    /// The content to send, as JSON.
    package let content: String
    /// The nominal time of the next occurrence.
    package var nextAt: EpochMilliseconds
    /// When a worker takes it: `nextAt` plus its delay within `window`, or earlier to evaluate the rule again.
    package var dueAt: EpochMilliseconds
    /// The latest nominal time of an occurrence; nil if the schedule has no end.
    package let endsAt: EpochMilliseconds?
    /// How late an occurrence may be sent; later ones are skipped.
    package let lateBy: EpochMilliseconds
    /// The span over which occurrences with the same nominal time are spread.
    package let window: EpochMilliseconds
    /// When it was created.
    package let createdAt: EpochMilliseconds
    /// When the last occurrence was sent or skipped; nil before the first.
    package var lastAt: EpochMilliseconds?
    /// The outcome of the last occurrence, in one word.
    package var lastOutcome: String?
    /// The number of skipped occurrences.
    package var skipped: Int

    /// Creates a schedule that is due at its first occurrence.
    package init(
        id: UUIDv7, secretHash: SecretHash, kind: ScheduleKind, name: String? = nil, rule: String? = nil,
        content: String, nextAt: EpochMilliseconds, endsAt: EpochMilliseconds? = nil,
        lateBy: EpochMilliseconds, window: EpochMilliseconds = 0, createdAt: EpochMilliseconds
    ) {
        self.id = id
        self.secretHash = secretHash
        self.kind = kind
        self.name = name
        self.rule = rule
        self.content = content
        self.nextAt = nextAt
        self.endsAt = endsAt
        self.lateBy = lateBy
        self.window = window
        self.createdAt = createdAt
        lastAt = nil
        lastOutcome = nil
        skipped = 0
        dueAt = nextAt
        dueAt = spread(nextAt)
    }

    /// When an occurrence is sent: within `window` after its nominal time, at a delay derived from a hash of the ID.
    ///
    /// All occurrences of a schedule have the same delay, so that the intervals between them are as requested.
    package func spread(_ nominal: EpochMilliseconds) -> EpochMilliseconds {
        guard window > 0 else { return nominal }
        let word = Digest256(of: Array(id.text.utf8)).words[0]
        return nominal + EpochMilliseconds(word % UInt64(window))
    }

    /// Throws if a value can't be stored unchanged; every driver calls this first.
    package func validate() throws(StorageError) {
        try StorageText.check(name ?? "", field: "name", bytes: StorageLimits.scheduleNameBytes)
        try StorageText.check(rule ?? "", field: "rule", bytes: StorageLimits.scheduleRuleBytes)
        try StorageText.check(content, field: "content", bytes: StorageLimits.scheduleContentBytes)
        try StorageText.check(
            lastOutcome ?? "", field: "lastOutcome", bytes: StorageLimits.scheduleOutcomeBytes)
    }
}

/// The result of creating a schedule; reaching the limit is no error.
package enum ScheduleCreation: Hashable, Sendable {
    /// It is stored.
    case created
    /// It replaced another schedule with the same name, which had this ID.
    case replaced(UUIDv7)
    /// The secret has the maximum number of schedules of the kind.
    case limitReached
    /// The secret has no device; nothing was stored.
    case noDevices
}

/// Names one of a secret's schedules of a kind.
package enum ScheduleReference: Hashable, Sendable {
    /// By its ID.
    case id(UUIDv7)
    /// By its name.
    case name(String)
}

/// The position after which a page of all schedules begins.
package struct ScheduleCursor: Hashable, Sendable {
    /// The text of its hash.
    package let secretHash: String
    /// Its ID.
    package let id: String

    /// The position of a schedule.
    package init(_ schedule: Schedule) {
        self.init(secretHash: schedule.secretHash.hex, id: schedule.id.text)
    }

    /// Creates a position from its parts.
    package init(secretHash: String, id: String) {
        self.secretHash = secretHash
        self.id = id
    }
}

/// A page of all schedules.
package struct SchedulePage: Hashable, Sendable {
    /// The schedules by hash and ID.
    package var schedules: [Schedule] = []
    /// Where the next page begins; nil at the end.
    package var next: ScheduleCursor?

    /// Creates an empty page.
    package init() {}
}

/// A schedule that a worker has leased.
package struct ClaimedSchedule: Hashable, Sendable {
    /// The schedule as claimed.
    package let schedule: Schedule
    /// The owner of the lease.
    package let owner: UUIDv7

    /// Creates a claimed schedule from its parts.
    package init(schedule: Schedule, owner: UUIDv7) {
        self.schedule = schedule
        self.owner = owner
    }
}

/// How a worker ends its lease on a schedule.
package enum ScheduleEnd: Hashable, Sendable {
    /// The outcome of occurrences: the time, one word, and how many were skipped.
    package struct Outcome: Hashable, Sendable {
        /// When they were sent or skipped.
        package let at: EpochMilliseconds
        /// The last one's outcome.
        package let word: String
        /// How many were skipped.
        package let skipped: Int

        /// Creates an outcome from its parts.
        package init(at: EpochMilliseconds, word: String, skipped: Int = 0) {
            self.at = at
            self.word = word
            self.skipped = skipped
        }
    }

    /// The schedule is due at its next occurrence; without an outcome, only the rule was evaluated again.
    case next(nextAt: EpochMilliseconds, dueAt: EpochMilliseconds, Outcome?)
    /// There are no more occurrences: deletes the row.
    case over
    /// Nothing was sent: the schedule is due again at this time.
    case again(dueAt: EpochMilliseconds)
}

/// Sends that are due later.
///
/// Rows belong to their secret like its devices: `rehash` moves them, `revoke` and unregistering the last device remove
/// them.
package protocol ScheduleStorage: Sendable {
    /// Stores a schedule, replacing one with the same kind and name, unless the secret has `limit` others of the kind.
    ///
    /// The secret must have a device, so that unknown secrets can't fill the database. Concurrent callers can't exceed
    /// the limit.
    func create(
        _ schedule: Schedule, under key: SecretKey, limit: Int
    ) async throws(StorageError) -> ScheduleCreation

    /// A secret's schedules of a kind by their next time, then ID, at most `limit`.
    func schedules(
        of key: SecretKey, kind: ScheduleKind, limit: Int
    ) async throws(StorageError) -> [Schedule]

    /// The next `limit` rows of all secrets and kinds, by hash and ID; those that can't be read are left out.
    func schedules(after cursor: ScheduleCursor?, limit: Int) async throws(StorageError) -> SchedulePage

    /// Removes a schedule; false if there was none, which is no error.
    ///
    /// An occurrence that a worker is already sending isn't stopped.
    func cancel(
        _ reference: ScheduleReference, kind: ScheduleKind, of key: SecretKey
    ) async throws(StorageError) -> Bool

    /// Leases schedules that are due at `now`, at most `limit`; no other caller gets them until the lease has expired.
    ///
    /// Secrets take turns, beginning with those in a part of the table that the caller chooses. If callers choose it at
    /// random, they rarely compete for the same rows, and no row waits long. The call may return fewer schedules than
    /// are due, or none, if other callers take them at the same time. A lease that ends later than
    /// ``StorageLimits/scheduleLeaseMax`` from now counts as expired, because a clock that was ahead wrote it.
    func claimSchedules(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, from bucket: Int
    ) async throws(StorageError) -> [ClaimedSchedule]

    /// Ends the lease on a schedule with one change; returns false and changes nothing if the owner has lost the lease:
    /// it expired, or the schedule was cancelled, replaced or moved with its secret.
    func settle(_ claimed: ClaimedSchedule, _ end: ScheduleEnd) async throws(StorageError) -> Bool

    /// When the next unleased schedule is due; nil if there is none.
    ///
    /// One look-up in an index.
    func nextScheduleDue(at now: EpochMilliseconds) async throws(StorageError) -> EpochMilliseconds?

    /// Finds schedules that were created or last sent after `time`, at most `limit`; leased and unreadable ones are
    /// left out.
    ///
    /// Only a clock that was ahead can have written a time in the future. Reads the whole table.
    func schedules(
        writtenAfter time: EpochMilliseconds, at now: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> [Schedule]

    /// Gives a schedule other times (`createdAt`, `lastAt`, `nextAt`, `dueAt` and `endsAt`), unless they have changed since
    /// it was found; true if it did.
    func redate(_ schedule: Schedule, to redated: Schedule) async throws(StorageError) -> Bool

    /// Counts the schedules of all secrets, at most `limit`.
    func countSchedules(limit: Int) async throws(StorageError) -> Int
}
