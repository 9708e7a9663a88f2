import APNs
import Delays
import HTTPServer
import Network
import Storage

/// The common part of events and notifications: limits, deduplication by `eventID`, fan-out, response and delivery log.
struct Pushing {
    let services: LoopServices

    /// The content to push, and its recipients.
    struct Order: Sendable {
        /// The secret's key.
        let key: SecretKey
        let content: any PushContent
        let eventID: String?
        /// The actions that replies may have; any if it is empty.
        var actions: [String] = []
        /// Two orders with one `eventID` must have the same digest.
        let digest: Digest256
        /// The only recipient; `nil` for all devices.
        var onlyDevice: DeviceToken?
        /// The recipients among the secret's devices; `nil` for all of them.
        var choose: (@Sendable ([Device]) -> [Device])?
        /// The `id` of the only recipient's registration; `nil` for all devices.
        var onlyDeviceID: String?
        /// The order to store if it is sent later; `nil` if it can't be sent later.
        var source: Source?
        /// How it is repeated until it is acknowledged.
        var repetition: Repetition?
        /// Whether it counts as an event of its secret.
        var isCounted = true
        /// Whether it is new to the secret's history.
        var isNew = true
        /// The event's state for Live Activities.
        var activity: ActivityContent?
        /// Whether devices are notified; if not, it only concerns Live Activities.
        var rings = true
        /// Whether it is tried again if no push was accepted or stored, because no caller learns of that.
        var isTriedAgain = false
    }

    /// The request or the row that an order comes from.
    enum Source: Sendable {
        case request(StoredOrder.Target, [UInt8])
        case stored(StoredOrder)
    }

    /// Responds when every device has an outcome, or at the event's deadline.
    ///
    /// - Parameter started: When the request was received.
    func answer(
        _ order: Order, _ request: Request, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let devices = try await admit(order, started, &trace)
        if devices.isEmpty { try shared.rates.countUnknownSecret(request, at: services.loop.now) }
        return Reply(body: try await send(order, to: devices, started, &trace))
    }

    /// Sends a scheduled order, like ``answer(_:_:_:_:)`` without a request.
    ///
    /// - Parameter started: When the attempt began.
    /// - Returns: The response that a request would get; it may be that of an earlier attempt.
    func sendScheduled(
        _ order: Order, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        let devices = try await admit(order, started, &trace)
        return try await send(order, to: devices, started, &trace)
    }

    /// The secret's devices, if it may send now.
    private func admit(
        _ order: Order, _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [Device] {
        trace.add(.secretHash(order.key.primary))
        guard !shared.blocked.contains(order.key) else { throw APIError(.blocked) }
        if order.isCounted { try shared.rates.countEvent(order.key, at: started) }
        return try await devices(of: order)
    }

    private func send(
        _ order: Order, to devices: [Device], _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        guard let eventID = order.eventID else {
            return try await deliver(order, to: devices, started, &trace)
        }
        return try await once(eventID, order, to: devices, started, &trace)
    }

    // MARK: Once per eventID

    /// Delivers unless another request with the `eventID` does or did; then returns that request's response.
    private func once(
        _ eventID: String, _ order: Order, to devices: [Device],
        _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        var backOff = Bounds.claimPollBackOff
        var devices = devices
        while true {
            // Created for each attempt, so that a claim won late lasts as long as one won immediately.
            let now = shared.clock.now
            let lease = shared.limits.eventDeadline + shared.limits.claimLeaseMargin
            let claim = EventClaim(
                id: services.makeID(), key: order.key, eventID: eventID, content: order.digest,
                actions: order.actions, at: now, leaseUntil: now + lease.inMilliseconds)
            switch try await self.claim(claim) {
            case .claimed:
                return try await deliverClaimed(claim, order, to: devices, started, &trace)
            case .answered(let answer):
                trace.add(.count("repeated", 1))
                return answer
            case .conflict:
                throw APIError(.eventConflict, field: .eventID)
            case .inProgress:
                let waited = services.loop.now.since(started)
                // The other request may use all of its time and then has to store its response.
                let deadline = shared.limits.eventDeadline
                guard waited < deadline + min(Bounds.claimWaitMargin, deadline / 2), !Task.isCancelled else {
                    throw APIError(
                        .overloaded, retryAfterSeconds: Bounds.claimRetryAfterSeconds,
                        logDetail: "another request is still processing this eventID")
                }
                await services.loop.pause(backOff.next())
                devices = try await self.devices(of: order)
            }
        }
    }

    private func claim(_ claim: EventClaim) async throws(APIError) -> EventClaimResult {
        do throws(StorageError) {
            return try await shared.storage.claim(claim)
        } catch {
            throw APIError(error)
        }
    }

    private func deliverClaimed(
        _ claim: EventClaim, _ order: Order, to devices: [Device], _ started: MonotonicTime,
        _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        let answer: [UInt8]
        do throws(APIError) {
            if let repetition = order.repetition {
                try await startRepeating(order, claim.eventID, repetition)
            }
            answer = try await deliver(order, to: devices, started, &trace)
        } catch {
            // Nothing was sent, so the caller's next attempt must find the event unclaimed, and no repetition may ring
            // later.
            if order.repetition != nil {
                await services.stopRepeating(EventName(claim.eventID, of: order.key))
            }
            do throws(StorageError) {
                try await shared.storage.release(claim)
            } catch {
                shared.log(.warning, "receipt.not_released", [.storageError(error)])
            }
            throw error
        }
        // Pushes were sent: the caller gets this response regardless of the receipt.
        await keep(answer, of: claim)
        return answer
    }

    /// Stores the response for the same `eventID`; retries don't delay the caller.
    private func keep(_ answer: [UInt8], of claim: EventClaim) async {
        guard let failure = await failureOfKeeping(answer, of: claim) else { return }
        guard failure.canBeCured, services.receiptsRetried < Bounds.receiptsRetriedMax else {
            return noteNotKept(claim, failure)
        }
        services.receiptsRetried += 1
        nonisolated(unsafe) let pushing = self  // why: confined to the loop that runs the task
        services.loop.spawn { _ in
            await pushing.keepTrying(answer, of: claim)
            pushing.services.receiptsRetried -= 1
        }
    }

    /// Until it is stored, a database that recovers would allow the event to be sent again.
    private func keepTrying(_ answer: [UInt8], of claim: EventClaim) async {
        let end = services.loop.now + Bounds.receiptRetryTime
        var backOff = Bounds.receiptBackOff
        while true {
            await services.loop.pause(backOff.next())
            guard let failure = await failureOfKeeping(answer, of: claim) else { return }
            guard failure.canBeCured, services.loop.now < end else { return noteNotKept(claim, failure) }
        }
    }

    private func failureOfKeeping(_ answer: [UInt8], of claim: EventClaim) async -> StorageError? {
        do throws(StorageError) {
            if try await !shared.storage.complete(claim, answer: answer) {
                shared.log(.warning, "receipt.lost", [.secretHash(claim.key.primary)])
            }
            return nil
        } catch {
            return error
        }
    }

    private func noteNotKept(_ claim: EventClaim, _ failure: StorageError) {
        shared.log(.error, "receipt.not_kept", [.secretHash(claim.key.primary), .storageError(failure)])
    }

    // MARK: Delivery

    private var shared: Services { services.shared }

    /// The secret's devices, unless the relay is overloaded.
    private func devices(of order: Order) async throws(APIError) -> [Device] {
        guard !services.slots.refuses(1) else { throw APIError(.overloaded, limit: .pushes) }
        return try await devices(of: order.key)
    }

    /// The secret's devices, under its primary hash.
    func devices(of key: SecretKey) async throws(APIError) -> [Device] {
        do throws(StorageError) {
            let devices = try await shared.storage.devices(of: key)
            guard devices.indices.contains(where: { devices[$0].secretHash != key.primary }) else {
                return devices
            }
            // Before anything is sent, because pushes are stored under the device's current hash.
            guard try await shared.storage.rehash(key) else { return devices }
            shared.log(
                .info, "secret.rehashed", [.secretHash(key.primary), .count("devices", devices.count)])
            return try await shared.storage.devices(of: key)
        } catch {
            throw APIError(error)
        }
    }

    /// Pushes to every device and returns the response body.
    ///
    /// Throws only if nothing was sent.
    private func deliver(
        _ order: Order, to devices: [Device], _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> [UInt8] {
        let devices = order.recipients(among: devices)
        trace.add(.count("devices", devices.count))
        guard !devices.isEmpty else { return EventAnswer(results: []).body }
        var left = shared.limits.eventDeadline - services.loop.now.since(started)
        guard left > .zero else {
            // The caller has given up and will retry, so these pushes would be sent twice.
            throw APIError(.storageUnavailable, logDetail: "the device look-up exceeded the event's deadline")
        }
        let (activities, notified, outcomes) = try await recipients(of: order, devices)
        let pushes = activities?.pushes ?? []
        let reserved = notified.contains(where: \.hasFrequency) ? await reserve(order, notified) : nil
        var unread: Int?
        if let history = shared.history, order.rings {
            unread = await remember(order, devices, in: history, within: left / 2)
        }
        if activities != nil || reserved != nil || shared.history != nil {
            left = shared.limits.eventDeadline - services.loop.now.since(started)
        }
        let fanOut = FanOut(
            notified, order.content, of: order.key, on: services, eventID: order.acknowledgedAs,
            unread: unread, mayHold: order.source != nil, full: reserved?.full ?? [], results: outcomes,
            activities: pushes.map(\.forFanOut))
        var results = await fanOut.run(deadline: left)
        if !fanOut.held.isEmpty { await hold(order, notified, fanOut.held, &results) }
        if let activities, let content = order.activity {
            hold(
                HeldActivity(key: order.key, content: order.content, activity: content),
                after: activities.turn)
            left = shared.limits.eventDeadline - services.loop.now.since(started)
            await finish(activities, order, notified, &results, within: left)
        }
        if let reserved { shared.frequency.settle(reserved, results, of: order.key) }
        if order.isTriedAgain, pushes.isEmpty, !results.isEmpty, results.allSatisfy(\.isUnstored) {
            throw APIError(.storageUnavailable, logDetail: "no push was accepted, and none could be stored")
        }
        let answer = EventAnswer(results: results, held: activities?.turn.held)
        trace.add(.count("sent", answer.sent))
        trace.add(.count("failed", answer.failed))
        if answer.muted > 0 { trace.add(.count("muted", answer.muted)) }
        if answer.queued > 0 { trace.add(.count("queued", answer.queued)) }
        if !pushes.isEmpty { trace.add(.count("activities", pushes.count)) }
        await record(order.content, of: order.key, results, among: notified)
        return answer.body
    }

    /// Counts pushes to devices with a frequency limit; permission requests reach all devices.
    private func reserve(_ order: Order, _ devices: [Device]) async -> FrequencyCounts.Reservation? {
        guard order.content.pushType == .alert, order.content.kind != EventType.permission.rawValue else {
            return nil
        }
        return await shared.frequency.reserve(
            for: devices, of: order.key, at: shared.clock.now, shared.monotonic(), in: shared.storage)
    }

    /// Adds an event to its secret's history, and counts the unread items if a badge needs that.
    ///
    /// The item is stored before its pushes are sent, so that devices find it.
    private func remember(
        _ order: Order, _ devices: [Device], in history: History, within limit: Duration
    ) async -> Int? {
        let isCounted =
            order.content.pushType == .alert
            && (order.content.hasUnreadBadge || devices.contains(where: \.hasUnreadBadge))
        guard isCounted || order.isNew && order.content.history != nil else { return nil }
        let keepsText = history.options.keepsText
        let item = (order.isNew ? order.content.history : nil).map { content in
            HistoryItem(
                id: services.makeID(), secretHash: order.key.primary, eventID: order.eventID,
                eventType: order.content.kind ?? order.content.logType, sessionID: order.content.sessionID,
                serverID: content.serverID, title: keepsText ? content.title : nil,
                body: keepsText ? content.body : nil, sealed: content.sealed)
        }
        return await history.add(
            item, of: order.key, countingUnread: isCounted, within: limit, on: services.loop)
    }

    /// Writes the results to the delivery log, as far as it is kept.
    ///
    /// Queued pushes are logged when they end, and muted ones never. Waits while the log is crowded, which slows down
    /// senders.
    ///
    /// - Parameter devices: The devices that were notified.
    func record(
        _ content: any PushContent, of key: SecretKey, _ results: [DeviceResult], among devices: [Device]
    ) async {
        let now = shared.clock.now
        if shared.deliveryLog.isCrowded { await waitForRoomInLog() }
        let kept = shared.deliveryLog.kept
        let counted = kept.countedDevices(among: devices)
        let (type, session) = (content.logType, content.sessionID)
        // Uses indices to avoid copying results.
        let rows = results.indices.lazy.filter {
            guard results[$0].isEnded else { return false }
            guard let counted else { return true }
            return kept.includes(isFailed: results[$0].isFailed) || counted.contains(results[$0].deviceID)
        }.map { index in
            var error: String?
            if case .failed(let reason) = results[index].status { error = reason }
            return Delivery(
                id: results[index].pushID ?? services.makeID().text, secretHash: key.primary,
                eventType: results[index].activity == nil ? type : content.logType(isActivity: true),
                sessionID: session, status: error == nil ? .sent : .failed, error: error,
                createdAt: now, deviceID: results[index].deviceID)
        }
        shared.deliveryLog.append(rows)
    }

    private func waitForRoomInLog() async {
        let end = services.loop.now + shared.deliveryLog.delayMax
        var backOff = Bounds.deliveriesDelayBackOff
        while services.loop.now < end, shared.deliveryLog.isCrowded {
            await services.loop.pause(backOff.next())
        }
    }
}

extension Pushing.Order {
    /// The `eventID` by which it is acknowledged; `nil` if it can't be.
    var acknowledgedAs: String? {
        if case .stored(let stored)? = source { stored.acknowledgedAs ?? eventID } else { eventID }
    }

    /// The devices that get it.
    fileprivate func recipients(among devices: [Device]) -> [Device] {
        let devices = choose.map { $0(devices) } ?? devices
        if let onlyDeviceID { return devices.filter { $0.id == onlyDeviceID } }
        guard let onlyDevice else { return devices }
        // OpenCode's relay may have stored tokens in upper case.
        return devices.filter { DeviceToken($0.token) == onlyDevice }
    }
}

extension Device {
    /// Whether its pushes have the number of unread items as their badge.
    fileprivate var hasUnreadBadge: Bool {
        details.preferences.map { DevicePreferences(stored: $0).badge == .unread } ?? false
    }
}

extension DeviceResult {
    fileprivate var isFailed: Bool {
        if case .failed = status { true } else { false }
    }

    /// Whether the result is final: sent or failed.
    fileprivate var isEnded: Bool {
        switch status {
        case .sent, .failed: true
        case .queued, .muted: false
        }
    }
}
