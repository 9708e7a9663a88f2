import Delays
import Storage

/// Every fixed limit of the relay, with its unit in its name.
///
/// Those of sending, of schedules and of the commands are in extensions.
enum Bounds {
    /// Maximum access tokens of a secret.
    static let accessTokensMax = 50
    /// How often the time of an access token's last use is stored.
    static let accessTokenUseInterval: Duration = .seconds(60)
    /// Maximum access tokens per loop for which that is known; then all are forgotten.
    static let accessTokenUsesMax = 1_024

    // MARK: Requests (docs/reference/api.md)

    /// Maximum size of a request body.
    static let requestBodyBytesMax = 16 * 1024
    /// Maximum nesting of arrays and objects in a request body; the known fields need 1.
    static let requestJSONDepthMax = 16
    /// Maximum events of a batch.
    static let batchEventsMax = 100
    /// Maximum size of a batch's body, which the proxies in `deploy` let pass.
    static let batchBodyBytesMax = 64 * 1024
    /// Maximum notifications of a request at Expo's path, and maximum IDs of receipts: Expo's own limits.
    static let expoNotificationsMax = 100
    static let expoReceiptsMax = 1_000
    /// Maximum secrets whose delivery log a request for receipts reads, and the rows of each, page by page.
    static let expoReceiptTenantsMax = 100
    static let expoReceiptRowsMax = 1_000
    static let expoReceiptRowsPerPage = 50
    /// How long Expo's receipts are available.
    static let expoReceiptLifetime: Duration = .seconds(86_400)
    /// Maximum size of a secret.
    static let secretBytesMax = 512
    /// Maximum phones of a request of OpenChamber's.
    static let openChamberTokensMax = 100
    /// How far the time of such a request may be from the relay's.
    static let signatureAgeMax: Duration = .seconds(300)
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
    /// Maximum length of a sealed notification, in characters: the most that fits with ordinary identifiers.
    static let sealedCountMax = 3_600
    /// The highest version of sealed notifications that a device can name.
    static let sealedVersionMax = 255
    /// Maximum versions that a device can name.
    static let sealedVersionsMax = 8
    /// Maximum length of a notification's kind.
    static let kindCountMax = 32
    /// Maximum event types and kinds in a device's preferences.
    static let kindsMax = 64
    /// The longest time for which a person says that they look at their agents.
    static let presenceSecondsMax = 300
    /// How often the log has the same name of a time zone that isn't known.
    static let unknownZoneInterval: Duration = .seconds(3_600)
    /// Maximum such names in the log within that time.
    static let unknownZonesMax = 20
    /// Maximum length of an accepted `X-Request-ID`.
    static let requestIDCountMax = 128

    /// Maximum addresses read from `X-Forwarded-For` and `Forwarded`, from the right.
    static let forwardedAddressesMax = 32
    /// Maximum requests per minute that change data through the admin listener.
    static let adminChangesPerMinute = 60

    /// Maximum length of a content coding that an error repeats.
    static let contentCodingCountMax = 32
    /// The shortest text that is taken for a device token in base64: 16 bytes.
    static let base64TokenCountMin = 22

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

    /// Maximum installations whose last change of token is remembered.
    static let installationChangesMax = 4_096
    /// How often an installation that two devices share is logged and counted at most.
    static let contestedInstallationInterval: Duration = .seconds(3_600)

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
    /// How far beyond `RELAY_EVENT_DEADLINE` a request waits for another's response.
    static let claimWaitMargin: Duration = .milliseconds(1_500)
    /// The delays when polling an event that another request is processing.
    static let claimPollBackOff = BackOff(from: .milliseconds(50), to: .seconds(1))

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

    /// The time between two samples of the console's charts.
    static let consoleInterval: Duration = .seconds(10)
    /// The samples that it keeps: an hour.
    static let consoleSamplesMax = 360

    /// Rows in a list of the console, such as the queue's.
    static let consoleRowsMax = 50
    /// Rows of a tenant that it searches for a push.
    static let consoleRowsSearchedMax = 1_000
    /// Tenants that it searches for a push if the operator names none.
    static let consoleTenantsSearchedMax = 20
    /// The tenants with the latest requests that each event loop remembers.
    static let recentTenantsMax = 100

    /// Maximum path length of its Unix socket: the system allows 107, and the relay creates it under a longer name.
    static let unixPathBytesMax = 103

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
    /// Maximum steps over devices and locks in one round: 2.8 million rows a day, if few locks are to be removed.
    static let deviceUpkeepSteps = 20
    /// Rounds after the start, or after the clock was set, before devices are removed: an hour.
    static let deviceUpkeepRoundsToWait = 6
    /// The longest `RELAY_DEVICE_DAYS`.
    static let deviceDaysMax = 36_500

    // MARK: Startup and shutdown

    /// The delays before retrying a database server that is down at startup.
    static let databaseStartBackOff = BackOff(from: .milliseconds(250), to: .seconds(2))

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
    /// The delays between these attempts.
    static let receiptBackOff = BackOff(from: .milliseconds(100), to: .seconds(5))
    /// Maximum responses of one loop waiting to be stored, each at most `StorageLimits.answerBytes`.
    ///
    /// Further ones are dropped after their first attempt.
    static let receiptsRetriedMax = 200
}
