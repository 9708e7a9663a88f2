import APNs
import Network
import Programs
import Storage

/// Sends one event's pushes to all devices concurrently, within limits, and collects the results.
///
/// Confined to its loop; has no task of its own, because outcomes arrive as calls on the loop. Pushes that APNs can't
/// accept now, or that have no outcome at the deadline, are stored in the queue. A push that is still in flight is
/// stored under a lease of this process: its outcome settles the row, and if the process dies, the row is sent after
/// the lease expires.
final class FanOut {
    /// One device's push.
    struct Item {
        /// The push; `nil` if none could be created, in which case ``phase`` says why.
        var push: Push?
        /// How the push reaches its device.
        var route: PushRoute?
        var phase = Phase.notBegun
        var removed = false
        /// The push's effect on a Live Activity, if it goes to one.
        var activity: ActivityEvent?

        /// Whether the push may be sent later: an activity's state is useless when it is late, but its end isn't.
        var mayWait: Bool { push?.mayWait == true && (activity == nil || activity == .end) }
    }

    /// The state of a push.
    ///
    /// Rare cases are indirect, because large associated values would be copied with every step of every push.
    enum Phase {
        case notBegun
        case inFlight
        /// The push has its result.
        case ended(DeviceResult.Status)
        /// APNs couldn't accept the push.
        indirect case later(OutcomePolicy.RetryLater)
        /// The push was in flight at the deadline and is being stored; `end` is set if it has ended since.
        indirect case storing(end: PushEnd?)
        /// The push is in flight and in the queue, leased by this process.
        indirect case leased(LeasedPush)
        /// The push is in flight; whether it is in the queue is unknown.
        indirect case unconfirmed(LeasedPush)
    }

    let services: LoopServices
    /// The devices' secret.
    let key: SecretKey
    let content: any PushContent
    /// The ID by which the event is acknowledged; `nil` if it can't be.
    let eventID: String?
    /// The event's recipients.
    let devices: [Device]
    /// The state of each device's push, in the order of `devices`.
    var items: [Item]
    /// The devices whose pushes wait for the end of quiet hours, each with that time.
    let held: [(index: Int, until: EpochMilliseconds)]
    /// The index of the first device whose push has not started.
    private var next = 0
    var inFlight = 0
    /// The number of devices without an outcome.
    private var open: Int
    /// The number of registration changes in progress.
    private var changes = 0
    private var isStarting = false
    /// Whether the deadline has passed or all devices have an outcome; in either case, no more pushes start.
    private var isClosed = false
    private var timer: Timer?
    private var continuation: CheckedContinuation<Void, Never>?
    let attempts: AttemptRunner
    /// Records the pushes, if the event is traced.
    let recorder: SpanRecorder?
    /// A time after the devices were read and before pushes are sent; registrations made from then on are new.
    let begunAt: EpochMilliseconds

    /// Prepares a push to each device; the caller has taken a slot for each.
    ///
    /// - Parameters:
    ///   - eventID: The ID by which the event is acknowledged.
    ///   - unread: The number of the secret's unread items, if a badge needs it.
    ///   - full: The `id`s of devices that have reached their frequency limit.
    ///   - mayHold: Whether the caller stores pushes that wait for the end of quiet hours.
    ///   - results: The results, by `id`, of devices that get no push.
    ///   - activities: The pushes to Live Activities.
    init(
        _ recipients: Recipients, _ content: any PushContent, of key: SecretKey, on services: LoopServices,
        eventID: String? = nil, unread: Int? = nil, mayHold: Bool = false, full: Set<String> = [],
        results: [String: DeviceResult.Status] = [:],
        activities: [(recipient: Device, item: Item)] = []
    ) {
        self.services = services
        self.key = key
        self.content = content
        self.eventID = eventID
        let devices = recipients.devices
        self.devices = activities.isEmpty ? devices : devices + activities.map(\.recipient)
        let now = services.shared.clock.now
        begunAt = now
        attempts = AttemptRunner(on: services)
        recorder = services.shared.tracer == nil ? nil : .current
        open = devices.count + activities.count
        var maker = PushMaker(
            recipients, content, services, at: now, unread: unread, mayHold: mayHold, full: full)
        items = devices.indices.map { index in
            guard !results.isEmpty, let result = results[devices[index].id] else { return maker.item(index) }
            return Item(push: nil, phase: .ended(result))
        }
        held = maker.held
        items += activities.map(\.item)
    }

    /// Sends the pushes and returns a result for each device, in order, once all have one or the deadline has passed.
    ///
    /// A small part of the time is reserved for storing pushes without an outcome.
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

    /// Takes a device's result.
    ///
    /// Called once per device at the end, so the push is moved out instead of copied.
    private func takeResult(_ index: Int) -> DeviceResult {
        let push = items[index].push.take()
        let status = items[index].phase.result
        if let event = items[index].activity {
            services.counts.activity(event, status)
        } else {
            services.counts.result(status, devices[index].bundleID, Environment(devices[index].environment))
        }
        return DeviceResult(
            deviceID: devices[index].id,
            maskedToken: push?.deviceToken.description ?? devices[index].maskedToken,
            pushID: push?.id, status: status, removed: items[index].removed,
            activity: items[index].activity)
    }

    // MARK: Sending

    /// Starts as many pushes as the limit per event allows.
    private func start() {
        // An outcome may arrive within `send`; the loop below then continues instead of recursing.
        guard !isStarting, !isClosed else { return }
        isStarting = true
        while next < items.count, inFlight < services.shared.limits.pushesPerEventMax {
            let index = next
            next += 1
            inFlight += 1
            guard let push = items[index].push, let route = items[index].route else {
                release()
                continue
            }
            items[index].phase = .inFlight
            attempts.send(push, route, for: index, spans: recorder.map { PushSpans($0) }) { [self] in
                ended($1, $0)
            }
        }
        isStarting = false
        closeIfDone()
    }

    /// Handles the end of a push, even if it was queued because the event's deadline passed first.
    private func ended(_ index: Int, _ end: PushEnd) {
        release()
        switch items[index].phase {
        case .storing: items[index].phase = .storing(end: end)
        case .leased(let leased), .unconfirmed(let leased): services.finish(leased, end)
        case .notBegun, .inFlight, .ended, .later: finish(index, end, mayWait: items[index].mayWait)
        }
        if !isClosed { start() } else if inFlight == 0 { attempts.logReport() }
    }

    /// Releases a push's slot and its place among the event's pushes.
    private func release() {
        inFlight -= 1
        services.slots.giveBack()
        open -= 1
    }

    /// Sets the result of a push that isn't in the queue, and changes its registration accordingly.
    func finish(_ index: Int, _ end: PushEnd, mayWait: Bool) {
        switch end {
        case .sent(let apnsID, let environment):
            if let environment {
                let device = devices[index]
                change(index, .environment) { storage throws(StorageError) in
                    try await storage.setEnvironment(DeviceEnvironment(environment), of: device)
                }
            }
            items[index].phase = .ended(.sent(apnsID: apnsID ?? items[index].push?.id ?? ""))
        case .retryLater(let retry):
            items[index].phase = mayWait ? .later(retry) : .ended(.failed(reason: retry.reason))
        case .failed(let failure):
            if let time = failure.removeIfNotUpdatedAfter { remove(index, ifNotUpdatedAfter: time) }
            items[index].phase = .ended(.failed(reason: failure.reason))
        case .unfinished:
            items[index].phase = .notBegun
        case .unknownApp:
            items[index].phase = .ended(.failed(reason: FailureReason.unknownBundle))
        }
    }

    // MARK: Effects

    private func remove(_ index: Int, ifNotUpdatedAfter time: EpochMilliseconds) {
        let device = devices[index]
        let now = services.shared.clock.now
        change(index, .removal) { storage throws(StorageError) in
            try await storage.remove(device, ifNotUpdatedAfter: device.removalBound(time), at: now)
        }
    }

    /// A change to a registration that an outcome can cause.
    private enum Change {
        case environment, removal
    }

    /// Stores the change that an outcome makes to a registration; `store` returns whether it changed anything.
    ///
    /// Such outcomes are rare enough to use a task for each.
    private func change(
        _ index: Int, _ change: Change,
        _ store: @escaping @Sendable (any RegistrationStorage) async throws(StorageError) -> Bool
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
            if devices[index].details.tokenKind == nil {
                services.counts.deviceRemoved(
                    devices[index].bundleID, Environment(devices[index].environment))
            }
            items[index].removed = true
        }
        closeIfDone()
    }

    // MARK: The event's deadline

    private func closeIfDone() {
        if open == 0, changes == 0 { close() }
    }

    /// Ends the wait; pushes that have not started will not be started.
    private func close() {
        guard !isClosed else { return }
        isClosed = true
        attempts.isAwaited = false
        timer?.cancel()
        timer = nil
        services.slots.giveBack(items.count - next)
        next = items.count
        attempts.logReport()
        continuation?.resume()
        continuation = nil
    }
}
