import Storage

/// Limits of schedules, Live Activities, repeats and replies.
extension Bounds {
    // MARK: Rules of schedules

    /// The shortest time between two times of day of a recurrence, in minutes.
    static let scheduleMinutesMin = 15
    /// How far ahead a notification can be scheduled, in seconds: a leap year.
    static let scheduleSecondsMax = 366 * 86_400
    /// How far in the past `at` may be, in seconds, for clocks that differ a little.
    static let scheduleLateSecondsMax = 60
    /// Maximum times of day of a recurrence.
    static let scheduleTimesMax = 24
    /// The largest interval of a recurrence, by unit: about a year.
    static let scheduleHoursMax = 8_784
    static let scheduleDaysMax = 366
    static let scheduleWeeksMax = 53
    static let scheduleMonthsMax = 12
    /// Maximum days that are searched for the next occurrence.
    ///
    /// The longest wait is that from February 29, 2096 to the one in 2104, since 2100 isn't a leap year.
    static let scheduleSearchDaysMax = 9 * 366
    /// Maximum length of a schedule's name.
    static let scheduleNameBytesMax = 128
    /// How often a schedule in the devices' time zones, or in an unknown one, is looked at.
    static let scheduleZoneInterval: Duration = .seconds(3_600)
    /// The largest `RELAY_SCHEDULES_PER_SECRET_MAX`, and so the longest list of schedules.
    static let schedulesListedMax = 1_000
    /// Seconds within which an occurrence that was missed is still sent, unless the schedule says so itself.
    static let scheduleLateByDefault = 3_600
    /// The longest such time: for as long as the receipt of an `eventID` is kept.
    static let scheduleLateByMax = 86_400
    /// Seconds over which the start of an occurrence is spread, unless the schedule says so itself.
    static let scheduleWindowDefault = 30
    /// The longest such time.
    static let scheduleWindowMax = 3_600

    // MARK: Sending what is scheduled

    /// How often to look for schedules when nothing is known to become due, for those that other processes left.
    static let schedulePollInterval: Duration = .seconds(10)
    /// The minimum time between two polls, so that rows due at about the same time share a claim.
    static let scheduleLookPause: Duration = .milliseconds(20)
    /// The maximum pause after other processes took the rows of a claim.
    static let scheduleContentionPause: Duration = .milliseconds(250)
    /// Maximum occurrences that a process sends at once; as many more are claimed.
    static let schedulesInFlightMax = 32
    /// The maximum while the loop has more than ``schedulesBusyLoop`` pushes of new events in flight.
    static let schedulesInFlightMin = 2
    /// Pushes of new events in flight that make a loop busy.
    static let schedulesBusyLoop = 128
    /// How long a claimed schedule may wait to be sent.
    static let scheduleWaitMax: Duration = .seconds(10)
    /// How long nothing scheduled is sent after the clock was set forward by ``clockSkewMax`` or more.
    static let scheduleClockRest: Duration = .seconds(60)
    /// How often to look for schedules that another relay's clock wrote while it was ahead; that reads all schedules.
    static let scheduleClockCheckInterval: Duration = .seconds(3_600)
    /// How often a recurring schedule is looked at, in case its rule's times have changed.
    static let scheduleLookInterval: Duration = .seconds(6 * 3_600)
    /// By how much new zone data may move an occurrence to an earlier time without its being lost.
    static let scheduleShiftMax: Duration = .seconds(3 * 3_600)
    /// The shortest time that an occurrence may be late, whatever its schedule says.
    static let scheduleLateMin: Duration = .seconds(60)
    /// Missed occurrences that are counted one by one.
    static let scheduleStepsMax = 2_000
    /// Maximum events of a secret that are answered but not sent yet.
    static let asyncEventsPerSecretMax = 500
    /// `Retry-After` when a secret has that many.
    static let asyncRetryAfterSeconds = 5
    /// Maximum pushes of a secret that wait for the end of quiet hours.
    static let heldPushesPerSecretMax = 500
    /// How late such events and pushes may be sent.
    static let deferredLateBy: Duration = .seconds(3_600)
    /// The pause before an occurrence is tried again.
    static let scheduleRetrySeconds = 5
    /// The maximum of this pause, if a limit names a longer one.
    static let scheduleRetrySecondsMax = 60

    // MARK: Live Activities

    /// Maximum size of `contentState` as JSON.
    static let contentStateBytesMax = 3_500
    /// How long after its last registration an activity is forgotten: 8 hours that it lasts, and 4 on the lock screen.
    static let activityLifetime: Duration = .seconds(12 * 3_600)
    /// When a state counts as out of date.
    static let activityStaleTime: Duration = .seconds(120)
    /// How long an activity that has ended stays on the lock screen.
    static let activityDismissalTime: Duration = .seconds(900)
    /// How long APNs stores a progress.
    static let activityProgressTimeToLive: Duration = .seconds(60)
    /// How long APNs stores a start or a state that needs attention.
    static let activityTimeToLive: Duration = .seconds(600)
    /// How long an end is tried and stored: as long as the system may show an activity that is over.
    static let activityEndTimeToLive: Duration = .seconds(4 * 3_600)
    /// Maximum devices whose starts of activities are counted across registrations.
    static let activityStartDevicesMax = 10_000
    /// Maximum sessions whose newest state waits for its turn; states of further ones are dropped.
    static let activityStatesHeldMax = 10_000

    // MARK: Replies

    /// Maximum length of the action of a reply to an event.
    static let replyActionCountMax = StorageLimits.replyActionBytes
    /// Maximum actions that an event offers; iOS shows up to four.
    static let replyActionsMax = StorageLimits.replyActionsMax
    /// Maximum size of the text of a reply.
    static let replyTextBytesMax = StorageLimits.replyTextBytes
    /// Maximum length of the reason of a reply's outcome.
    static let replyReasonCountMax = StorageLimits.replyReasonBytes
    /// For how many seconds a sender waits for a reply unless it says how long.
    static let replyWaitSecondsDefault = 25
    /// The longest such wait: shorter than the minute after which proxies give up.
    static let replyWaitSecondsMax = 50
    /// Maximum concurrent waits of a secret.
    static let replyWaitsPerSecretMax = 16
    /// Maximum concurrent waits of a process, and so connections that aren't closed for others.
    static let replyWaitsMax = 1_024
    /// `Retry-After` of a wait beyond a secret's maximum.
    static let replyWaitRetryAfterSeconds = 5
    /// How old an outcome must be to be listed, so that none is added before a cursor: longer than relays take to write
    /// their log, and than well-kept clocks differ.
    static func outcomeSettleTime(databaseTimeout: Duration) -> Duration { databaseTimeout + .seconds(2) }
    /// Maximum waits for outcomes of a secret, each of which looks for them again and again.
    static let outcomeWaitsPerSecretMax = 2
    /// How often a wait for outcomes looks for them.
    static let outcomePollInterval: Duration = .seconds(2)
    /// The longest time for which an agent's question to its user is open, and the usual one, in seconds.
    static let questionSecondsMax = 600
    static let questionSecondsDefault = 300
    /// How long one call of the tool waits for an answer: shorter than the minute after which MCP clients give up.
    static let questionWait: Duration = .seconds(45)
    /// Maximum questions of a session within ``questionSecondsMax``.
    static let questionsPerSpanMax = 20
    /// Maximum size of a question and of each choice; all fit into a push, also if many characters are escaped.
    static let questionBytesMax = 600
    static let choiceBytesMax = 80
    /// Maximum choices of a question, each a button.
    static let choicesMax = 7
    /// How often to query for replies that arrived at other relays, while a client waits.
    static let replyPollInterval: Duration = .seconds(1)

    /// Maximum pushes per hour to one device of an app that remove notifications.
    ///
    /// Apple, "Pushing background updates to your app": not more than two or three background notifications an hour.
    static let clearsPerDevicePerHour = 3

    /// How often a push is repeated until it is acknowledged, in seconds.
    static let repeatSeconds = 60...900
    /// For how long, in seconds.
    static let repeatTotalSeconds = 60...10_800
    /// Maximum events of a secret that are being repeated.
    static let repeatedEventsPerSecretMax = 100
    /// `Retry-After` when a secret has that many.
    static let repeatRetryAfterSeconds = 60
}
