import Delays
import Storage

/// Limits for sending: the retry queue, frequency, the delivery log and the history.
extension Bounds {
    // MARK: Retry queue

    /// Maximum clock skew between relays that share a database.
    static let clockSkewMax: Duration = .milliseconds(StorageLimits.clockSkewMax)
    /// How often the database server's clock is read, in addition to the reads for `/ready`.
    static let databaseClockInterval: Duration = .seconds(60)
    /// How often to look for due times that a fast clock set too late.
    static let dueCheckInterval: Duration = .seconds(60)
    /// Maximum pushes, or schedules, whose wrong due time is corrected per step.
    static let dueCheckRowsPerStep = 500
    /// For this long after the clock is set forward, pushes stored earlier expire later by the size of the step.
    static let clockStepMemory: Duration = .seconds(3_600)
    /// Maximum leases renewed when the clock is set forward; pushes under any other leases may be sent twice.
    static let leasesRenewedMax = 50_000
    /// The pause in sending stored pushes to an app after APNs rejects its provider token; then one is sent as a probe.
    static let tokenRefusedRest: Duration = .seconds(1)
    /// The part of an event's time reserved for storing pushes without an outcome, at most a tenth of the event's time.
    static let enqueueReserve: Duration = .milliseconds(500)
    /// Maximum stored pushes in flight while there is nothing else to send; a single destination gets at most half.
    static let retriesInFlightMax = 1_024
    /// Maximum stored pushes started together; the next ones start after ``retriesPause``.
    static let retriesAtOnceMax = 48
    /// The pause after each ``retriesAtOnceMax`` stored pushes; it limits a process to about 10,000 per second.
    static let retriesPause: Duration = .milliseconds(3)
    /// Maximum stored pushes in flight per destination until the destination has accepted most of its pushes.
    static let retriesInFlightFirst = 64
    /// Maximum stored pushes in one claim.
    static let retriesPerClaimMax = StorageLimits.claimWindow
    /// Minimum stored pushes in flight per destination (a key's connections to one environment), regardless of
    /// new events.
    static let retriesPerDestinationMin = 8
    /// The minimum batch worth claiming for a destination, even if fewer may be in flight: each claim has a fixed cost.
    static let retriesClaimedMin = 32
    /// How long claims take only the oldest rows after a claim that scanned beyond all backlogs, as a multiple of that
    /// scan's duration.
    static let wideClaimRest = 9
    /// The longest time for which claims take only the oldest rows, which delays pushes behind a backlog.
    static let wideClaimRestMax: Duration = .seconds(2)
    /// How long a destination's reduced window is remembered.
    static let retryWindowMemory: Duration = .seconds(60)
    /// How long a destination without free slots may be silent before its waiting pushes make room for others.
    static let retryStallTime: Duration = .seconds(2)
    /// How often idle destinations of queued pushes are forgotten.
    static let retryForgetInterval: Duration = .seconds(1)
    /// Extra time for sending a stored push on top of APNs' response time, for storage calls and a busy machine.
    static let retryWorkMargin: Duration = .seconds(5)
    /// How long a claimed push may wait to be sent.
    static let retryWaitMax: Duration = .seconds(5)
    /// How long a queued push waits for the end of quiet hours before its device's preferences are checked again.
    static let queuedQuietLook: Duration = .seconds(600)
    /// How often to poll the queue for pushes left by other processes while nothing is known to become due.
    static let retryPollInterval: Duration = .seconds(5)
    /// The minimum pause after measuring the queue, as a multiple of the measurement's duration.
    static let queueMeasureRest = 20
    /// The minimum time between two polls of the queue, so that pushes due together are claimed together.
    static let retryLookPause: Duration = .milliseconds(20)
    /// Maximum unwritten ends of stored pushes, about a kilobyte each.
    ///
    /// Further ends are lost, and their pushes are sent again.
    static let endsWaitingMax = 50_000
    /// The number of unwritten ends above which no stored push is claimed.
    ///
    /// This keeps leases from expiring before their pushes' ends are written.
    static let endsUnwrittenMax = 2_048
    /// Maximum ends of stored pushes in one transaction; reduced after a transaction takes too long.
    static let endsPerBatchMax = 256
    /// How long ends of stored pushes are collected for one transaction.
    static let endsGatherTime: Duration = .milliseconds(20)
    /// The delays between attempts to write ends.
    static let endsBackOff = BackOff(from: .milliseconds(250), to: .seconds(2))
    /// Maximum attempts to write a batch of ends during shutdown.
    static let endsAttemptsAtEnd = 3
    /// Timeouts since a batch was last written with its log rows, after which batches are written without them.
    ///
    /// It exceeds the number of steps that halve a full batch down to one end.
    static let endsLoggedTimeoutsMax = 10
    /// Consecutive refusals after which the database is assumed to refuse every end.
    ///
    /// It exceeds the number of steps needed to find one bad end in a full batch.
    static let endsRefusedInRowMax = 16
    /// The delay before refused ends are retried.
    static let endsRefusedPause: Duration = .seconds(10)
    /// Refusals after which a round of retrying refused ends stops; the remaining ends wait for the next round.
    static let endsRefusedPerRound = 16
    /// Maximum remembered ends that came too late because another process had claimed the row.
    static let endsRememberedMax = 1_024
    /// The delays between attempts to store pushes whose storage is unconfirmed.
    static let enqueueBackOff = BackOff(from: .milliseconds(100), to: .seconds(1))

    // MARK: Frequency

    /// The highest number of pushes per hour or per day to which a device can limit itself.
    static let frequencyMax = 1_000
    /// How long a count of pushes to a secret's devices is reused; meanwhile it misses other relays' pushes.
    static let frequencyCountAgeMax: Duration = .seconds(5)
    /// Maximum secrets whose push counts are remembered.
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
    /// The number of pushes with unwritten delivery log rows at which responses are delayed, to slow senders down
    /// before rows are dropped.
    static let deliveriesCrowded = 30_000
    /// The longest delay of a response while delivery log rows are waiting to be written.
    static let deliveriesDelayMax: Duration = .seconds(2)
    /// The intervals at which a delayed response checks for room in the delivery log: short at first, so that a brief
    /// excess delays it little.
    static let deliveriesDelayBackOff = BackOff(from: .milliseconds(1), to: .milliseconds(40))
    /// Maximum delivery log rows in one transaction.
    static let deliveriesPerBatchMax = 2_000
    /// The delays between attempts to write delivery log rows.
    static let deliveriesBackOff = BackOff(from: .milliseconds(500), to: .seconds(5))
    /// How long delivery log rows are collected for a transaction that isn't full yet.
    static let deliveriesGatherTime: Duration = .milliseconds(200)
    /// How often to check whether the collected delivery log rows fill a transaction.
    static let deliveriesGatherStep: Duration = .milliseconds(10)
    /// Consecutive refusals after which the rest of a batch of delivery log rows is dropped.
    ///
    /// It exceeds the number of steps needed to find one bad row in a full batch.
    static let deliveriesRefusedInRowMax = 16

    /// Maximum pairs of push service and reason for which one event's Web Push failures are logged.
    static let webPushFailuresLoggedMax = 8

    // MARK: History

    /// Maximum items in a secret's history; the oldest are removed.
    static let historyItemsMax = StorageLimits.historyItemsMax
    /// The longest time for which history items can be kept, in days.
    static let historyDaysMax = 3_650
    /// The default number of items per page of a history.
    static let historyPageItemsDefault = 50
    /// Maximum items per page of a history.
    static let historyPageItemsMax = 100
    /// Maximum size of a history page's text before JSON escaping, in bytes; a page contains at least one item.
    static let historyPageBytesMax = 128 * 1024
    /// Maximum history items that one request can mark as read.
    static let historyReadIDsMax = 100
    /// Maximum history items waiting to be stored; further ones are dropped and counted.
    static let historyWaitingMax = 2_048
    /// Maximum history items in one transaction.
    static let historyPerBatchMax = 256
    /// How long an event's pushes wait for its history item to be stored, at most half of the event's time.
    static let historyWaitMax: Duration = .seconds(2)
}
