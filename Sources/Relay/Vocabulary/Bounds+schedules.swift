import Storage

/// Limits for schedules, Live Activities, repeats and replies.
extension Bounds {
    // MARK: Rules of schedules

    /// The minimum interval between two times of day in a recurrence, in minutes.
    static let scheduleMinutesMin = 15
    /// How far ahead a notification can be scheduled, in seconds: a leap year.
    static let scheduleSecondsMax = 366 * 86_400
    /// How far in the past a schedule's `at` may be, in seconds, to allow for clock skew.
    static let scheduleLateSecondsMax = 60
    /// Maximum times of day per recurrence.
    static let scheduleTimesMax = 24
    /// The longest interval of an hourly recurrence, in hours: a leap year.
    static let scheduleHoursMax = 8_784
    /// The longest interval of a daily recurrence, in days: a leap year.
    static let scheduleDaysMax = 366
    /// The longest interval of a weekly recurrence, in weeks: about a year.
    static let scheduleWeeksMax = 53
    /// The longest interval of a monthly recurrence, in months: a year.
    static let scheduleMonthsMax = 12
    /// Maximum days searched for the next occurrence.
    ///
    /// The longest wait is from February 29, 2096 to February 29, 2104, since 2100 isn't a leap year.
    static let scheduleSearchDaysMax = 9 * 366
    /// Maximum size of a schedule's name, in bytes.
    static let scheduleNameBytesMax = 128
    /// How often a schedule in the devices' time zones, or in an unknown time zone, is re-evaluated.
    static let scheduleZoneInterval: Duration = .seconds(3_600)
    /// The largest `RELAY_SCHEDULES_PER_SECRET_MAX`, and so the maximum number of schedules in a list.
    static let schedulesListedMax = 1_000
    /// The default `lateBy` of a schedule: how long a missed occurrence is still sent, in seconds.
    static let scheduleLateByDefault = 3_600
    /// The largest `lateBy` of a schedule, in seconds: as long as the receipt of an `eventID` is kept.
    static let scheduleLateByMax = 86_400
    /// The default `window` of a schedule: the time over which an occurrence's start is spread, in seconds.
    static let scheduleWindowDefault = 30
    /// The largest `window` of a schedule, in seconds.
    static let scheduleWindowMax = 3_600

    // MARK: Sending what is scheduled

    /// How often to look for schedules left by other processes while nothing is known to become due.
    static let schedulePollInterval: Duration = .seconds(10)
    /// The minimum time between two polls for schedules, so that rows due at about the same time share a claim.
    static let scheduleLookPause: Duration = .milliseconds(20)
    /// The maximum pause after other processes claimed the same schedules first.
    static let scheduleContentionPause: Duration = .milliseconds(250)
    /// Maximum occurrences that a process sends at once; as many again are claimed in advance.
    static let schedulesInFlightMax = 32
    /// Maximum occurrences sent at once while the loop is busy, as defined by ``schedulesBusyLoop``.
    static let schedulesInFlightMin = 2
    /// Pushes of new events in flight above which a loop counts as busy.
    static let schedulesBusyLoop = 128
    /// How long a claimed schedule may wait to be sent.
    static let scheduleWaitMax: Duration = .seconds(10)
    /// How long scheduled sends pause after the clock is set forward by ``clockSkewMax`` or more.
    static let scheduleClockRest: Duration = .seconds(60)
    /// How often to look for schedules written by a relay whose clock was ahead; each look reads all schedules.
    static let scheduleClockCheckInterval: Duration = .seconds(3_600)
    /// How often a recurring schedule is re-evaluated, in case its rule's times have changed.
    static let scheduleLookInterval: Duration = .seconds(6 * 3_600)
    /// How much earlier new time zone data may make an occurrence without losing it.
    static let scheduleShiftMax: Duration = .seconds(3 * 3_600)
    /// How late every occurrence may be sent, even if its schedule's `lateBy` is shorter.
    static let scheduleLateMin: Duration = .seconds(60)
    /// Maximum missed occurrences that are counted one by one.
    static let scheduleStepsMax = 2_000
    /// Maximum asynchronous events per secret that are accepted but not sent yet.
    static let asyncEventsPerSecretMax = 500
    /// `Retry-After`, in seconds, when a secret has ``asyncEventsPerSecretMax`` unsent events.
    static let asyncRetryAfterSeconds = 5
    /// Maximum pushes per secret that wait for the end of quiet hours.
    static let heldPushesPerSecretMax = 500
    /// How late asynchronous events, and pushes deferred until quiet hours end, may be sent.
    static let deferredLateBy: Duration = .seconds(3_600)
    /// The pause before an occurrence is tried again, in seconds.
    static let scheduleRetrySeconds = 5
    /// The longest pause before an occurrence is tried again, in seconds, even if a limit asks for more.
    static let scheduleRetrySecondsMax = 60

    // MARK: Live Activities

    /// Maximum size of `contentState` as JSON, in bytes.
    static let contentStateBytesMax = 3_500
    /// How long after its last registration an activity is forgotten: 8 hours of activity plus 4 on the lock screen.
    static let activityLifetime: Duration = .seconds(12 * 3_600)
    /// The age at which a state counts as out of date.
    static let activityStaleTime: Duration = .seconds(120)
    /// How long an ended activity stays on the lock screen.
    static let activityDismissalTime: Duration = .seconds(900)
    /// How long APNs stores a progress update.
    static let activityProgressTimeToLive: Duration = .seconds(60)
    /// How long APNs stores a start or a state that needs attention.
    static let activityTimeToLive: Duration = .seconds(600)
    /// How long an activity's end is retried and stored: as long as the system may show an ended activity.
    static let activityEndTimeToLive: Duration = .seconds(4 * 3_600)
    /// Maximum devices whose activity starts are counted across registrations.
    static let activityStartDevicesMax = 10_000
    /// Maximum sessions whose newest state is waiting for its turn; states of all other sessions are dropped.
    static let activityStatesHeldMax = 10_000

    // MARK: Replies

    /// Maximum length of a reply's action, in characters.
    static let replyActionCountMax = StorageLimits.replyActionBytes
    /// Maximum actions per event; iOS shows up to four.
    static let replyActionsMax = StorageLimits.replyActionsMax
    /// Maximum size of a reply's text, in bytes.
    static let replyTextBytesMax = StorageLimits.replyTextBytes
    /// Maximum length of the reason for a reply's outcome, in characters.
    static let replyReasonCountMax = StorageLimits.replyReasonBytes
    /// The default time for which a sender waits for a reply, in seconds.
    static let replyWaitSecondsDefault = 25
    /// The longest wait for a reply, in seconds: shorter than the minute after which proxies give up.
    static let replyWaitSecondsMax = 50
    /// Maximum concurrent waits for replies and results per secret.
    static let replyWaitsPerSecretMax = 16
    /// Maximum concurrent waits of all kinds per process, and thus the maximum number of connections that aren't closed
    /// to make room.
    static let replyWaitsMax = 1_024
    /// `Retry-After`, in seconds, for a wait beyond a secret's maximum.
    static let replyWaitRetryAfterSeconds = 5
    /// How old an outcome must be to be listed, so that none is added before a cursor.
    ///
    /// It exceeds the time that relays take to write their log and the skew between well-kept clocks.
    static func outcomeSettleTime(databaseTimeout: Duration) -> Duration { databaseTimeout + .seconds(2) }
    /// Maximum concurrent waits for outcomes per secret; each one polls the database.
    static let outcomeWaitsPerSecretMax = 2
    /// How often a wait for outcomes polls the database.
    static let outcomePollInterval: Duration = .seconds(2)
    /// The longest time for which an agent's question to its user stays open, in seconds.
    static let questionSecondsMax = 600
    /// The default time for which an agent's question to its user stays open, in seconds.
    static let questionSecondsDefault = 300
    /// How long one call of the question tool waits for an answer: shorter than MCP clients' timeout of a minute.
    static let questionWait: Duration = .seconds(45)
    /// Maximum questions per session within ``questionSecondsMax`` seconds.
    static let questionsPerSpanMax = 20
    /// Maximum size of a question, in bytes; it fits into a push with its choices even if many characters are escaped.
    static let questionBytesMax = 600
    /// Maximum size of a question's title and of each of its choices, in bytes.
    static let choiceBytesMax = 80
    /// Maximum choices per question; each is a button.
    static let choicesMax = 7
    /// How often to query for replies that arrived at other relays while a client is waiting.
    static let replyPollInterval: Duration = .seconds(1)

    /// Maximum pushes per hour that remove notifications from one of an app's devices.
    ///
    /// Apple's "Pushing background updates to your app" advises at most two or three background notifications per hour.
    static let clearsPerDevicePerHour = 3

    /// The allowed intervals at which a push is repeated until it is acknowledged, in seconds.
    static let repeatSeconds = 60...900
    /// The allowed total times for which a push is repeated, in seconds.
    static let repeatTotalSeconds = 60...10_800
    /// Maximum events per secret that are being repeated.
    static let repeatedEventsPerSecretMax = 100
    /// `Retry-After`, in seconds, when a secret has ``repeatedEventsPerSecretMax`` repeating events.
    static let repeatRetryAfterSeconds = 60
}
