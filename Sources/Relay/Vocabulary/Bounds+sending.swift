import Delays
import Storage

/// Limits of sending: the retry queue, frequency, the delivery log and the history.
extension Bounds {
    // MARK: Retry queue

    /// Maximum clock skew between relays that share a database.
    static let clockSkewMax: Duration = .milliseconds(StorageLimits.clockSkewMax)
    /// How often the database server's clock is read, besides for `/ready`.
    static let databaseClockInterval: Duration = .seconds(60)
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
    /// Maximum stored pushes started together; the next ones start after ``retriesPause``.
    static let retriesAtOnceMax = 48
    /// How long a long batch of stored pushes pauses between its parts: a process sends about 10,000 a second at most.
    static let retriesPause: Duration = .milliseconds(3)
    /// Stored pushes in flight until a destination has accepted most of them.
    static let retriesInFlightFirst = 64
    /// Maximum stored pushes in one claim.
    static let retriesPerClaimMax = StorageLimits.claimWindow
    /// Minimum stored pushes in flight per destination (a key's connections to one environment), regardless of
    /// new events.
    static let retriesPerDestinationMin = 8
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
    /// How often destinations of queued pushes that have been idle are forgotten.
    static let retryForgetInterval: Duration = .seconds(1)
    /// Extra time for sending a stored push besides APNs' responses: storage calls and a busy machine.
    static let retryWorkMargin: Duration = .seconds(5)
    /// How long a claimed push may wait to be sent.
    static let retryWaitMax: Duration = .seconds(5)
    /// How long a queued push waits for the end of quiet hours before its device's preferences are looked at again.
    static let queuedQuietLook: Duration = .seconds(600)
    /// How often to poll the queue when nothing is known to become due, for pushes that other processes left.
    static let retryPollInterval: Duration = .seconds(5)
    /// The minimum pause after measuring the queue, as a multiple of the time that it took.
    static let queueMeasureRest = 20
    /// The minimum time between two polls, so that pushes due together are claimed together.
    static let retryLookPause: Duration = .milliseconds(20)
    /// Maximum unwritten ends of stored pushes, about a kilobyte each.
    ///
    /// Further ends are lost, and their pushes are sent again.
    static let endsWaitingMax = 50_000
    /// Unwritten ends above which no stored push is claimed.
    ///
    /// This keeps leases from expiring before their pushes' ends are written.
    static let endsUnwrittenMax = 2_048
    /// Maximum ends of stored pushes in one transaction; reduced after one took too long.
    static let endsPerBatchMax = 256
    /// How long ends of stored pushes are collected for one transaction.
    static let endsGatherTime: Duration = .milliseconds(20)
    /// The delays before writing ends is retried.
    static let endsBackOff = BackOff(from: .milliseconds(250), to: .seconds(2))
    /// Maximum attempts to write a batch of ends during shutdown.
    static let endsAttemptsAtEnd = 3
    /// Timeouts since a batch was last written with its log rows, after which batches are written without them.
    ///
    /// It exceeds the number of steps that halve a full batch down to one end.
    static let endsLoggedTimeoutsMax = 10
    /// Consecutive refusals after which the database is assumed to refuse every end.
    ///
    /// It exceeds the number of steps that find one bad end in a full batch.
    static let endsRefusedInRowMax = 16
    /// The delay before refused ends are retried.
    static let endsRefusedPause: Duration = .seconds(10)
    /// Refusals that end a round of these retries; the remaining ends wait for the next round.
    static let endsRefusedPerRound = 16
    /// Maximum remembered ends that came too late because another process had claimed the row.
    static let endsRememberedMax = 1_024
    /// The delays before unconfirmed pushes are stored again.
    static let enqueueBackOff = BackOff(from: .milliseconds(100), to: .seconds(1))

    // MARK: Frequency

    /// The highest number of pushes in an hour or a day that a device can ask for.
    static let frequencyMax = 1_000
    /// How long a count of pushes to a secret's devices is used; other relays' pushes are missing from it meanwhile.
    static let frequencyCountAgeMax: Duration = .seconds(5)
    /// Maximum secrets whose counts are remembered.
    static let frequencySecretsMax = 1_000

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
    /// Maximum pushes whose delivery log rows wait to be written; further ones are dropped and counted.
    static let deliveriesWaitingMax = 40_000
    /// As many waiting pushes delay responses, so that load slows down before rows are dropped.
    static let deliveriesCrowded = 30_000
    /// The longest such delay.
    static let deliveriesDelayMax: Duration = .seconds(2)
    /// The intervals in which a delayed response looks for room: short first, so that a moment's excess delays it little.
    static let deliveriesDelayBackOff = BackOff(from: .milliseconds(1), to: .milliseconds(40))
    /// Maximum delivery log rows in one transaction.
    static let deliveriesPerBatchMax = 2_000
    /// The delays before writing them is retried.
    static let deliveriesBackOff = BackOff(from: .milliseconds(500), to: .seconds(5))
    /// How long delivery log rows are collected for one transaction that they don't fill.
    static let deliveriesGatherTime: Duration = .milliseconds(200)
    /// How often meanwhile to look whether they fill it.
    static let deliveriesGatherStep: Duration = .milliseconds(10)
    /// Consecutive refusals after which the rest of a batch is dropped.
    ///
    /// It exceeds the number of steps that find one bad row in a full batch.
    static let deliveriesRefusedInRowMax = 16

    /// Services and reasons for which failures of one event's pushes by Web Push are logged.
    static let webPushFailuresLoggedMax = 8

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
}
