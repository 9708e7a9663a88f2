import APNs
import Network
import Storage

/// The pushes of one event: sends them to every device at once, within bounds, and gathers what they come to.
///
/// Confined to its loop, and without a task of its own: outcomes come as calls on the loop. An outcome that comes
/// after the deadline still has its effect on the registration, but no longer on the answer.
final class FanOut {
    /// One device's push on its way.
    private struct Item {
        let device: Device
        /// The push, or why there is none.
        let push: Preparation
        var result: DeviceResult?
    }

    /// What a device's push is before it is sent.
    private enum Preparation {
        case ready(Push)
        case impossible(reason: String)

        var push: Push? { if case .ready(let push) = self { push } else { nil } }
    }

    private let services: LoopServices
    private var items: [Item]
    /// The first device whose push has not been begun.
    private var next = 0
    private var inFlight = 0
    /// Devices without a result.
    private var open: Int
    /// Changes of registrations that are being stored.
    private var changes = 0
    private var isStarting = false
    private var isAnswered = false
    private var timer: Timer?
    private var continuation: CheckedContinuation<[DeviceResult], Never>?
    private var report = FanOutReport()
    /// The devices were read before, the pushes are sent after: what registers from now on is fresh.
    private let begunAt: EpochMilliseconds

    /// Prepares a push to each device; the caller has taken a slot for each.
    init(_ devices: [Device], _ content: any PushContent, on services: LoopServices) {
        self.services = services
        begunAt = services.shared.clock.now
        open = devices.count
        var payloads = PayloadCache(content)
        items = devices.map { device in
            Item(device: device, push: Self.prepare(device, content, &payloads, services))
        }
    }

    private static func prepare(
        _ device: Device, _ content: any PushContent, _ payloads: inout PayloadCache, _ services: LoopServices
    ) -> Preparation {
        guard let token = DeviceToken(device.token), let topic = Topic(device.bundleID) else {
            return .impossible(reason: invalidRegistration)
        }
        guard let app = services.apps[device.bundleID] else { return .impossible(reason: unknownBundle) }
        guard app.environments.contains(Environment(device.environment)) else {
            return .impossible(reason: environmentNotAllowed)
        }
        let timeToLive = content.timeToLive ?? app.push.timeToLive
        return .ready(
            Push(
                deviceToken: token, topic: topic, pushType: content.pushType, priority: content.priority,
                expiration: expiration(timeToLive, at: services.shared.clock.now), id: services.makeID().text,
                collapseID: content.collapseID, payload: payloads.payload(PushStyle(sound: app.push.sound))))
    }

    /// `apns-expiration` of a push that is made now: seconds since 1970; 0 is one attempt.
    private static func expiration(_ timeToLive: Duration, at now: EpochMilliseconds) -> UInt64 {
        timeToLive == .zero ? 0 : UInt64(max(0, now + timeToLive.inMilliseconds) / 1000)
    }

    /// Sends, and returns a result for each device, in their order, when all have one or the deadline has passed.
    func run(deadline: Duration) async -> [DeviceResult] {
        await withCheckedContinuation { continuation in
            self.continuation = continuation
            timer = Timer(on: services.loop) { [unowned self] in answer() }
            timer?.schedule(after: max(deadline, .zero))
            start()
        }
    }

    // MARK: Sending

    /// Begins pushes as far as the bound of one event allows.
    private func start() {
        // An outcome may come within `send`: then the loop below goes on, rather than one call inside the other.
        guard !isStarting, !isAnswered else { return }
        isStarting = true
        while next < items.count, inFlight < services.shared.limits.pushesPerEventMax {
            let index = next
            next += 1
            inFlight += 1
            switch items[index].push {
            case .ready(let push): send(push, index, firstAttempt(items[index].device))
            case .impossible(let reason): settle(index, .failed(reason: reason))
            }
        }
        isStarting = false
        answerIfDone()
    }

    private func firstAttempt(_ device: Device) -> DeliveryAttempt {
        DeliveryAttempt(
            registeredEnvironment: Environment(device.environment),
            mayChangeEnvironment: services.apps[device.bundleID]?.environments.count == 2,
            isTopicDefault: device.bundleID == services.rules.defaultBundleID?.text,
            firstSentAt: begunAt)
    }

    private func send(_ push: Push, _ index: Int, _ attempt: DeliveryAttempt) {
        // Looked up again for each attempt: the apps may have been replaced since the last.
        guard let app = services.apps[push.topic.text] else {
            return settle(index, .failed(reason: Self.unknownBundle))
        }
        services.senders.sender(of: app, to: attempt.environment).send(push) { [self] outcome in
            decide(outcome, push, index, attempt, app.key)
        }
    }

    private func decide(
        _ outcome: Outcome, _ push: Push, _ index: Int, _ attempt: DeliveryAttempt, _ key: AppKey
    ) {
        let step = OutcomePolicy.step(after: outcome, of: attempt)
        report.note(outcome, step, attempt.environment, key)
        let device = items[index].device
        switch step {
        case .sent(let environment):
            if let environment {
                change(index) { storage throws(StorageError) in
                    _ = try await storage.setEnvironment(DeviceEnvironment(environment), of: device)
                    return false
                }
            }
            settle(index, .sent(apnsID: outcome.apnsID ?? push.id))
        case .sendAgain(let next) where !isAnswered:
            send(push, index, next)
            return
        case .sendAgain:
            settle(index, .failed(reason: Self.deadlineExceeded))
        case .retryLater(let retry):
            settle(index, .failed(reason: retry.reason))
        case .failed(let failure):
            if let time = failure.removeIfNotUpdatedAfter {
                change(index) { storage throws(StorageError) in
                    try await storage.remove(device, ifNotUpdatedAfter: time)
                }
            }
            settle(index, .failed(reason: failure.reason))
        }
        start()
    }

    /// A push has come to its end: its slot is free, and so is its place among the event's pushes.
    private func settle(_ index: Int, _ status: DeviceResult.Status) {
        inFlight -= 1
        services.slots.giveBack()
        guard !isAnswered else {
            if inFlight == 0 { report.log(to: services.shared) }
            return
        }
        items[index].result = DeviceResult(
            device: items[index].device, pushID: items[index].push.push?.id, status: status)
        open -= 1
    }

    // MARK: Effects

    /// Stores what an outcome says about a registration; `store` says whether it removed it.
    ///
    /// Such outcomes are rare, so that a task for each is no burden.
    private func change(
        _ index: Int, _ store: @escaping @Sendable (any Storage) async throws(StorageError) -> Bool
    ) {
        changes += 1
        let shared = services.shared
        nonisolated(unsafe) let fanOut = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            var isRemoved = false
            do throws(StorageError) {
                isRemoved = try await store(shared.storage)
            } catch {
                shared.log(.warning, "registration.unchanged", [.storageError(error)])
            }
            fanOut.changed(index, isRemoved: isRemoved)
        }
    }

    private func changed(_ index: Int, isRemoved: Bool) {
        changes -= 1
        if isRemoved { items[index].result?.removed = true }
        answerIfDone()
    }

    // MARK: Answering

    private func answerIfDone() {
        if open == 0, changes == 0 { answer() }
    }

    /// Ends the wait; pushes that were not begun are not going to be.
    private func answer() {
        guard !isAnswered else { return }
        isAnswered = true
        timer?.cancel()
        timer = nil
        services.slots.giveBack(items.count - next)
        next = items.count
        report.log(to: services.shared)
        report = FanOutReport()
        let results = items.map { item in
            item.result
                ?? DeviceResult(
                    device: item.device, pushID: item.push.push?.id,
                    status: .failed(reason: Self.deadlineExceeded)
                )
        }
        continuation?.resume(returning: results)
        continuation = nil
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
