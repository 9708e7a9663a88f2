import Storage

/// Every fixed limit of the relay, with its unit in its name.
enum Bounds {
    // MARK: Requests (docs/API.md)

    /// Maximum size of a request body.
    static let requestBodyBytesMax = 16 * 1024
    /// Maximum nesting of arrays and objects in a request body; the known fields need 1.
    static let requestJSONDepthMax = 16
    /// Maximum size of a secret.
    static let secretBytesMax = 512
    /// Maximum size of `sessionID` and `serverID`.
    static let identifierBytesMax = 255
    /// Maximum size of `eventID`.
    static let eventIDBytesMax = 128
    /// Maximum size of each text that a device sends about itself.
    static let deviceDetailBytesMax = StorageLimits.deviceDetailBytes
    /// Maximum length of an app's name for its installation, `deviceID`.
    static let installationCountMax = StorageLimits.installationIDBytes
    /// The largest badge of a notification.
    static let badgeMax = 999_999
    /// The longest time to live of a notification, in seconds: 30 days, APNs' own maximum.
    static let timeToLiveSecondsMax = 30 * 86_400
    /// Maximum length of a sealed notification, in characters: what fits with ordinary identifiers.
    static let sealedCountMax = 3_600
    /// The highest version of sealed notifications that a device can name.
    static let sealedVersionMax = 255
    /// Maximum versions that a device can name.
    static let sealedVersionsMax = 8
    /// Maximum length of a notification's kind.
    static let kindCountMax = 32
    /// Maximum event types and kinds in a device's preferences.
    static let kindsMax = 64
    /// Maximum length of an accepted `X-Request-ID`.
    static let requestIDCountMax = 128

    /// Maximum addresses read from `X-Forwarded-For` and `Forwarded`, from the right.
    static let forwardedAddressesMax = 32
    /// Maximum requests per minute that change data through the admin listener.
    static let adminChangesPerMinute = 60

    // MARK: Registrations

    /// How long a registration challenge's code is valid.
    static let challengeLifetime: Duration = .seconds(600)
    /// Maximum registration challenges per hour for one device of an app.
    static let challengesPerDevicePerHour = 5
    /// Maximum registration challenges per minute for one client address.
    static let challengesPerAddressPerMinute = 60
    /// The allowed length of `RELAY_REGISTRATION_KEY`.
    static let registrationKeyBytes = 32...512
    /// Maximum age of the device count when a new device registers under `RELAY_DEVICES_MAX`.
    static let deviceCountAgeMax: Duration = .seconds(5)
    /// The minimum pause after counting devices, as a multiple of the time that the count took.
    static let deviceCountRest = 20

    // MARK: Agents

    /// The minimum time between two writes of a secret's last use by an agent.
    static let agentUseInterval: Duration = .seconds(30)
    /// Maximum secrets whose recent use is remembered; uses of further ones aren't stored.
    static let agentUsesMax = 10_000
    /// Maximum last uses in one transaction.
    static let agentUsesPerBatchMax = 64
    /// For how long after its last use an agent counts as connected.
    static let agentConnectedTime: Duration = .seconds(60)
    /// For how long after its last use an agent counts as recent.
    static let agentRecentTime: Duration = .seconds(300)

    // MARK: Events

    /// Maximum devices listed in the response to an event; the counts include all.
    ///
    /// Such a response fits into `StorageLimits.answerBytes`.
    static let deliveriesListedMax = 380
    /// Maximum size of a reason in a response.
    static let reasonBytesMax = 64
    /// Maximum storage calls of a claimed event that may each take their full timeout.
    ///
    /// These are: claim, store and confirm the pushes, look up moved devices, store and confirm their pushes,
    /// store the response.
    static let storageCallsPerEventMax = 7
    /// How much longer than `RELAY_EVENT_DEADLINE` an event's receipt is leased: time for its storage calls and
    /// clock skew.
    static func claimLeaseMargin(databaseTimeout: Duration) -> Duration {
        clockSkewMax + databaseTimeout * storageCallsPerEventMax
    }
    /// `Retry-After` of an event that another request is still processing.
    static let claimRetryAfterSeconds = 10
    /// How far beyond `RELAY_EVENT_DEADLINE` a request waits for another's response; at most half of that deadline.
    static let claimWaitMargin: Duration = .milliseconds(1_500)
    /// The first delay when polling an event that another request is processing; it doubles each time.
    static let claimPollIntervalMin: Duration = .milliseconds(50)
    /// The maximum of these delays.
    static let claimPollIntervalMax: Duration = .seconds(1)

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
    /// Maximum sessions whose newest state waits for its turn; states of further ones are dropped.
    static let activityStatesHeldMax = 10_000

    // MARK: Retry queue

    /// Maximum clock skew between relays that share a database.
    static let clockSkewMax: Duration = .seconds(60)
    /// How often to look for due times that a fast clock set too late.
    static let dueCheckInterval: Duration = .seconds(60)
    /// Maximum such pushes made due in one transaction.
    static let dueCheckRowsPerStep = 500
    /// How long after the clock was set forward earlier pushes get their expiry extended by that step.
    static let clockStepMemory: Duration = .seconds(3_600)
    /// Maximum leases renewed when the clock is set forward; pushes of further leases may be sent twice.
    static let leasesRenewedMax = 50_000
    /// How long a destination that rejects the provider token rests before one stored push probes it.
    static let tokenRefusedRest: Duration = .seconds(1)
    /// The part of an event's time reserved for storing pushes without an outcome; at most a tenth of it.
    static let enqueueReserve: Duration = .milliseconds(500)
    /// Maximum stored pushes in flight while there is nothing else to send; half of them to one destination alone.
    static let retriesInFlightMax = 1_024
    /// Stored pushes in flight until a destination has accepted most of them.
    static let retriesInFlightFirst = 64
    /// Maximum stored pushes in one claim.
    static let retriesPerClaimMax = StorageLimits.claimWindow
    /// Minimum stored pushes in flight per destination (a key's connections to one environment), regardless of
    /// new events.
    static let retriesPerPlaceMin = 8
    /// The minimum batch worth claiming for a destination, even if fewer may be in flight: each claim has a fixed cost.
    static let retriesClaimedMin = 32
    /// How long claims stay narrow after one that scanned past all backlogs, as a multiple of the time that it took.
    static let wideClaimRest = 9
    /// The maximum of that time, by which pushes behind a backlog are delayed.
    static let wideClaimRestMax: Duration = .seconds(2)
    /// How long a destination's reduced window is remembered.
    static let retryWindowMemory: Duration = .seconds(60)
    /// How long a destination without free slots may be silent before its waiting pushes make room for others.
    static let retryStallTime: Duration = .seconds(2)
    /// Extra time for sending a stored push besides APNs' responses: storage calls and a busy machine.
    static let retryWorkMargin: Duration = .seconds(5)
    /// How long a claimed push may wait to be sent.
    static let retryWaitMax: Duration = .seconds(5)
    /// How often to poll the queue when nothing is known to become due, for pushes that other processes left.
    static let retryPollInterval: Duration = .seconds(5)
    /// The minimum pause after measuring the queue, as a multiple of the time that it took.
    static let queueMeasureRest = 20
    /// The minimum time between two polls, so that pushes due together are claimed together.
    static let retryLookPause: Duration = .milliseconds(20)
    /// Maximum unwritten ends of stored pushes, about a kilobyte each.
    ///
    /// Further ends are lost, and their pushes are sent again.
    static let settlementsWaitingMax = 50_000
    /// Unwritten ends above which no stored push is claimed.
    ///
    /// This keeps leases from expiring before their pushes' ends are written.
    static let settlementsUnwrittenMax = 2_048
    /// Maximum ends of stored pushes in one transaction; reduced after one took too long.
    static let settlementsPerBatchMax = 256
    /// How long ends of stored pushes are collected for one transaction.
    static let settlementsGatherTime: Duration = .milliseconds(20)
    /// The first delay before writing ends is retried; it doubles each time.
    static let settlementsRetryDelayMin: Duration = .milliseconds(250)
    /// The maximum of these delays.
    static let settlementsRetryDelayMax: Duration = .seconds(2)
    /// Maximum attempts to write a batch of ends during shutdown.
    static let settlementsAttemptsAtEnd = 3
    /// Timeouts since a batch was last written with its log rows, after which batches are written without them.
    ///
    /// It exceeds the number of steps that halve a full batch down to one end.
    static let settlementsLoggedTimeoutsMax = 10
    /// Consecutive refusals after which the database is assumed to refuse every end.
    ///
    /// It exceeds the number of steps that find one bad end in a full batch.
    static let settlementsRefusedInRowMax = 16
    /// The delay before refused ends are retried.
    static let settlementsRefusedPause: Duration = .seconds(10)
    /// Refusals that end a round of these retries; the remaining ends wait for the next round.
    static let settlementsRefusedPerRound = 16
    /// Maximum remembered ends that came too late because another process had claimed the row.
    static let settlementsRememberedMax = 1_024
    /// The first delay before unconfirmed pushes are stored again; it doubles each time.
    static let enqueueRetryDelayMin: Duration = .milliseconds(100)
    /// The maximum of these delays.
    static let enqueueRetryDelayMax: Duration = .seconds(1)

    // MARK: Schedules

    /// How often to look for schedules when nothing is known to become due, for those that other processes left.
    static let schedulePollInterval: Duration = .seconds(10)
    /// The minimum time between two looks, so that what is due together is claimed together.
    static let scheduleLookPause: Duration = .milliseconds(20)
    /// The maximum pause after other processes took what a claim wanted.
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
    /// How often a recurring schedule is looked at, in case its rule's times have changed.
    static let scheduleLookInterval: Duration = .seconds(6 * 3_600)
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

    // MARK: Metrics

    /// Maximum apps named in metrics; further ones count as `other`.
    static let metricsAppsMax = 100
    /// How long an event loop may take to report its counters.
    static let loopReportDeadline: Duration = .seconds(3)
    /// How long the readiness checks may take in a scrape; after that the database counts as unavailable.
    static let scrapeReadinessDeadline: Duration = .seconds(2)
    /// Maximum connections of the admin listener.
    static let adminConnectionsMax = 32
    /// How long its responses may take once the relay has stopped.
    static let adminClosingDeadline: Duration = .milliseconds(200)

    /// Maximum path length of its Unix socket: the system allows 107, and the relay creates it under a longer name.
    static let unixPathBytesMax = 103

    // MARK: Logs

    /// Maximum log lines waiting to be written; further ones are dropped and counted.
    static let logEventsWaitingMax = 8192
    /// How long log lines are collected for one write.
    static let logGatherTime: Duration = .milliseconds(20)
    /// Maximum individually logged refusals of one kind per interval; further ones are summarised.
    static let refusalLinesPerKind = 20
    /// Maximum individually logged refusals of all kinds per interval.
    static let refusalLinesMax = 100
    /// The interval after which refusals are summarised.
    static let refusalSummaryInterval: Duration = .seconds(60)
    /// Maximum delivery log rows waiting to be written; further ones are dropped and counted.
    static let deliveriesWaitingMax = 40_000
    /// As many waiting rows delay responses, so that load slows down before rows are dropped.
    static let deliveriesCrowded = 30_000
    /// The longest such delay.
    static let deliveriesDelayMax: Duration = .seconds(2)
    /// The first interval in which a delayed response looks for room; it doubles each time.
    static let deliveriesDelayStepMin: Duration = .milliseconds(5)
    /// The maximum of these intervals.
    static let deliveriesDelayStepMax: Duration = .milliseconds(80)
    /// Maximum delivery log rows in one transaction.
    static let deliveriesPerBatchMax = 2_000
    /// The first delay before writing them is retried; it doubles each time.
    static let deliveriesRetryDelayMin: Duration = .milliseconds(500)
    /// The maximum of these delays.
    static let deliveriesRetryDelayMax: Duration = .seconds(5)
    /// How long delivery log rows are collected for one transaction.
    static let deliveriesGatherTime: Duration = .milliseconds(200)
    /// Consecutive refusals after which the rest of a batch is dropped.
    ///
    /// It exceeds the number of steps that find one bad row in a full batch.
    static let deliveriesRefusedInRowMax = 16

    // MARK: History

    /// Items that a secret's history keeps; the oldest are removed.
    static let historyItemsMax = StorageLimits.historyItemsMax
    /// How long items of a history can be kept, in days.
    static let historyDaysMax = 3_650
    /// Items in a page of a history.
    static let historyPageItemsDefault = 50
    /// Maximum items in a page of a history.
    static let historyPageItemsMax = 100
    /// Maximum size of a page's texts before JSON escapes them; a page has at least one item.
    static let historyPageBytesMax = 128 * 1024
    /// Maximum items that one request marks as read.
    static let historyReadIDsMax = 100
    /// Maximum items waiting to be stored; further ones are dropped and counted.
    static let historyWaitingMax = 2_048
    /// Maximum items in one transaction.
    static let historyPerBatchMax = 256
    /// How long an event's pushes wait until its item is stored; at most half of the event's time.
    static let historyWaitMax: Duration = .seconds(2)

    // MARK: Replies

    /// Maximum length of what a person chose in reply to an event.
    static let replyActionCountMax = StorageLimits.replyActionBytes
    /// Maximum size of what a person typed.
    static let replyTextBytesMax = StorageLimits.replyTextBytes
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
    /// How often to look for replies that arrived at other relays, while somebody waits.
    static let replyPollInterval: Duration = .seconds(1)

    /// How often a push is repeated until it is acknowledged, in seconds.
    static let repeatSeconds = 60...900
    /// For how long, in seconds.
    static let repeatTotalSeconds = 60...10_800
    /// Maximum events of a secret that are being repeated.
    static let repeatedEventsPerSecretMax = 100
    /// `Retry-After` when a secret has that many.
    static let repeatRetryAfterSeconds = 60

    // MARK: Frequency

    /// The highest number of pushes in an hour or a day that a device can ask for.
    static let frequencyMax = 1_000
    /// How long a count of pushes to a secret's devices is used; other relays' pushes are missing from it meanwhile.
    static let frequencyCountAgeMax: Duration = .seconds(5)
    /// Maximum secrets whose counts are remembered.
    static let frequencySecretsMax = 1_000

    // MARK: Blocked secrets

    /// How often a relay reads the list of blocked secrets.
    static let blocksReadInterval: Duration = .seconds(2)
    /// Maximum blocks under legacy hashes that are moved after one read.
    static let blocksMovedPerRound = 64

    // MARK: Maintenance

    /// The pause between two rounds of removing expired data, and the longest time of a round.
    static let upkeepInterval: Duration = .seconds(600)
    /// The pause between two steps over devices and locks.
    static let upkeepPause: Duration = .milliseconds(50)
    /// Devices, or locks of secrets, that one step looks at.
    static let deviceUpkeepRowsPerStep = 1_000
    /// Maximum steps over devices and locks in one round: 2.8 million rows a day.
    static let deviceUpkeepSteps = 20
    /// Rounds after the start, or after the clock was set, before devices are removed: an hour.
    static let deviceUpkeepRoundsToWait = 6
    /// The longest time that a device can be told to go without registering, in days.
    static let deviceDaysMax = 36_500

    // MARK: relay health

    /// Timeout of the whole request: connecting, TLS, and the first bytes of the response.
    static let healthDeadline: Duration = .seconds(3)

    // MARK: relay check

    /// Timeout of all checks; those without a result by then are reported as too slow.
    static let checkDeadline: Duration = .seconds(60)
    /// Timeout of each step (a connection, a push, a database call), unless a setting is shorter.
    static let checkStepDeadline: Duration = .seconds(10)
    /// Maximum keys tested in each environment.
    static let checkKeysMax = 20
    /// Maximum bundle IDs tested with each key.
    static let checkTopicsMax = 20
    /// Maximum devices of a secret that are listed and sent a push.
    static let checkDevicesMax = 50
    /// Clock skew that causes a warning.
    static let checkClockSkewNoticed: Duration = .seconds(30)
    /// Clock skew that counts as a failure.
    static let checkClockSkewMax: Duration = .seconds(300)
    /// Minimum free bytes on a file's disk.
    static let checkDiskBytesMin: Int64 = 16 * 1_048_576
    /// Free bytes below which there is a warning.
    static let checkDiskBytesNoticed: Int64 = 512 * 1_048_576
    /// Days before a certificate's expiry from which there is a warning.
    static let checkCertificateDaysNoticed: Int64 = 21

    // MARK: relay send

    /// Timeout from resolving the relay's name to the end of its response; exceeds the longest event.
    static let sendDeadline: Duration = .seconds(320)
    /// Maximum size of a relay's response that a command reads.
    static let commandAnswerBytesMax = 1 << 20

    // MARK: Commands for people

    /// Maximum connections of a command to a database server.
    static let commandConnectionsMax = 2
    /// The default number of rows shown.
    static let rowsShownDefault = 50
    /// The maximum number of rows shown.
    static let rowsShownMax = 10_000
    /// How often a followed log is polled.
    static let followInterval: Duration = .seconds(1)
    /// Maximum pages of new rows in one poll; further rows are skipped.
    static let followPagesMax = 20
    /// The default number of days counted.
    static let statsDaysDefault = 7
    /// The maximum number of days counted.
    static let statsDaysMax = 400
    /// Delivery log rows counted per statement.
    static let statsRowsPerStep = 10_000
    /// Maximum different reasons counted per day; further ones are counted together.
    static let statsReasonsMax = 100
    /// Maximum reasons shown in a day's line.
    static let statsReasonsShown = 3
    /// Maximum hashes listed if a prefix matches several.
    static let hashCandidatesMax = 10
    /// Secrets read per statement.
    static let tenantsPerStep = 1_000
    /// Maximum queued pushes counted; a higher number is reported as at least this many.
    static let waitingCountedMax = 1_000_000
    /// How long a command waits for a SQLite file's write lock before it turns to the running relay.
    static let commandLockTimeout: Duration = .milliseconds(300)
    /// Rows of each table removed per transaction when a secret is revoked.
    static let revokeRowsPerStep = 500
    /// Timeout of a change that a command requests from the running relay.
    static let relayChangeDeadline: Duration = .seconds(60)
    /// How often a terminal prompt checks for signals.
    static let promptSignalInterval: Duration = .milliseconds(100)

    // MARK: Startup and shutdown

    /// The first delay before retrying a database server that is down at startup; it doubles each time.
    static let databaseStartDelayMin: Duration = .milliseconds(250)
    /// The maximum of these delays.
    static let databaseStartDelayMax: Duration = .seconds(2)

    /// How long startup waits for another relay to release a SQLite file.
    static let databaseFileDeadline: Duration = .seconds(5)

    /// Maximum problems of a reloaded apps file that are logged individually.
    static let problemsLoggedMax = 20

    /// Time after `RELAY_SHUTDOWN_DEADLINE` to flush the delivery log and close the database; then the process exits.
    static let closingDeadline: Duration = .seconds(5)
    /// How long each idle connection to APNs may take to close cleanly.
    static let apnsClosingDeadline: Duration = .milliseconds(500)

    /// How long pushes of a key removed by a reload of the apps file may take to be answered.
    static let apnsLeavingDeadline: Duration = .seconds(3)

    /// Maximum event loops unless `RELAY_LOOPS` is set.
    static let loopsDefaultMax = 8
    /// Maximum size of a file named by a `…_FILE` setting.
    static let settingFileBytesMax = 256 * 1024
    /// File descriptors reserved for databases, connections to APNs and event loops.
    static let fileDescriptorsReserved = 256
    /// How long `/ready` reuses a result.
    static let readinessCacheTime: Duration = .seconds(1)
    /// How long a test write to the database counts.
    ///
    /// Without requests to `/ready`, no test is made while the last one succeeded.
    static let writeTrialInterval: Duration = .seconds(5)
    /// How long `/ready` reports a rejection of the credentials that hasn't recurred.
    static let apnsFaultMemory: Duration = .seconds(300)
    /// How long storing the response to an event with an `eventID` is retried after the caller has it.
    static let receiptRetryTime: Duration = .seconds(600)
    /// The first delay between these attempts; it doubles each time.
    static let receiptRetryDelayMin: Duration = .milliseconds(100)
    /// The maximum of these delays.
    static let receiptRetryDelayMax: Duration = .seconds(5)
    /// Maximum responses of one loop waiting to be stored, each at most `StorageLimits.answerBytes`.
    ///
    /// Further ones are dropped after their first attempt.
    static let receiptsRetriedMax = 200
}
