/// The purpose of a scheduled send; names are unique within a kind, and each kind has its own limits.
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

/// A send that is due later, once or repeatedly: a row of `schedule`.
///
/// It exists until its last occurrence has been sent or skipped. Storage doesn't interpret `rule` and `content`.
package struct Schedule: Hashable, Sendable {
    /// The schedule's ID; a schedule that replaces another one with the same name gets a new ID.
    package let id: UUIDv7
    /// The hash under which the schedule is stored, together with the secret's devices.
    package let secretHash: SecretHash
    /// The schedule's kind.
    package let kind: ScheduleKind
    /// The schedule's name, unique per secret and kind; nil if it has none.
    package let name: String?
    /// The recurrence rule as JSON; nil for a single occurrence.
    package let rule: String?
    /// The content to send, as JSON.
    package let content: String
    /// The nominal time of the next occurrence.
    package var nextAt: EpochMilliseconds
    /// When a worker takes the schedule: `nextAt` plus a delay within `window`, or earlier to re-evaluate the rule.
    package var dueAt: EpochMilliseconds
    /// The latest nominal time that an occurrence may have; nil if the schedule has no end.
    package let endsAt: EpochMilliseconds?
    /// How late an occurrence may be sent; occurrences later than that are skipped.
    package let lateBy: EpochMilliseconds
    /// The span of time over which occurrences with the same nominal time are spread.
    package let window: EpochMilliseconds
    /// When the schedule was created.
    package let createdAt: EpochMilliseconds
    /// When the last occurrence was sent or skipped; nil before the first.
    package var lastAt: EpochMilliseconds?
    /// The outcome of the last occurrence, as one word.
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

    /// When an occurrence is sent: within `window` after its nominal time, with a delay derived from a hash of the ID.
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

/// The result of creating a schedule; reaching the limit isn't an error.
package enum ScheduleCreation: Hashable, Sendable {
    /// The schedule is stored.
    case created
    /// The schedule replaced another one with the same name, which had this ID.
    case replaced(UUIDv7)
    /// The secret already has the maximum number of schedules of this kind.
    case limitReached
    /// The secret has no device; nothing was stored.
    case noDevices
}

/// Identifies one of a secret's schedules of one kind.
package enum ScheduleReference: Hashable, Sendable {
    /// The schedule's ID.
    case id(UUIDv7)
    /// The schedule's name.
    case name(String)
}

/// The position in the list of all schedules after which a page begins.
package struct ScheduleCursor: Hashable, Sendable {
    /// The hash under which the schedule is stored, as text.
    package let secretHash: String
    /// The schedule's ID.
    package let id: String

    /// Creates the position of a schedule.
    package init(_ schedule: Schedule) {
        self.init(secretHash: schedule.secretHash.hex, id: schedule.id.text)
    }

    /// Creates a position from its parts.
    package init(secretHash: String, id: String) {
        self.secretHash = secretHash
        self.id = id
    }
}

/// A page from the list of all schedules.
package struct SchedulePage: Hashable, Sendable {
    /// The schedules, ordered by hash and ID.
    package var schedules: [Schedule] = []
    /// Where the next page begins; nil at the end.
    package var next: ScheduleCursor?

    /// Creates an empty page.
    package init() {}
}

/// A schedule that a worker has leased.
package struct ClaimedSchedule: Hashable, Sendable {
    /// The schedule as it was when claimed.
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
    /// The outcome of one or more occurrences.
    package struct Outcome: Hashable, Sendable {
        /// When the occurrences were sent or skipped.
        package let at: EpochMilliseconds
        /// The last occurrence's outcome, as one word.
        package let word: String
        /// How many occurrences were skipped.
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
    /// There are no more occurrences: the row is deleted.
    case over
    /// Nothing was sent: the schedule is due again at this time.
    case again(dueAt: EpochMilliseconds)
}

/// Schedules: sends that are due later.
///
/// Like devices, schedules belong to their secret: `rehash` moves them, and `revoke` and unregistering the last device
/// remove them.
package protocol ScheduleStorage: Sendable {
    /// Stores a schedule, replacing one with the same kind and name, unless the secret has `limit` others of that kind.
    ///
    /// The secret must have a device, so that unknown secrets can't fill the database. Concurrent callers can't exceed
    /// the limit.
    func create(
        _ schedule: Schedule, under key: SecretKey, limit: Int
    ) async throws(StorageError) -> ScheduleCreation

    /// A secret's schedules of a kind, at most `limit`, ordered by the time of the next occurrence, then ID.
    func schedules(
        of key: SecretKey, kind: ScheduleKind, limit: Int
    ) async throws(StorageError) -> [Schedule]

    /// The next `limit` rows of all secrets and kinds, ordered by hash and ID; unreadable rows are left out.
    func schedules(after cursor: ScheduleCursor?, limit: Int) async throws(StorageError) -> SchedulePage

    /// Removes a schedule; false if there was none, which isn't an error.
    ///
    /// An occurrence that a worker is already sending isn't stopped.
    func cancel(
        _ reference: ScheduleReference, kind: ScheduleKind, of key: SecretKey
    ) async throws(StorageError) -> Bool

    /// Leases schedules that are due at `now`, at most `limit`; no other caller gets them until the lease has expired.
    ///
    /// Secrets take turns, beginning with those in the part of the table that the caller chooses. If callers choose
    /// parts at random, they rarely compete for the same rows, and no row waits long. The call may return fewer
    /// schedules than are due, or none, if other callers take them at the same time. A lease that ends more than
    /// ``StorageLimits/scheduleLeaseMax`` from now counts as expired, because it was set by a relay whose clock was
    /// ahead.
    func claimSchedules(
        dueAt now: EpochMilliseconds, lease: PushLease, limit: Int, from bucket: Int
    ) async throws(StorageError) -> [ClaimedSchedule]

    /// Ends the lease on a schedule as specified by `end`, in a single change; returns false and changes nothing if the
    /// owner has lost the lease: it expired, or the schedule was cancelled, replaced or moved with its secret.
    func settle(_ claimed: ClaimedSchedule, _ end: ScheduleEnd) async throws(StorageError) -> Bool

    /// When the next unleased schedule is due; nil if there is none.
    ///
    /// This takes one index look-up.
    func nextScheduleDue(at now: EpochMilliseconds) async throws(StorageError) -> EpochMilliseconds?

    /// Finds at most `limit` schedules that were created, last sent or last skipped after `time`; leased and unreadable
    /// ones are left out.
    ///
    /// Only a relay whose clock was ahead can have set a time in the future. Reads the whole table.
    func schedules(
        writtenAfter time: EpochMilliseconds, at now: EpochMilliseconds, limit: Int
    ) async throws(StorageError) -> [Schedule]

    /// Changes a schedule's times (`createdAt`, `lastAt`, `nextAt`, `dueAt` and `endsAt`) unless they have changed
    /// since it was found; returns whether it changed them.
    func redate(_ schedule: Schedule, to redated: Schedule) async throws(StorageError) -> Bool

    /// Counts the schedules of all secrets; counting stops at `limit`.
    func countSchedules(limit: Int) async throws(StorageError) -> Int
}
