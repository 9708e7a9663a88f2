import Delays
import Storage

/// Every fixed limit of the relay, with its unit in its name or type.
///
/// The limits for sending, schedules, traces and the commands are in extensions.
enum Bounds {
    /// Maximum access tokens per secret.
    static let accessTokensMax = 50
    /// How often the time of an access token's last use is stored.
    static let accessTokenUseInterval: Duration = .seconds(60)
    /// Maximum access tokens per loop whose last stored use is remembered; beyond that, all are forgotten.
    static let accessTokenUsesMax = 1_024

    // MARK: Requests (docs/reference/api.md)

    /// Maximum size of a request body, in bytes.
    static let requestBodyBytesMax = 16 * 1024
    /// Maximum nesting depth of arrays and objects in a request body.
    static let requestJSONDepthMax = 16
    /// Maximum events per batch.
    static let batchEventsMax = 100
    /// Maximum size of a batch's body, in bytes; the proxies in `deploy` allow bodies of this size.
    static let batchBodyBytesMax = 64 * 1024
    /// Maximum notifications per request on Expo's path; the limit is Expo's own.
    static let expoNotificationsMax = 100
    /// Maximum receipt IDs per request on Expo's path; the limit is Expo's own.
    static let expoReceiptsMax = 1_000
    /// Maximum secrets whose delivery log one request for Expo receipts reads.
    static let expoReceiptTenantsMax = 100
    /// Maximum delivery log rows per secret that one request for Expo receipts reads.
    static let expoReceiptRowsMax = 1_000
    /// Delivery log rows per page that a request for Expo receipts reads.
    static let expoReceiptRowsPerPage = 50
    /// How long Expo's receipts are available.
    static let expoReceiptLifetime: Duration = .seconds(86_400)
    /// Maximum size of a secret, in bytes.
    static let secretBytesMax = 512
    /// Maximum device tokens per request from OpenChamber.
    static let openChamberTokensMax = 100
    /// How far the time of a signed OpenChamber request may differ from the relay's.
    static let signatureAgeMax: Duration = .seconds(300)
    /// Maximum size of identifiers such as `sessionID` and `serverID`, in bytes.
    static let identifierBytesMax = 255
    /// Maximum size of `eventID`, in bytes.
    static let eventIDBytesMax = 128
    /// Maximum size, in bytes, of each detail that a device reports about itself, such as its name.
    static let deviceDetailBytesMax = StorageLimits.deviceDetailBytes
    /// Maximum length of an installation's `deviceID`, in characters.
    static let installationCountMax = StorageLimits.installationIDBytes
    /// The highest badge number of a notification.
    static let badgeMax = 999_999
    /// The longest time to live of a notification, in seconds: 30 days, APNs' own maximum.
    static let timeToLiveSecondsMax = 30 * 86_400
    /// Maximum length of a sealed notification, in characters: what fits into a push with ordinary identifiers.
    static let sealedCountMax = 3_600
    /// The highest version of sealed notifications that a device can declare.
    static let sealedVersionMax = 255
    /// Maximum versions of sealed notifications that a device can declare.
    static let sealedVersionsMax = 8
    /// Maximum length of a notification's kind, in characters.
    static let kindCountMax = 32
    /// Maximum event types and kinds in a device's preferences.
    static let kindsMax = 64
    /// The longest time that one presence report (`/v1/presence`) may cover, in seconds.
    static let presenceSecondsMax = 300
    /// The minimum time between two log lines about the same unknown time zone.
    static let unknownZoneInterval: Duration = .seconds(3_600)
    /// Maximum unknown time zones logged within ``unknownZoneInterval``.
    static let unknownZonesMax = 20
    /// Maximum length of an accepted `X-Request-ID`, in characters.
    static let requestIDCountMax = 128

    /// Maximum addresses read from `X-Forwarded-For` and `Forwarded`, from the right.
    static let forwardedAddressesMax = 32
    /// Maximum requests per minute that change data through the admin listener.
    static let adminChangesPerMinute = 60

    /// Maximum length of a content coding that an error message repeats, in characters.
    static let contentCodingCountMax = 32
    /// Minimum length of text that is taken for a base64 device token, in characters: 16 bytes, encoded.
    static let base64TokenCountMin = 22

    // MARK: Registrations

    /// How long a registration challenge's code is valid.
    static let challengeLifetime: Duration = .seconds(600)
    /// Maximum registration challenges per hour for one device of an app.
    static let challengesPerDevicePerHour = 5
    /// Maximum registration challenges per minute for one client address.
    static let challengesPerAddressPerMinute = 60
    /// The allowed length of `RELAY_REGISTRATION_KEY`, in bytes.
    static let registrationKeyBytes = 32...512
    /// Maximum age of the device count when a new device registers under `RELAY_DEVICES_MAX`.
    static let deviceCountAgeMax: Duration = .seconds(5)
    /// The minimum pause after counting devices, as a multiple of the count's duration.
    static let deviceCountRest = 20

    /// Maximum installations whose last token change is remembered.
    static let installationChangesMax = 4_096
    /// The minimum time between two reports, in the log and metrics, of one installation that two devices share.
    static let contestedInstallationInterval: Duration = .seconds(3_600)

    // MARK: Agents

    /// The minimum time between two writes of a secret's last use by an agent.
    static let agentUseInterval: Duration = .seconds(30)
    /// Maximum secrets whose recent use is remembered; uses of all others aren't stored.
    static let agentUsesMax = 10_000
    /// Maximum secrets whose last use by an agent is stored in one transaction.
    static let agentUsesPerBatchMax = 64
    /// How long an agent counts as connected after it last used a secret.
    static let agentConnectedTime: Duration = .seconds(60)
    /// How long an agent counts as recent after it last used a secret.
    static let agentRecentTime: Duration = .seconds(300)

    // MARK: Events

    /// Maximum devices listed in the response to an event; the counts include all devices.
    ///
    /// Such a response fits into `StorageLimits.answerBytes`.
    static let deliveriesListedMax = 380
    /// Maximum size of a reason in a response, in bytes.
    static let reasonBytesMax = 64
    /// Maximum storage calls of a claimed event that may each take their full timeout.
    ///
    /// The calls are: claim, store and confirm the pushes, look up moved devices, store and confirm their pushes,
    /// store the response.
    static let storageCallsPerEventMax = 7
    /// How much longer than `RELAY_EVENT_DEADLINE` an event's receipt is leased: time for its storage calls and
    /// clock skew.
    static func claimLeaseMargin(databaseTimeout: Duration) -> Duration {
        clockSkewMax + databaseTimeout * storageCallsPerEventMax
    }
    /// `Retry-After`, in seconds, for an event that another request is still processing.
    static let claimRetryAfterSeconds = 10
    /// How much longer than `RELAY_EVENT_DEADLINE` a request waits for another request's response to the same event.
    static let claimWaitMargin: Duration = .milliseconds(1_500)
    /// The delays when polling an event that another request is processing.
    static let claimPollBackOff = BackOff(from: .milliseconds(50), to: .seconds(1))

    // MARK: Metrics

    /// Maximum apps named in metrics; further ones count as `other`.
    static let metricsAppsMax = 100
    /// How long an event loop may take to report its counters.
    static let loopReportDeadline: Duration = .seconds(3)
    /// How long the readiness checks may take during a scrape; after that the database counts as unavailable.
    static let scrapeReadinessDeadline: Duration = .seconds(2)
    /// Maximum connections of the admin listener.
    static let adminConnectionsMax = 32
    /// How long the admin listener's responses may take once the relay has stopped.
    static let adminClosingDeadline: Duration = .milliseconds(200)

    /// The time between two samples of the console's charts.
    static let consoleInterval: Duration = .seconds(10)
    /// Maximum samples kept for the console's charts: an hour's worth.
    static let consoleSamplesMax = 360

    /// Maximum rows in one of the console's lists, such as the queue.
    static let consoleRowsMax = 50
    /// Maximum rows per tenant that the console searches for a push.
    static let consoleRowsSearchedMax = 1_000
    /// Maximum tenants that the console searches for a push if the operator specifies none.
    static let consoleTenantsSearchedMax = 20
    /// Maximum tenants with recent requests that each event loop remembers.
    static let recentTenantsMax = 100

    /// Maximum path length of a Unix socket, in bytes: the system allows 107, but the temporary name is longer.
    static let unixPathBytesMax = 103

    // MARK: Blocked secrets

    /// How often a relay reads the list of blocked secrets.
    static let blocksReadInterval: Duration = .seconds(2)
    /// Maximum blocks under legacy hashes that are moved after one read.
    static let blocksMovedPerRound = 64

    // MARK: Maintenance

    /// The pause between two rounds of removing expired data, and the maximum duration of a round.
    static let upkeepInterval: Duration = .seconds(600)
    /// The pause between two maintenance steps over devices and locks.
    static let upkeepPause: Duration = .milliseconds(50)
    /// Maximum number of devices, or of secrets' locks, that one maintenance step examines.
    static let deviceUpkeepRowsPerStep = 1_000
    /// Maximum maintenance steps over devices and locks per round: 2.8 million rows a day if few locks must be removed.
    static let deviceUpkeepSteps = 20
    /// Maintenance rounds to wait after startup, or after the clock was set, before removing devices: an hour's worth.
    static let deviceUpkeepRoundsToWait = 6
    /// The largest `RELAY_DEVICE_DAYS`, in days.
    static let deviceDaysMax = 36_500

    // MARK: Startup and shutdown

    /// The delays between attempts to reach a database server that is down at startup.
    static let databaseStartBackOff = BackOff(from: .milliseconds(250), to: .seconds(2))

    /// How long startup waits for another relay to release a SQLite file.
    static let databaseFileDeadline: Duration = .seconds(5)

    /// Maximum problems in a reloaded apps file that are logged individually.
    static let problemsLoggedMax = 20

    /// Time after `RELAY_SHUTDOWN_DEADLINE` to flush the delivery log and close the database; then the process exits.
    static let closingDeadline: Duration = .seconds(5)
    /// How long each idle connection to APNs may take to close cleanly.
    static let apnsClosingDeadline: Duration = .milliseconds(500)

    /// How long APNs may take to respond to pushes sent with a key that a reload of the apps file removed.
    static let apnsLeavingDeadline: Duration = .seconds(3)

    /// Maximum event loops unless `RELAY_LOOPS` is set.
    static let loopsDefaultMax = 8
    /// Maximum size of a file named by a `…_FILE` setting, in bytes.
    static let settingFileBytesMax = 256 * 1024
    /// File descriptors reserved for databases, connections to APNs and event loops.
    static let fileDescriptorsReserved = 256
    /// How long `/ready` reuses a result.
    static let readinessCacheTime: Duration = .seconds(1)
    /// How long the result of a test write to the database remains valid.
    ///
    /// Without requests to `/ready`, no test is made as long as the last one succeeded.
    static let writeTrialInterval: Duration = .seconds(5)
    /// How long `/ready` reports a rejection of the credentials that hasn't recurred.
    static let apnsFaultMemory: Duration = .seconds(300)
    /// How long storing the response to an event with an `eventID` is retried after the caller has received it.
    static let receiptRetryTime: Duration = .seconds(600)
    /// The delays between attempts to store the response to an event with an `eventID`.
    static let receiptBackOff = BackOff(from: .milliseconds(100), to: .seconds(5))
    /// Maximum responses per loop waiting to be stored, each at most `StorageLimits.answerBytes`.
    ///
    /// Further ones are dropped after their first attempt.
    static let receiptsRetriedMax = 200
}
