import Delays
import Network
import Programs
import Storage

/// Sends dispatches of any origin to all their recipients, once per `eventID`, and writes the results to the delivery
/// log.
struct Dispatcher {
    let services: LoopServices

    var shared: Services { services.shared }

    /// Returns a tenant's devices, or throws if the relay is overloaded.
    func devices(of tenant: SecretKey) async throws(APIError) -> [Device] {
        guard !services.slots.refuses(1) else { throw APIError(.overloaded, limit: .pushes) }
        return try await services.devices(of: tenant)
    }

    /// Sends a dispatch to the recipients among these devices, and returns when each has an outcome or at the event's
    /// deadline.
    ///
    /// - Parameters:
    ///   - devices: The tenant's devices.
    ///   - claimed: The claim on the dispatch's event ID, if it was made together with others.
    ///   - started: When the request was received or the attempt to send began.
    func send(
        _ dispatch: Dispatch, to devices: [Device], claimed: Claimed? = nil, _ started: MonotonicTime,
        _ trace: inout RequestTrace
    ) async throws(APIError) -> DispatchResult {
        guard let receiptID = dispatch.origin.receiptID else {
            return try await deliver(dispatch, to: devices, started, &trace)
        }
        return try await once(receiptID, dispatch, to: devices, claimed: claimed, started, &trace)
    }

    // MARK: Delivery

    /// Sends a push to every recipient.
    ///
    /// Throws only if nothing was sent.
    func deliver(
        _ dispatch: Dispatch, to devices: [Device], _ started: MonotonicTime, _ trace: inout RequestTrace
    ) async throws(APIError) -> DispatchResult {
        let recipients = recipients(of: dispatch, among: devices, started)
        trace.add(.count("devices", recipients.count))
        guard !recipients.isEmpty else { return DispatchResult(DispatchReport([])) }
        var left = shared.limits.eventDeadline - services.loop.now.since(started)
        guard left > .zero else {
            // The caller has given up and will retry, so these pushes would be sent twice.
            throw APIError(.storageUnavailable, logDetail: "the device look-up exceeded the event's deadline")
        }
        let activity = dispatch.activity
        let (activities, notified, outcomes) = try await reserve(dispatch, activity, recipients)
        let pushes = activities?.pushes ?? []
        let reserved = notified.haveFrequency ? await count(dispatch, notified) : nil
        var unread: Int?
        if let history = shared.history, dispatch.content.rings {
            unread = await remember(dispatch, recipients, in: history, within: left / 2)
        }
        if activities != nil || reserved != nil || shared.history != nil {
            left = shared.limits.eventDeadline - services.loop.now.since(started)
        }
        let fanOut = FanOut(
            notified, dispatch.content, of: dispatch.tenant, on: services, eventID: dispatch.origin.event,
            unread: unread, mayHold: true, full: reserved?.full ?? [], results: outcomes,
            activities: pushes.map(\.forFanOut))
        var results = await fanOut.run(deadline: left)
        if !fanOut.held.isEmpty { await hold(dispatch, notified, fanOut.held, &results) }
        if let activities, let activity {
            hold(
                DeferredState(key: dispatch.tenant, content: dispatch.content, activity: activity),
                after: activities.turn)
            left = shared.limits.eventDeadline - services.loop.now.since(started)
            await finish(activities, dispatch, notified, &results, within: left)
        }
        if let reserved { shared.frequency.settle(reserved, results, of: dispatch.tenant) }
        if dispatch.origin.isTriedAgain, pushes.isEmpty, !results.isEmpty, results.allSatisfy(\.isUnstored) {
            throw APIError(.storageUnavailable, logDetail: "no push was accepted, and none could be stored")
        }
        let report = DispatchReport(results, held: activities?.turn.held)
        trace.add(.count("sent", report.sent))
        trace.add(.count("failed", report.failed))
        if report.muted > 0 { trace.add(.count("muted", report.muted)) }
        if report.queued > 0 { trace.add(.count("queued", report.queued)) }
        if !pushes.isEmpty { trace.add(.count("activities", pushes.count)) }
        await record(
            dispatch.content, of: dispatch.tenant, results, among: notified, eventID: dispatch.origin.event)
        return DispatchResult(report)
    }

    /// The recipients; for an acknowledgement, only devices that may now get a push that removes a notification.
    private func recipients(
        of dispatch: Dispatch, among devices: [Device], _ started: MonotonicTime
    ) -> Recipients {
        let recipients = dispatch.audience.recipients(among: devices, zone: services.rules.timeZones.zone)
        guard case .acknowledgement = dispatch.origin else { return recipients }
        return recipients.filter { index in
            guard let device = DeviceKey(recipients.devices[index]) else { return false }
            return shared.rates.takeClear(to: device, at: started)
        }
    }

    /// Counts pushes to devices with a frequency limit; permission requests reach all devices regardless.
    private func count(
        _ dispatch: Dispatch, _ recipients: Recipients
    ) async -> FrequencyCounts.Reservation? {
        guard dispatch.content.isAlert, dispatch.content.kind != EventType.permission.rawValue
        else { return nil }
        return await shared.frequency.reserve(
            for: recipients, of: dispatch.tenant, at: shared.clock.now, shared.monotonic(),
            in: shared.storage)
    }

    /// Adds an event to its secret's history, and counts the unread items if a badge needs the number.
    ///
    /// The item is stored before its pushes are sent, so that devices find it.
    private func remember(
        _ dispatch: Dispatch, _ recipients: Recipients, in history: History, within limit: Duration
    ) async -> Int? {
        let content = dispatch.content
        let isCounted =
            content.isAlert
            && (content.hasUnreadBadge || recipients.preferences.contains { $0.badge == .unread })
        let kept = dispatch.origin.isNew ? content.history : nil
        guard isCounted || kept != nil else { return nil }
        let keepsText = history.options.keepsText
        let item = kept.map { kept in
            HistoryItem(
                id: services.makeID(), secretHash: dispatch.tenant.primary,
                eventID: dispatch.origin.receiptID, eventType: content.kind ?? content.logType,
                sessionID: content.sessionID, serverID: kept.serverID, title: keepsText ? kept.title : nil,
                body: keepsText ? kept.body : nil, sealed: kept.sealed)
        }
        return await history.add(
            item, of: dispatch.tenant, countingUnread: isCounted, within: limit, on: services.loop)
    }

    /// Writes delivery log rows for the results that are kept; results of the same type with the same error share rows.
    ///
    /// Queued pushes are logged when they end, and muted ones are never logged. Waits while the log's buffer is nearly
    /// full, which slows down senders.
    ///
    /// - Parameters:
    ///   - recipients: The devices that were notified.
    ///   - eventID: The ID by which the event is acknowledged.
    func record(
        _ content: any PushContent, of key: SecretKey, _ results: [DeviceResult],
        among recipients: Recipients,
        eventID: String? = nil
    ) async {
        if shared.deliveryLog.isCrowded { await waitForRoomInLog() }
        let now = shared.clock.now
        let kept = shared.deliveryLog.kept
        let counted = kept.countedDevices(among: recipients)
        let (type, session) = (content.logType, content.sessionID)
        var rows: [Delivery] = []
        // Uses indices to avoid copying results.
        for index in results.indices where results[index].isEnded {
            let device = results[index].deviceID
            let isFailed = results[index].isFailed
            if let counted, !kept.includes(isFailed: isFailed), !counted.contains(device) { continue }
            var error: String?
            if case .failed(let reason) = results[index].status { error = reason }
            let id = results[index].pushID ?? services.makeID().text
            let type = results[index].activity == nil ? type : content.logType(isActivity: true)
            let alike = rows.lastIndex { $0.error == error && $0.eventType == type }
            if let alike, rows[alike].add(id: id, deviceID: device) { continue }
            rows.append(
                Delivery(
                    id: id, secretHash: key.primary, eventType: type, sessionID: session,
                    status: error == nil ? .sent : .failed, error: error, createdAt: now, deviceID: device,
                    eventID: eventID))
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
