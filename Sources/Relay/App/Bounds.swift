import Storage

/// Every bound of the relay that is no setting, each with its unit in its name.
enum Bounds {
    // MARK: Requests (docs/API.md)

    /// Bytes of a request's body.
    static let requestBodyBytesMax = 16 * 1024
    /// Nesting of arrays and objects in a request's body; the known fields need 1.
    static let requestJSONDepthMax = 16
    /// Bytes of a secret.
    static let secretBytesMax = 512
    /// Bytes of `sessionID` and `serverID`.
    static let identifierBytesMax = 255
    /// Bytes of `eventID`.
    static let eventIDBytesMax = 128
    /// Bytes of each text that a device tells of itself.
    static let deviceDetailBytesMax = StorageLimits.deviceDetailBytes
    /// The largest badge of a notification.
    static let badgeMax = 999_999
    /// The longest time in seconds that a notification is kept: 30 days, as long as APNs keeps any.
    static let timeToLiveSecondsMax = 30 * 86_400
    /// Characters of an `X-Request-ID` that is taken over.
    static let requestIDCountMax = 128

    /// Addresses of `X-Forwarded-For` and `Forwarded` that are looked at, from the right.
    static let forwardedAddressesMax = 32
    /// Requests to the admin listener that change data, a minute.
    static let adminChangesPerMinute = 60

    // MARK: Events

    /// Devices that an event's answer lists one by one; the counts include all.
    ///
    /// Such an answer fits `StorageLimits.answerBytes`.
    static let deliveriesListedMax = 380
    /// Bytes of a reason in an answer.
    static let reasonBytesMax = 64
    /// Storage calls of an event that may have to wait for their whole time: looking up, claiming, storing, keeping.
    static let storageCallsPerEventMax = 5
    /// How much longer than `RELAY_EVENT_DEADLINE` an event's receipt is leased: for the storage calls around it, beyond
    /// how far clocks may differ.
    static func claimLeaseMargin(databaseTimeout: Duration) -> Duration {
        clockSkewMax + databaseTimeout * storageCallsPerEventMax
    }
    /// `Retry-After` of an event that another request handles and has not answered in time.
    static let claimRetryAfterSeconds = 10
    /// How much longer than `RELAY_EVENT_DEADLINE` a request waits for another's answer to its event; at most half of it.
    static let claimWaitMargin: Duration = .milliseconds(1_500)
    /// Between the first two looks at an event that another request handles; each further wait is twice as long.
    static let claimPollIntervalMin: Duration = .milliseconds(50)
    /// The longest of these waits.
    static let claimPollIntervalMax: Duration = .seconds(1)

    // MARK: Pushes that wait

    /// How far the clocks of relays that share a database may be apart.
    static let clockSkewMax: Duration = .seconds(60)
    /// How often due times are looked for that a clock which was ahead has left behind.
    static let dueCheckInterval: Duration = .seconds(60)
    /// Such pushes that are made due in one transaction.
    static let dueCheckRowsPerStep = 500
    /// Leases that begin anew when the clock is set forward; of further ones the pushes may be sent twice.
    static let leasesRenewedMax = 50_000
    /// How long a destination that refuses the provider token is spared before one stored push asks again.
    static let tokenRefusedRest: Duration = .seconds(1)
    /// Of an event's time, kept for storing the pushes that have no outcome; at most a tenth of it.
    static let enqueueReserve: Duration = .milliseconds(500)
    /// Stored pushes in flight at once while there is nothing else to send.
    static let retriesInFlightMax = 128
    /// Stored pushes in flight to each destination (a key's connections to one environment) beside any number of new events.
    static let retriesPerPlaceMin = 8
    /// For how many stored pushes to a destination it is worth to claim, however few may be in flight: each claim has its price.
    static let retriesClaimedMin = 32
    /// A claim that looks behind all backlogs is followed by claims that don't, for so many times as long as it took.
    static let wideClaimRest = 9
    /// How long these are at most: what is behind a backlog waits so much longer.
    static let wideClaimRestMax: Duration = .seconds(2)
    /// How long it is remembered that a destination took little of what it was sent.
    static let retryWindowMemory: Duration = .seconds(60)
    /// How long a destination that has all its places may be silent before what waits for it makes room for others.
    static let retryStallTime: Duration = .seconds(2)
    /// What sending a stored push may take beside APNs' answers: storage calls and a busy machine.
    static let retryWorkMargin: Duration = .seconds(5)
    /// How long a claimed push may wait for its turn.
    static let retryWaitMax: Duration = .seconds(5)
    /// How often the queue is looked at when nothing is known to become due: for what other processes leave.
    static let retryPollInterval: Duration = .seconds(5)
    /// Between two looks at the queue, so that what becomes due together is claimed together.
    static let retryLookPause: Duration = .milliseconds(20)
    /// Ends of stored pushes that wait to be written; further ones are lost, and those pushes are sent again.
    static let settlementsWaitingMax = 50_000
    /// Ends that are not written yet beyond which no stored push is claimed, so that no lease runs out before its push's
    /// end is written.
    static let settlementsUnwrittenMax = 512
    /// Ends of stored pushes in one transaction; fewer after one took too long.
    static let settlementsPerBatchMax = 256
    /// How long ends of stored pushes are gathered before they are written together.
    static let settlementsGatherTime: Duration = .milliseconds(20)
    /// Before the second attempt to write ends; each further wait is twice as long.
    static let settlementsRetryDelayMin: Duration = .milliseconds(250)
    /// The longest of these waits.
    static let settlementsRetryDelayMax: Duration = .seconds(2)
    /// Attempts to write a batch of ends when the process is ending.
    static let settlementsAttemptsAtEnd = 3

    // MARK: Metrics

    /// Apps that metrics name; what further ones do counts as `other`.
    static let metricsAppsMax = 100
    /// How long an event loop may take to say what it has counted.
    static let loopReportDeadline: Duration = .seconds(3)
    /// How long the checks of readiness may take in a scrape; the database doesn't answer if they take longer.
    static let scrapeReadinessDeadline: Duration = .seconds(2)
    /// Open connections of the admin listener.
    static let adminConnectionsMax = 32
    /// How long its answers may take once the relay has stopped.
    static let adminClosingDeadline: Duration = .milliseconds(200)

    // MARK: Logs

    /// Log lines that wait to be written; further ones are dropped and counted.
    static let logEventsWaitingMax = 8192
    /// How long log lines are gathered before they are written together.
    static let logGatherTime: Duration = .milliseconds(20)
    /// Refusals of one kind that are logged one by one in an interval; further ones are summarised.
    static let refusalLinesPerKind = 20
    /// Refusals of all kinds that are logged one by one in an interval.
    static let refusalLinesMax = 100
    /// How long refusals are counted before they are summarised.
    static let refusalSummaryInterval: Duration = .seconds(60)
    /// Rows of the delivery log that wait to be written; further ones are dropped and counted.
    static let deliveriesWaitingMax = 40_000
    /// Rows of the delivery log in one transaction.
    static let deliveriesPerBatchMax = 2_000
    /// Attempts to write a batch of the delivery log while the database is unavailable: with the waits between them,
    /// more than two minutes.
    static let deliveriesAttemptsMax = 30
    /// Before the second attempt; each further wait is twice as long.
    static let deliveriesRetryDelayMin: Duration = .milliseconds(500)
    /// The longest of these waits.
    static let deliveriesRetryDelayMax: Duration = .seconds(5)
    /// How long rows of the delivery log are gathered before they are written together.
    static let deliveriesGatherTime: Duration = .milliseconds(200)

    // MARK: Upkeep

    /// Between two rounds of removing what is no longer kept.
    static let upkeepInterval: Duration = .seconds(600)
    /// Rows removed in one step, so that the writer stays free for others.
    static let upkeepRowsPerStep = 500
    /// Between two steps.
    static let upkeepPause: Duration = .milliseconds(50)

    // MARK: relay health

    /// For the whole question: connecting, TLS, and the first bytes of the answer.
    static let healthDeadline: Duration = .seconds(3)

    // MARK: relay check

    /// For all of it; what has no result by then is reported so.
    static let checkDeadline: Duration = .seconds(60)
    /// For each step of it (a connection, a push, a call to the database), unless a setting allows less.
    static let checkStepDeadline: Duration = .seconds(10)
    /// Keys that are tried in each environment.
    static let checkKeysMax = 20
    /// Bundle identifiers that are tried with each of them.
    static let checkTopicsMax = 20
    /// Devices of a secret that are told of, and sent a push.
    static let checkDevicesMax = 50
    /// How far clocks may differ before it is noticed.
    static let checkClockSkewNoticed: Duration = .seconds(30)
    /// How far they may differ at all.
    static let checkClockSkewMax: Duration = .seconds(300)
    /// Bytes that must be free on a file's disk.
    static let checkDiskBytesMin: Int64 = 16 * 1_048_576
    /// Bytes below which it is noticed.
    static let checkDiskBytesNoticed: Int64 = 512 * 1_048_576
    /// Days before a certificate's end from which it is noticed.
    static let checkCertificateDaysNoticed: Int64 = 21

    // MARK: relay send

    /// From a relay's name to the end of its answer: an event's longest time, and the way there.
    static let sendDeadline: Duration = .seconds(320)
    /// Bytes of a relay's answer that a command reads.
    static let commandAnswerBytesMax = 1 << 20

    // MARK: Commands for people

    /// Connections of a command to a database server.
    static let commandConnectionsMax = 2
    /// Rows of the delivery log that are shown unless another number is asked for.
    static let deliveriesShownDefault = 50
    /// Rows of the delivery log that can be shown at once.
    static let deliveriesShownMax = 10_000
    /// How often a log that is followed is looked at.
    static let followInterval: Duration = .seconds(1)
    /// Pages of new rows in one such look; further rows are left out.
    static let followPagesMax = 20
    /// Days that are counted unless another number is asked for.
    static let statsDaysDefault = 7
    /// Days that can be counted at once.
    static let statsDaysMax = 400
    /// Rows of the delivery log that are counted by one statement.
    static let statsRowsPerStep = 10_000
    /// Different reasons that are counted for a day; further ones are counted together.
    static let statsReasonsMax = 100
    /// Reasons that a day's line shows.
    static let statsReasonsShown = 3
    /// How long a command waits for a SQLite file to be free for changes before it asks the relay that runs on it.
    static let commandLockTimeout: Duration = .milliseconds(300)
    /// Rows of each table that are removed in one transaction when a secret is revoked.
    static let revokeRowsPerStep = 500
    /// How long the relay that runs may take to revoke a secret.
    static let revokeDeadline: Duration = .seconds(60)
    /// How often a question at a terminal looks whether a signal has come.
    static let promptSignalInterval: Duration = .milliseconds(100)

    // MARK: Start and end

    /// Before a database server that is down at the start is asked again; each further wait is twice as long.
    static let databaseStartDelayMin: Duration = .milliseconds(250)
    /// The longest of these waits.
    static let databaseStartDelayMax: Duration = .seconds(2)

    /// Problems of an apps file that are logged one by one when it is read again.
    static let problemsLoggedMax = 20

    /// After `RELAY_SHUTDOWN_DEADLINE`: for flushing the delivery log and closing the database; then the process
    /// ends whatever is left.
    static let closingDeadline: Duration = .seconds(5)
    /// For each connection to APNs, once all is answered, to be closed in order.
    static let apnsClosingDeadline: Duration = .milliseconds(500)

    /// For pushes of a key that is no longer used, once the apps file was read again, to be answered.
    static let apnsLeavingDeadline: Duration = .seconds(3)

    /// Loops unless `RELAY_LOOPS` says otherwise.
    static let loopsDefaultMax = 8
    /// Bytes of a file that a `…_FILE` setting names.
    static let settingFileBytesMax = 256 * 1024
    /// File descriptors that are not client connections: databases, connections to APNs, event loops.
    static let fileDescriptorsReserved = 256
    /// How long `/ready` gives the same answer without asking again.
    static let readinessCacheTime: Duration = .seconds(1)
    /// How long `/ready` shows a refusal of the credentials that has not come again.
    static let apnsFaultMemory: Duration = .seconds(300)
    /// How long the answer to an event with an `eventID` is tried to be kept, once the caller has it.
    static let receiptRetryTime: Duration = .seconds(600)
    /// The first wait between these attempts; it doubles.
    static let receiptRetryDelayMin: Duration = .milliseconds(100)
    /// The longest of these waits.
    static let receiptRetryDelayMax: Duration = .seconds(5)
    /// Answers of one loop that are tried to be kept at once, each of at most `StorageLimits.answerBytes`; further ones
    /// are given up after their first attempt.
    static let receiptsRetriedMax = 200
}
