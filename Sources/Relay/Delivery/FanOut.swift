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
        let device: Device
        /// `nil` where there can be none; then ``phase`` says why.
        let push: Push?
        /// Its first attempt.
        var attempt: DeliveryAttempt?
        var phase = Phase.notBegun
        var removed = false
    }

    enum Phase {
        case notBegun
        case inFlight
        /// It has its result.
        case ended(DeviceResult.Status)
        /// APNs could not take it.
        case later(OutcomePolicy.RetryLater)
        /// It was in flight at the end of the event's time and is being stored; `step` if it had an outcome since.
        case storing(step: OutcomePolicy.Step?)
        /// It is in flight and in the queue, leased by this process.
        case held(HeldPush)
    }

    let services: LoopServices
    let content: any PushContent
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
        let now = services.shared.clock.now
        begunAt = now
        open = devices.count
        var payloads = PayloadCache(content)
        items = devices.map { device in Self.prepare(device, content, &payloads, services, at: now) }
    }

    private static func prepare(
        _ device: Device, _ content: any PushContent, _ payloads: inout PayloadCache,
        _ services: LoopServices, at now: EpochMilliseconds
    ) -> Item {
        switch services.destination(of: device) {
        case .none(let reason):
            return Item(device: device, push: nil, phase: .ended(.failed(reason: reason)))
        case .app(let app, let token, let topic):
            guard let style = style(device, content, app, services, at: now) else {
                return Item(device: device, push: nil, phase: .ended(.muted))
            }
            let timeToLive = content.timeToLive ?? app.push.timeToLive
            let push = Push(
                deviceToken: token, topic: topic, pushType: content.pushType, priority: content.priority,
                expiration: expiration(timeToLive, at: now), id: services.makeID().text,
                collapseID: content.collapseID, payload: payloads.payload(style))
            return Item(
                device: device, push: push, attempt: services.firstAttempt(to: device, of: app, at: now))
        }
    }

    /// The style in which a device wants it now; `nil` when it doesn't want it.
    private static func style(
        _ device: Device, _ content: any PushContent, _ app: PushApp, _ services: LoopServices,
        at now: EpochMilliseconds
    ) -> PushStyle? {
        var style = PushStyle(sound: app.push.sound)
        guard let preferences = device.details.preferences else { return style }
        let zones = services.rules.timeZones
        switch DevicePreferences(stored: preferences).wish(
            for: content.eventType, at: now, zone: zones.zone)
        {
        case .normal: return style
        case .muted: return nil
        case .quiet:
            style.isQuiet = true
            return content.isSoundAlone ? nil : style
        }
    }

    /// `apns-expiration` of a push that is made now: seconds since 1970; 0 is one attempt.
    private static func expiration(_ timeToLive: Duration, at now: EpochMilliseconds) -> UInt64 {
        timeToLive == .zero ? 0 : UInt64(max(0, now + timeToLive.inMilliseconds) / 1000)
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
        return items.map { item in
            let status = item.phase.result
            services.counts.result(status, of: item.device)
            return DeviceResult(
                deviceID: item.device.id,
                maskedToken: item.push?.deviceToken.description ?? item.device.maskedToken,
                pushID: item.push?.id, status: status, removed: item.removed)
        }
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
        let isSent = services.send(push, attempt) { [self] outcome, key in
            decide(outcome, index, attempt, key)
        }
        guard !isSent else { return }
        settle(index, .ended(.failed(reason: Self.unknownBundle)))
        start()
    }

    private func decide(_ outcome: Outcome, _ index: Int, _ attempt: DeliveryAttempt, _ key: AppKey) {
        let step = OutcomePolicy.step(after: outcome, of: attempt)
        report.note(outcome, step, attempt.environment, key)
        guard !isClosed else { return decideLate(step, index) }
        switch step {
        case .sent(let environment):
            if let environment {
                let device = items[index].device
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
    private func settle(_ index: Int, _ phase: Phase) {
        inFlight -= 1
        services.slots.giveBack()
        items[index].phase = phase
        open -= 1
    }

    // MARK: Effects

    func remove(_ index: Int, ifNotUpdatedAfter time: EpochMilliseconds) {
        let device = items[index].device
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

/// The payloads of one fan-out, each made once.
private struct PayloadCache {
    private let content: any PushContent
    private var made: [(style: PushStyle, payload: [UInt8])] = []

    init(_ content: any PushContent) {
        self.content = content
    }

    /// The payload of a style; there are few of them.
    mutating func payload(_ style: PushStyle) -> [UInt8] {
        if let found = made.first(where: { $0.style == style }) { return found.payload }
        let payload = content.payload(style)
        made.append((style, payload))
        return payload
    }
}

extension Outcome {
    /// The identifier under which APNs took the push.
    fileprivate var apnsID: String? {
        if case .accepted(let id, _) = self { id } else { nil }
    }
}
