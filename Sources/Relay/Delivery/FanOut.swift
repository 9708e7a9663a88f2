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
        /// `nil` for a row whose token or bundle is none that APNs could have given out.
        let push: Push?
        var result: DeviceResult?
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
    ///
    /// - Parameter expiration: Seconds since 1970 until which APNs keeps the pushes.
    init(_ devices: [Device], payload: [UInt8], expiration: UInt64, on services: LoopServices) {
        self.services = services
        items = devices.map { device in
            guard let token = DeviceToken(device.token), let topic = Topic(device.bundleID) else {
                return Item(device: device, push: nil)
            }
            let push = Push(
                deviceToken: token, topic: topic, expiration: expiration, id: services.makeID().text,
                payload: payload)
            return Item(device: device, push: push)
        }
        open = devices.count
        begunAt = services.shared.clock.now
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
            if let push = items[index].push {
                send(push, index, firstAttempt(items[index].device))
            } else {
                settle(index, .failed(reason: Self.invalidRegistration))
            }
        }
        isStarting = false
        answerIfDone()
    }

    private func firstAttempt(_ device: Device) -> DeliveryAttempt {
        DeliveryAttempt(
            registeredEnvironment: Environment(device.environment), mayChangeEnvironment: true,
            isTopicDefault: device.bundleID == services.shared.rules.defaultBundleID?.text,
            firstSentAt: begunAt)
    }

    private func send(_ push: Push, _ index: Int, _ attempt: DeliveryAttempt) {
        services.senders[attempt.environment].send(push) { [self] outcome in
            decide(outcome, push, index, attempt)
        }
    }

    private func decide(_ outcome: Outcome, _ push: Push, _ index: Int, _ attempt: DeliveryAttempt) {
        let step = OutcomePolicy.step(after: outcome, of: attempt)
        report.note(outcome, step, attempt.environment)
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
            device: items[index].device, pushID: items[index].push?.id, status: status)
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
                    device: item.device, pushID: item.push?.id, status: .failed(reason: Self.deadlineExceeded)
                )
        }
        continuation?.resume(returning: results)
        continuation = nil
    }

    /// The reason of a device that had no outcome by the event's deadline.
    static let deadlineExceeded = "DeadlineExceeded"
    /// The reason of a device whose stored token or bundle can't be one of APNs'.
    static let invalidRegistration = "InvalidRegistration"
}

extension Outcome {
    /// The identifier under which APNs took the push.
    fileprivate var apnsID: String? {
        if case .accepted(let id, _) = self { id } else { nil }
    }
}
