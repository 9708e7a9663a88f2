import APNs
import HTTPServer
import Network
import Storage

extension Pushing.Order {
    /// The order for an event, with its arrival time.
    init(_ event: EventRequest, of key: SecretKey, eventID: String?, at time: EpochMilliseconds) {
        self.init(key: key, content: event, eventID: eventID, digest: event.content)
        actions = event.extras?.actions ?? []
        activity = event.activity(at: time)
        rings = event.type.rings
    }
}

/// Live Activities: their part of an event, and states that wait for their turn.
extension Pushing {
    /// The pushes of an event to Live Activities.
    struct Activities {
        var turn = ActivityTurn()
        var pushes: [ActivityPush] = []
        /// Results of the devices, by ID, whose notification an activity replaces.
        var results: [String: DeviceResult.Status] = [:]
    }

    /// The recipients of an order, with a slot for each push, and the results of devices that get no push.
    func recipients(
        of order: Order, _ devices: [Device]
    ) async throws(APIError) -> (Activities?, notified: [Device], [String: DeviceResult.Status]) {
        let notified = order.rings ? devices : []
        // These checks come before the calls because most events need none of them, and an asynchronous call isn't free.
        let kind = order.content.pushType.tokenKind
        // Assumes about one activity per device. Slots are taken before activities take their turn, so that after a
        // refusal the sender's retry can still take it.
        let reserved = notified.count + (order.activity == nil ? 0 : devices.count)
        guard services.slots.take(reserved) else { throw APIError(.overloaded, limit: .pushes) }
        guard order.activity != nil || kind != nil else { return (nil, notified, [:]) }
        do throws(APIError) {
            if let kind {
                let (recipients, results) = try await tokens(kind, of: order.key, devices)
                return (nil, recipients, results)
            }
            let activities = try await activities(order, devices)
            services.slots.exchange(reserved, for: notified.count + (activities?.pushes.count ?? 0))
            return (activities, notified, activities?.results ?? [:])
        } catch {
            services.slots.giveBack(reserved)
            throw error
        }
    }

    /// Decides which Live Activities get an event's state now; `nil` if the event has none.
    ///
    /// If the database fails, devices are notified regardless; an event that only concerns activities fails.
    private func activities(
        _ order: Order, _ devices: [Device]
    ) async throws(APIError) -> Activities? {
        guard let content = order.activity else { return nil }
        var found = Activities()
        do throws(StorageError) {
            found.turn = try await take(content, of: order.key, starting: content.type == .start)
            try await limitStarts(&found.turn, content, devices)
        } catch {
            guard content.type.rings else { throw APIError(error) }
            services.shared.log(.warning, "activity.unreadable", [.storageError(error)])
            return found
        }
        let replaced = content.type.rings ? devices.filter { found.turn.devices.contains($0.id) } : []
        for device in replaced {
            guard let stored = device.details.preferences,
                DevicePreferences(stored: stored).activityReplacesAlert
            else { continue }
            found.results[device.id] = .muted
        }
        found.pushes = content.pushes(
            found.turn, devices: devices, replacing: Set(found.results.keys), on: services)
        return found
    }

    /// Leaves out starts on devices that have reached the limit, under this registration or another.
    private func limitStarts(
        _ turn: inout ActivityTurn, _ content: ActivityContent, _ devices: [Device]
    ) async throws(StorageError) {
        let now = services.shared.monotonic()
        let refused = turn.starts.filter { start in
            guard let device = devices.first(where: { $0.id == start.deviceID }) else { return false }
            return !services.shared.activityStarts.take(device, at: now)
        }
        guard !refused.isEmpty else { return }
        turn.starts.removeAll { refused.contains($0) }
        try await services.shared.storage.releaseStarts(refused, session: content.sessionID)
    }

    /// The recipients of a push to tokens other than the devices' own, and the results of devices without such a token.
    private func tokens(
        _ kind: PushTokenKind, of key: SecretKey, _ devices: [Device]
    ) async throws(APIError) -> (recipients: [Device], results: [String: DeviceResult.Status]) {
        let tokens: [PushToken]
        do throws(StorageError) {
            tokens = try await services.shared.storage.tokens(kind, of: key, at: services.shared.clock.now)
        } catch {
            throw APIError(error)
        }
        var results: [String: DeviceResult.Status] = [:]
        let recipients = devices.map { device in
            if let token = tokens.first(where: { $0.deviceID == device.id }) {
                return token.recipient(asIn: device)
            }
            results[device.id] = .failed(reason: FailureReason.noPushToken)
            return device
        }
        return (recipients, results)
    }

    private func take(
        _ content: ActivityContent, of key: SecretKey, starting: Bool, isHeld: Bool = false
    ) async throws(StorageError) -> ActivityTurn {
        let interval = services.shared.limits.activityInterval.inMilliseconds
        let urgency: ActivityState.Urgency =
            switch content.type {
            case .complete, .permission, .error, .end: .immediate
            case .start, .progress: .progress(interval: interval, starting: starting)
            }
        return try await services.shared.storage.take(
            ActivityState(
                sessionID: content.sessionID, at: content.at, now: services.shared.clock.now,
                urgency: urgency, isHeld: isHeld), under: key)
    }

    /// Postpones a state for the activities that may not get it yet.
    func hold(_ held: HeldActivity, after turn: ActivityTurn) {
        guard let until = turn.heldUntil else { return }
        var held = held
        held.activity.at = turn.at
        hold(held, until: until)
    }

    private func hold(_ held: HeldActivity, until: EpochMilliseconds) {
        let place = ActivityHolds<HeldActivity>.Place(
            secret: held.key.primary, sessionID: held.activity.sessionID)
        let shared = services.shared
        guard shared.activityHolds.hold(held, of: place, at: held.activity.at) else { return }
        let wait = min(max(until - shared.clock.now, 0), shared.limits.activityInterval.inMilliseconds)
        nonisolated(unsafe) let pushing = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            await pushing.services.loop.pause(.milliseconds(wait))
            guard let held = shared.activityHolds.take(place) else { return }
            await pushing.deliverHeld(held)
        }
    }

    /// Sends a postponed state, unless the activity has ended or got a newer one.
    private func deliverHeld(_ held: HeldActivity) async {
        let shared = services.shared
        guard !shared.blocked.contains(held.key) else { return }
        // Slots are taken before activities take their turn, because an activity that took its turn counts as having
        // the state.
        guard services.slots.take(1) else {
            services.counts.hit(.pushes)
            return hold(held, until: shared.clock.now + shared.limits.activityInterval.inMilliseconds)
        }
        let turn: ActivityTurn
        do throws(StorageError) {
            // Activities are started only when the event arrives.
            turn = try await take(held.activity, of: held.key, starting: false, isHeld: true)
        } catch {
            services.slots.giveBack()
            return shared.log(.warning, "activity.unreadable", [.storageError(error)])
        }
        hold(held, after: turn)
        let pushes = held.activity.pushes(turn, devices: [], on: services)
        services.slots.exchange(1, for: pushes.count)
        guard !pushes.isEmpty else { return }
        let fanOut = FanOut([], held.content, of: held.key, on: services, activities: pushes.map(\.forFanOut))
        let results = await fanOut.run(deadline: shared.limits.eventDeadline)
        await record(held.content, of: held.key, results, among: [])
    }

    /// Completes an event's pushes to activities: notifies devices whose activity couldn't replace the notification,
    /// and removes ended activities and records of failed starts.
    ///
    /// - Parameter results: The results of the devices, followed by those of the activities.
    func finish(
        _ activities: Activities, _ order: Order, _ devices: [Device], _ results: inout [DeviceResult],
        within left: Duration
    ) async {
        let ofActivities = zip(activities.pushes, results.suffix(activities.pushes.count))
        var sent: [PushToken] = []
        var queued: [PushToken] = []
        var unstarted: [PushToken] = []
        var shown: Set<String> = []
        for (push, result) in ofActivities {
            switch result.status {
            case .sent:
                shown.formUnion([push.token.deviceID].compactMap(\.self))
                if push.item.activity == .end { sent.append(push.token) }
            case .queued:
                if push.item.activity == .end { queued.append(push.token) }
            // A push that was in flight at the deadline may have started one.
            case .failed(let reason) where reason != FailureReason.deadlineExceeded:
                guard push.item.activity == .start else { continue }
                unstarted.append(push.token)
                let device = devices.first { $0.id == push.token.deviceID }
                if let device { services.shared.activityStarts.giveBack(device) }
            case .failed, .muted: break
            }
        }
        do throws(StorageError) {
            if !unstarted.isEmpty, let content = order.activity {
                try await services.shared.storage.releaseStarts(unstarted, session: content.sessionID)
            }
            try await services.shared.storage.endActivities(sent: sent, queued: queued)
        } catch {
            services.shared.log(.warning, "activity.unreadable", [.storageError(error)])
        }
        let missed = devices.indices.filter { index in
            activities.results[devices[index].id] != nil && !shown.contains(devices[index].id)
        }
        guard !missed.isEmpty, left > .zero, services.slots.take(missed.count) else { return }
        let fanOut = FanOut(
            missed.map { devices[$0] }, order.content, of: order.key, on: services,
            eventID: order.acknowledgedAs)
        for (index, result) in zip(missed, await fanOut.run(deadline: left)) { results[index] = result }
    }
}

extension PushType {
    /// The kind of token for pushes of this type; `nil` for a device's own token.
    var tokenKind: PushTokenKind? {
        switch self {
        case .widgets: .widgets
        case .controls: .controls
        default: nil
        }
    }
}
