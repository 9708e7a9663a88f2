import APNs
import Network
import Storage

/// The pushes of one event: sends them to every device at once, within bounds, and gathers what they come to.
///
/// Confined to its loop, and without a task of its own: outcomes come as calls on the loop. What APNs can't take now,
/// and what has no outcome when the event's time is over, is stored in the queue. A push that is in flight then is
/// stored under a lease of this process: when its outcome comes, that settles the row; if the process dies, the row
/// is sent when the lease has run out.
final class FanOut {
    /// One device's push on its way.
    struct Item {
        /// `nil` where there can be none; then ``phase`` says why.
        var push: Push?
        /// Its first attempt.
        var attempt: DeliveryAttempt?
        var phase = Phase.notBegun
        var removed = false
    }

    /// Rare cases are indirect: what is large in them would be copied with every step of every push.
    enum Phase {
        case notBegun
        case inFlight
        /// It has its result.
        case ended(DeviceResult.Status)
        /// APNs could not take it.
        indirect case later(OutcomePolicy.RetryLater)
        /// It was in flight at the end of the event's time and is being stored; `step` if it had an outcome since.
        indirect case storing(step: OutcomePolicy.Step?)
        /// It is in flight and in the queue, leased by this process.
        indirect case held(HeldPush)
    }

    let services: LoopServices
    let content: any PushContent
    /// Whom the event goes to.
    let devices: [Device]
    /// What becomes of each device's push, in their order.
    var items: [Item]
    /// The first device whose push has not been begun.
    private var next = 0
    var inFlight = 0
    /// Devices without an outcome.
    private var open: Int
    /// Changes of registrations that are being stored.
    private var changes = 0
    private var isStarting = false
    /// The time is over or all have an outcome: nothing is begun any more.
    private var isClosed = false
    private var timer: Timer?
    private var continuation: CheckedContinuation<Void, Never>?
    private var report = FanOutReport()
    /// The devices were read before, the pushes are sent after: what registers from now on is fresh.
    let begunAt: EpochMilliseconds

    /// Prepares a push to each device; the caller has taken a slot for each.
    init(_ devices: [Device], _ content: any PushContent, on services: LoopServices) {
        self.services = services
        self.content = content
        self.devices = devices
        let now = services.shared.clock.now
        begunAt = now
        open = devices.count
        var maker = PushMaker(devices, content, services, at: now)
        items = devices.indices.map { maker.item($0) }
    }

    /// Sends, and returns a result for each device, in their order, when all have one or the deadline has passed.
    ///
    /// A little of the time is kept for storing what has no outcome.
    func run(deadline: Duration) async -> [DeviceResult] {
        let reserve = min(Bounds.enqueueReserve, deadline / 10)
        await withCheckedContinuation { continuation in
            self.continuation = continuation
            timer = Timer(on: services.loop) { [unowned self] in close() }
            timer?.schedule(after: max(deadline - reserve, .zero))
            start()
        }
        await storeUnsent()
        return items.indices.map { takeResult($0) }
    }

    /// Called once for each device, at the end: nothing asks for its push any more, which is moved out and not copied.
    private func takeResult(_ index: Int) -> DeviceResult {
        let push = items[index].push.take()
        let status = items[index].phase.result
        services.counts.result(status, devices[index].bundleID, Environment(devices[index].environment))
        return DeviceResult(
            deviceID: devices[index].id,
            maskedToken: push?.deviceToken.description ?? devices[index].maskedToken,
            pushID: push?.id, status: status, removed: items[index].removed)
    }

    // MARK: Sending

    /// Begins pushes as far as the bound of one event allows.
    private func start() {
        // An outcome may come within `send`: then the loop below goes on, rather than one call inside the other.
        guard !isStarting, !isClosed else { return }
        isStarting = true
        while next < items.count, inFlight < services.shared.limits.pushesPerEventMax {
            let index = next
            next += 1
            inFlight += 1
            guard let push = items[index].push, let attempt = items[index].attempt else {
                settle(index, items[index].phase)
                continue
            }
            items[index].phase = .inFlight
            send(push, index, attempt)
        }
        isStarting = false
        closeIfDone()
    }

    private func send(_ push: Push, _ index: Int, _ attempt: DeliveryAttempt) {
        let isSent = services.send(push, attempt, for: index) { [self] in decide($0, $1) }
        guard !isSent else { return }
        settle(index, .ended(.failed(reason: Self.unknownBundle)))
        start()
    }

    private func decide(_ outcome: Outcome, _ made: LoopServices.AttemptMade<Int>) {
        let index = made.subject
        let step = OutcomePolicy.step(after: outcome, of: made.attempt)
        report.note(outcome, step, made.attempt.environment, made.key, devices[index].bundleID)
        guard !isClosed else { return decideLate(step, index) }
        switch step {
        case .sent(let environment):
            if let environment {
                let device = devices[index]
                change(index, .environment) { storage throws(StorageError) in
                    try await storage.setEnvironment(DeviceEnvironment(environment), of: device)
                }
            }
            settle(index, .ended(.sent(apnsID: outcome.apnsID ?? items[index].push?.id ?? "")))
        case .sendAgain(let next):
            if let push = items[index].push { return send(push, index, next) }
        case .retryLater(let retry):
            settle(
                index,
                items[index].push?.mayWait == true ? .later(retry) : .ended(.failed(reason: retry.reason)))
        case .failed(let failure):
            if let time = failure.removeIfNotUpdatedAfter { remove(index, ifNotUpdatedAfter: time) }
            settle(index, .ended(.failed(reason: failure.reason)))
        }
        start()
    }

    /// An outcome has come: the push's slot is free, and so is its place among the event's pushes.
    private func settle(_ index: Int, _ phase: consuming Phase) {
        inFlight -= 1
        services.slots.giveBack()
        items[index].phase = phase
        open -= 1
    }

    // MARK: Effects

    func remove(_ index: Int, ifNotUpdatedAfter time: EpochMilliseconds) {
        let device = devices[index]
        let now = services.shared.clock.now
        change(index, .removal) { storage throws(StorageError) in
            try await storage.remove(device, ifNotUpdatedAfter: device.removalBound(time), at: now)
        }
    }

    /// What an outcome can say about a registration.
    private enum Change {
        case environment, removal
    }

    /// Stores what an outcome says about a registration; `store` says whether that changed it.
    ///
    /// Such outcomes are rare, so that a task for each is no burden.
    private func change(
        _ index: Int, _ change: Change,
        _ store: @escaping @Sendable (any Storage) async throws(StorageError) -> Bool
    ) {
        changes += 1
        let shared = services.shared
        nonisolated(unsafe) let fanOut = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            var isDone = false
            do throws(StorageError) {
                isDone = try await store(shared.storage)
            } catch {
                shared.log(.warning, "registration.unchanged", [.storageError(error)])
            }
            fanOut.changed(index, change, isDone: isDone)
        }
    }

    private func changed(_ index: Int, _ change: Change, isDone: Bool) {
        changes -= 1
        switch change {
        case _ where !isDone: break
        case .environment: services.counts.environmentsHealed += 1
        case .removal:
            services.counts.devicesRemoved += 1
            items[index].removed = true
        }
        closeIfDone()
    }

    // MARK: The end of the event's time

    private func closeIfDone() {
        if open == 0, changes == 0 { close() }
    }

    /// Ends the wait; pushes that were not begun are not going to be.
    private func close() {
        guard !isClosed else { return }
        isClosed = true
        timer?.cancel()
        timer = nil
        services.slots.giveBack(items.count - next)
        next = items.count
        logReport()
        continuation?.resume()
        continuation = nil
    }

    func logReport() {
        report.log(to: services.shared)
        report = FanOutReport()
    }

    /// The reason of a device that had no outcome by the event's deadline.
    static let deadlineExceeded = "DeadlineExceeded"
    /// The reason of a device whose stored token or bundle can't be one of APNs'.
    static let invalidRegistration = "InvalidRegistration"
    /// The reason of a device whose app the relay doesn't push to any more.
    static let unknownBundle = "UnknownBundle"
    /// The reason of a device in an environment that its app isn't in any more.
    static let environmentNotAllowed = "EnvironmentNotAllowed"
}

extension Outcome {
    /// The identifier under which APNs took the push.
    fileprivate var apnsID: String? {
        if case .accepted(let id, _) = self { id } else { nil }
    }
}
