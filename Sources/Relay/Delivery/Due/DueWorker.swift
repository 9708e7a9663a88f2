import Delays
import Network
import Programs
import Storage

/// Claims due rows, such as queued pushes, under leases, and sends them.
///
/// Confined to the loop of its ``DueWorker``.
protocol DueWork: AnyObject {
    /// Wakes the worker when rows become due before its next poll.
    var alarm: DueAlarm { get }
    /// The minimum time between two polls, so that rows due at about the same time share a claim.
    var lookPause: Duration { get }
    /// How often to poll while no due row is known.
    var pollInterval: Duration { get }
    /// The event in log lines about rows that can't be read.
    var unreadableEvent: StaticString { get }
    /// Whether nothing is being sent.
    var isIdle: Bool { get }
    /// Whether there is room for enough rows to be worth a claim.
    var isWorthClaiming: Bool { get }
    /// When the rows that are already claimed need the next poll; `nil` if they need none.
    var nextCheck: EpochMilliseconds? { get }

    /// Called once, before the first poll; keeps only a weak reference to the worker.
    func begin(for worker: DueWorker)

    /// Prepares a poll of the rows.
    func prepareLook(at now: EpochMilliseconds, _ moment: MonotonicTime) -> DueWorker.Look

    /// Claims due rows and keeps them for ``send()``; gives them back if the worker is stopping.
    func claim(
        at now: EpochMilliseconds, _ moment: MonotonicTime
    ) async throws(StorageError) -> DueWorker.Found

    /// Sends claimed rows while there is room, then calls ``DueWorker/sent()``.
    func send()

    /// Releases the claimed rows that aren't being sent yet, because the worker is stopping.
    func giveBackAll()
}

/// Claims rows when they become due and has them sent.
///
/// Confined to its loop. Each process has one worker per kind of row; several processes share a table by claiming rows
/// from it. When stopped, it releases the rows that it hasn't begun to send; rows of a dead process become available
/// when their leases expire.
final class DueWorker {
    /// Whether rows can be claimed now.
    enum Look {
        case claim
        /// Rows can't be claimed before this time.
        case later(EpochMilliseconds)
        /// There is no room; a call to ``sent()`` reports when there is.
        case full
    }

    /// The result of a claim.
    struct Found {
        /// When the next row is due; `nil` if none is known.
        var next: EpochMilliseconds?
        /// Whether more rows may be due already.
        var mayHaveMore = false
    }

    /// The upper bound of the random delay added to the poll interval, which keeps relays from polling in step.
    private static let jitterMax: EpochMilliseconds = 1_000

    /// The rows to claim and send.
    let work: any DueWork
    private let services: LoopServices
    private var timer: Timer?
    /// When the timer fires; `.max` if it isn't set.
    private var looksAt: EpochMilliseconds = .max
    private(set) var isClaiming = false
    /// Whether more rows were due after the last claim, or a poll was due while there was no room or a claim
    /// was running.
    private var mayHaveMore = false
    private var backOff: BackOff
    private(set) var isStopping = false
    private var stopTimer: Timer?
    private var onStopped: CheckedContinuation<Void, Never>?

    /// Creates a worker on its services' loop; idle until ``start()``.
    init(_ work: any DueWork, on services: LoopServices) {
        self.work = work
        self.services = services
        backOff = BackOff(from: Bounds.endsBackOff.least, to: work.pollInterval)
    }

    private var now: EpochMilliseconds { services.shared.clock.now }

    // MARK: Lifecycle

    /// Claims due rows now, and other rows as they become due.
    func start() {
        timer = Timer(on: services.loop) { [unowned self] in look() }
        let loop = services.loop
        let worker = LoopBound(self, on: loop)
        work.alarm.onEarlier { due in loop.submit { worker.value.look(at: due) } }
        work.begin(for: self)
        look()
    }

    /// Stops claiming, releases the rows that it hasn't begun to send, and waits for the others until the deadline.
    func stop(within deadline: Duration) async {
        isStopping = true
        work.alarm.onEarlier(nil)
        timer = nil
        work.giveBackAll()
        await withCheckedContinuation { continuation in
            onStopped = continuation
            stopTimer = Timer(on: services.loop) { [unowned self] in stopped() }
            stopTimer?.schedule(after: deadline)
            // Checked here because other work on the loop may end before the wait starts.
            stoppedIfIdle()
        }
    }

    private func stopped() {
        stopTimer?.cancel()
        onStopped?.resume()
        onStopped = nil
    }

    private func stoppedIfIdle() {
        if isStopping, work.isIdle, !isClaiming { stopped() }
    }

    // MARK: Looking

    /// Schedules a poll, unless an earlier one is scheduled.
    ///
    /// Never waits longer than the longest pause between polls: if the clock was set back after `due` was computed,
    /// `due` is too far in the future.
    func look(at due: EpochMilliseconds) {
        guard !isStopping, due < looksAt else { return }
        looksAt = due
        work.alarm.workerLooks(at: due)
        let longest = work.pollInterval + .milliseconds(Self.jitterMax)
        let wait = min(.milliseconds(max(0, due - now)), longest)
        timer?.schedule(after: max(wait, work.lookPause))
    }

    /// Claims due rows now and schedules the next poll.
    func look() {
        looksAt = .max
        work.alarm.workerLooks(at: .max)
        guard !isStopping else { return }
        let (now, moment) = (now, services.shared.monotonic())
        switch work.prepareLook(at: now, moment) {
        case .later(let time):
            look(at: time)
        case .claim where !isClaiming:
            claim(at: now, moment)
        case .claim, .full:
            // Polling continues when the claim ends or the rows being sent are done.
            mayHaveMore = true
            checkAgain()
            work.send()
        }
    }

    private func claim(at now: EpochMilliseconds, _ moment: MonotonicTime) {
        isClaiming = true
        mayHaveMore = false
        nonisolated(unsafe) let worker = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            do throws(StorageError) {
                worker.claimed(try await worker.work.claim(at: now, moment))
            } catch {
                worker.failed(error)
            }
        }
    }

    private func claimed(_ found: Found) {
        isClaiming = false
        backOff.reset()
        if found.mayHaveMore { mayHaveMore = true }
        let jitter = EpochMilliseconds.random(in: 0..<Self.jitterMax, using: &services.generator)
        let poll = now + work.pollInterval.inMilliseconds + jitter
        if !mayHaveMore { look(at: min(found.next ?? poll, poll)) }
        checkAgain()
        work.send()
    }

    private func failed(_ error: StorageError) {
        isClaiming = false
        mayHaveMore = false
        services.shared.log(.warning, work.unreadableEvent, [.storageError(error)])
        look(at: now + backOff.next().inMilliseconds)
        work.send()
    }

    private func checkAgain() {
        if let time = work.nextCheck { look(at: time) }
    }

    /// Claims more rows if more may be due, because there may be room again.
    func sent() {
        if mayHaveMore, !isClaiming, !isStopping, work.isWorthClaiming { look() }
        stoppedIfIdle()
    }
}
