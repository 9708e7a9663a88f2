import Network
import Programs
import Storage

/// Sends events' states to Live Activities, including states that wait for their turn.
extension Dispatcher {
    /// An event's pushes to Live Activities.
    struct Activities {
        var turn = ActivityTurn()
        var pushes: [ActivityPush] = []
        /// The results for devices whose notification an activity replaces, by device ID.
        var results: [String: DeviceResult.Status] = [:]
    }

    /// Takes a slot for each push, and returns the recipients to notify and the results of devices that get no push.
    func reserve(
        _ dispatch: Dispatch, _ activity: ActivityContent?, _ recipients: Recipients
    ) async throws(APIError) -> (Activities?, notified: Recipients, [String: DeviceResult.Status]) {
        let notified = dispatch.content.rings ? recipients : Recipients()
        // These checks precede the calls, because most events need no call and an asynchronous call isn't free.
        let kind = dispatch.content.tokenKind
        // Assumes about one activity per device. Slots are taken before the activities' turn, so that after a refusal
        // the sender's retry can still take the turn.
        let reserved = notified.count + (activity == nil ? 0 : recipients.count)
        guard services.slots.take(reserved) else { throw APIError(.overloaded, limit: .pushes) }
        guard activity != nil || kind != nil else { return (nil, notified, [:]) }
        do throws(APIError) {
            if let kind {
                let (recipients, results) = try await tokens(kind, of: dispatch.tenant, recipients)
                return (nil, recipients, results)
            }
            var activities: Activities?
            if let activity { activities = try await take(activity, of: dispatch.tenant, recipients) }
            services.slots.exchange(reserved, for: notified.count + (activities?.pushes.count ?? 0))
            return (activities, notified, activities?.results ?? [:])
        } catch {
            services.slots.giveBack(reserved)
            throw error
        }
    }

    /// Decides which Live Activities get an event's state now.
    ///
    /// If the database fails, devices are notified regardless; an event that concerns only activities fails.
    private func take(
        _ content: ActivityContent, of tenant: SecretKey, _ recipients: Recipients
    ) async throws(APIError) -> Activities {
        var found = Activities()
        do throws(StorageError) {
            found.turn = try await take(content, of: tenant, starting: content.type == .start)
            try await limitStarts(&found.turn, content, recipients.devices)
        } catch {
            guard content.type.rings else { throw APIError(error) }
            services.shared.log(.warning, "activity.unreadable", [.storageError(error)])
            return found
        }
        if content.type.rings {
            for index in recipients.indices where recipients.preferences(index).activityReplacesAlert {
                let id = recipients.devices[index].id
                if found.turn.devices.contains(id) { found.results[id] = .muted }
            }
        }
        found.pushes = content.pushes(
            found.turn, recipients, replacing: Set(found.results.keys), on: services)
        return found
    }

    /// Leaves out starts of activities on devices that have reached the limit, under this registration or another.
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

    /// The recipients of a push to tokens other than the devices' own, and the results of devices without such tokens.
    private func tokens(
        _ kind: PushTokenKind, of key: SecretKey, _ recipients: Recipients
    ) async throws(APIError) -> (recipients: Recipients, results: [String: DeviceResult.Status]) {
        let tokens: [PushToken]
        do throws(StorageError) {
            tokens = try await services.shared.storage.tokens(kind, of: key, at: services.shared.clock.now)
        } catch {
            throw APIError(error)
        }
        var results: [String: DeviceResult.Status] = [:]
        let reached = recipients.replacingDevices { device in
            if let token = tokens.first(where: { $0.deviceID == device.id }) {
                return token.recipient(asIn: device)
            }
            results[device.id] = .failed(reason: FailureReason.noPushToken)
            return device
        }
        return (reached, results)
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

    /// Defers a state for the activities that can't get it yet.
    func hold(_ held: DeferredState, after turn: ActivityTurn) {
        guard let until = turn.heldUntil else { return }
        var held = held
        held.activity.at = turn.at
        hold(held, until: until)
    }

    private func hold(_ held: DeferredState, until: EpochMilliseconds) {
        let place = DeferredStates<DeferredState>.Session(
            secret: held.key.primary, sessionID: held.activity.sessionID)
        let shared = services.shared
        guard shared.deferredStates.keep(held, of: place, at: held.activity.at) else { return }
        let wait = min(max(until - shared.clock.now, 0), shared.limits.activityInterval.inMilliseconds)
        nonisolated(unsafe) let dispatcher = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            await dispatcher.services.loop.pause(.milliseconds(wait))
            guard let held = shared.deferredStates.take(place) else { return }
            await dispatcher.deliverHeld(held)
        }
    }

    /// Sends a deferred state, unless the activity has ended or received a newer one.
    private func deliverHeld(_ held: DeferredState) async {
        let shared = services.shared
        guard !shared.blocked.contains(held.key) else { return }
        // Slots are taken before the activities' turn, because an activity whose turn was taken counts as having the
        // state.
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
        let pushes = held.activity.pushes(turn, Recipients(), on: services)
        services.slots.exchange(1, for: pushes.count)
        guard !pushes.isEmpty else { return }
        let fanOut = FanOut(
            Recipients(), held.content, of: held.key, on: services, activities: pushes.map(\.forFanOut))
        let results = await fanOut.run(deadline: shared.limits.eventDeadline)
        await record(held.content, of: held.key, results, among: Recipients())
    }

    /// Completes an event's pushes to activities: notifies devices whose activity couldn't replace the notification,
    /// and removes ended activities and the records of failed starts.
    ///
    /// - Parameter results: The results of the devices, followed by those of the activities.
    func finish(
        _ activities: Activities, _ dispatch: Dispatch, _ recipients: Recipients,
        _ results: inout [DeviceResult], within left: Duration
    ) async {
        let devices = recipients.devices
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
            // Excludes a push that was in flight at the deadline, because it may have started an activity.
            case .failed(let reason) where reason != FailureReason.deadlineExceeded:
                guard push.item.activity == .start else { continue }
                unstarted.append(push.token)
                let device = devices.first { $0.id == push.token.deviceID }
                if let device { services.shared.activityStarts.giveBack(device) }
            case .failed, .muted: break
            }
        }
        do throws(StorageError) {
            if !unstarted.isEmpty {
                try await services.shared.storage.releaseStarts(
                    unstarted, session: dispatch.content.sessionID)
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
            recipients.choose(missed), dispatch.content, of: dispatch.tenant, on: services,
            eventID: dispatch.origin.event)
        for (index, result) in zip(missed, await fanOut.run(deadline: left)) { results[index] = result }
    }
}
