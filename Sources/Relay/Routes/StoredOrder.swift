import APNs
import JSON
import Network
import Storage

/// A schedule's content: a request to `/v1/event` or `/v1/notify`, as stored in the schedule's row.
struct StoredOrder: Sendable, Equatable {
    /// The request's route.
    enum Target: String, Sendable {
        case event, notify
    }

    let target: Target
    /// The members of the request's body, without secret and `eventID`.
    let body: JSON.Object
    /// The receipt's `eventID`; `nil` if each occurrence has its own.
    var eventID: String?
    /// The `eventID` of the repeated event, by which it is acknowledged; `nil` if it isn't a repetition.
    var original: String?
    /// The `eventID` of the event whose push was deferred, by which it is acknowledged; `nil` if it had none.
    var heldEvent: String?
    /// The `id` of the only recipient's registration; `nil` for all devices.
    var deviceID: String?
    /// Whether it is sent after a delay rather than at a given time.
    var isDelay = false
    /// An event's only recipient, which the request to `/v1/event` can't name; `nil` for all devices.
    var eventDevice: DeviceToken?

    /// The `eventID` by which it is acknowledged; `nil` for its receipt's.
    var acknowledgedAs: String? { original ?? heldEvent ?? eventID }

    /// An order to store.
    init(_ target: Target, body: JSON.Object, eventID: String? = nil) {
        self.target = target
        self.body = body
        self.eventID = eventID
    }

    /// Reads a row's content; `nil` if this relay doesn't understand it.
    init?(stored json: String) {
        let value = try? JSON.parse(
            Array(json.utf8), maxBytes: StorageLimits.scheduleContentBytes, loneSurrogates: .replaced)
        guard let value, let target = value["route"]?.string.flatMap(Target.init(rawValue:)),
            let body = value["body"]?.object
        else { return nil }
        self.init(target, body: body, eventID: value["eventID"]?.string)
        deviceID = value["device"]?.string
        eventDevice = value["token"]?.string.flatMap(DeviceToken.init)
        isDelay = value["in"]?.bool ?? false
        original = value["of"]?.string
        heldEvent = value["heldOf"]?.string
    }

    /// The row's content.
    var json: String {
        var object = JSON.Object()
        object["route"] = .string(target.rawValue)
        object["body"] = .object(body)
        if let eventID { object["eventID"] = .string(eventID) }
        if let deviceID { object["device"] = .string(deviceID) }
        if let eventDevice { object["token"] = .string(eventDevice.text) }
        if isDelay { object["in"] = true }
        if let original { object["of"] = .string(original) }
        if let heldEvent { object["heldOf"] = .string(heldEvent) }
        return String(decoding: JSON.Value.object(object).encoded(), as: UTF8.self)
    }

    /// The order for the devices of a key, checked as the route checks a request.
    ///
    /// - Parameter receiptID: The `eventID` of an order that names none.
    func order(
        for key: SecretKey, receiptID: String, on services: LoopServices
    ) throws(APIError) -> Pushing.Order {
        let bytes = JSON.Value.object(body).encoded()
        switch target {
        case .event:
            var event = try EventRequest(body: bytes, headerSecret: Self.noSecret)
            // If the sender gave no ID, the receipt's ID also identifies the event on the phone.
            event.name(
                acknowledgedAs ?? receiptID, isRepetition: original != nil)
            try event.checkSize(sounds: services.apps.sounds)
            var order = Pushing.Order(
                event, of: key, eventID: eventID ?? receiptID, at: services.shared.clock.now)
            order.onlyDevice = eventDevice
            return order
        case .notify:
            var wanted = try NotifyRequest(body: bytes, headerSecret: Self.noSecret)
            if let original { wanted.repeats(original) }
            guard !wanted.content.hasUnreadBadge || services.shared.history != nil else {
                throw APIError(.historyOff, field: .notificationBadge)
            }
            var order = Pushing.Order(
                key: key, content: wanted.content, eventID: eventID ?? receiptID,
                digest: wanted.content.digest(to: wanted.deviceToken), onlyDevice: wanted.deviceToken)
            order.actions = wanted.content.actions
            return order
        }
    }

    /// A placeholder for the request's secret: the row is stored under its hash.
    private static let noSecret = Secret("-")
}

/// Sends scheduled orders through the same code as requests.
struct ScheduledPushing: OccurrenceSender {
    let services: LoopServices

    nonisolated(nonsending) func send(_ occurrence: Occurrence) async -> OccurrenceResult {
        let schedule = occurrence.schedule
        guard let stored = StoredOrder(stored: schedule.content) else { return .over(.invalid) }
        var order: Pushing.Order
        do throws(APIError) {
            order = try stored.order(
                for: SecretKey(primary: schedule.secretHash), receiptID: occurrence.receiptID, on: services)
        } catch {
            services.shared.log(
                .warning, "schedule.invalid",
                [.secretHash(schedule.secretHash), .note("schedule", schedule.id.text), .code(error.code)])
            return .over(.invalid)
        }
        order.source = .stored(stored)
        order.isTriedAgain = true
        order.onlyDeviceID = stored.deviceID
        order.isCounted = schedule.kind != .async && schedule.kind != .held
        order.isNew = schedule.kind != .held && schedule.kind != .repeat
        if let zones = occurrence.zones {
            let known = services.rules.timeZones
            order.choose = { devices in
                let own = DeviceZones(zone: known.zone)
                return devices.filter { own.name(of: $0, among: devices).map(zones.contains) == true }
            }
        }
        if schedule.hasWaited(until: services.shared.clock.now), let name = stored.acknowledgedAs {
            let event = EventName(name, of: order.key)
            do throws(StorageError) {
                if try await services.shared.replies.known(of: event) != nil {
                    await services.stopRepeating(event)
                    return .over(.skipped)
                }
            } catch {
                return .postponed(.storage, seconds: Bounds.scheduleRetrySeconds)
            }
        }
        // The state of activities was sent when the event was new.
        if !order.isNew { order.activity = nil }
        var trace = RequestTrace()
        do throws(APIError) {
            let answer = try await Pushing(services: services)
                .sendScheduled(order, services.loop.now, &trace)
            return .over(ScheduleQueue.Outcome(answer: answer))
        } catch {
            if let limit = error.limit { services.counts.hit(limit) }
            return OccurrenceResult(error)
        }
    }
}

extension Schedule {
    /// Whether someone may have seen its event; nobody can have seen an `async` event that is sent immediately.
    fileprivate func hasWaited(until now: EpochMilliseconds) -> Bool {
        kind != .async || dueAt != nextAt || now - nextAt > Bounds.scheduleWaitMax.inMilliseconds
    }
}

extension ScheduledPushing {
    func isDelay(_ schedule: Schedule) -> Bool { StoredOrder(stored: schedule.content)?.isDelay ?? false }

    /// Writes one row to the delivery log, whatever the number of devices.
    func recordMissed(_ schedule: Schedule) {
        let shared = services.shared
        guard shared.deliveryLog.kept.includes(isFailed: true) else { return }
        let stored = StoredOrder(stored: schedule.content)
        // An order that this relay can't read is also recorded as missed.
        let order = try? stored?.order(
            for: SecretKey(primary: schedule.secretHash), receiptID: schedule.id.text, on: services)
        shared.deliveryLog.append([
            Delivery(
                id: services.makeID().text, secretHash: schedule.secretHash,
                eventType: order?.content.logType ?? schedule.kind.rawValue,
                sessionID: order?.content.sessionID ?? "", status: .failed,
                error: FailureReason.scheduleMissed, createdAt: shared.clock.now,
                deviceID: stored?.deviceID)
        ])
    }
}

extension OccurrenceResult {
    /// The result of an occurrence whose request failed: most errors are temporary.
    fileprivate init(_ error: APIError) {
        let seconds = min(
            max(error.retryAfterSeconds ?? 0, Bounds.scheduleRetrySeconds), Bounds.scheduleRetrySecondsMax)
        switch error.code {
        case .blocked: self = .over(.blocked)
        // The order's eventID was used for another event.
        case .eventConflict: self = .over(.failed)
        case .rateLimited: self = .postponed(.rateLimited, seconds: seconds)
        case .storageUnavailable: self = .postponed(.storage, seconds: seconds)
        default: self = .postponed(.overloaded, seconds: seconds)
        }
    }
}

extension ScheduleQueue.Outcome {
    /// The outcome of an event's pushes, from its response.
    fileprivate init(answer: [UInt8]) {
        let value = try? JSON.parse(answer, maxBytes: StorageLimits.answerBytes)
        func count(_ name: String) -> Int { value?[name]?.int ?? 0 }
        self =
            if count("sent") + count("queued") > 0 {
                .sent
            } else if count("failed") > 0 {
                .failed
            } else if count("muted") > 0 {
                .muted
            } else {
                .noDevices
            }
    }
}
