import APNs
import JSON
import Programs
import Storage

/// A `POST /v1/schedule/create` request, validated except for its time, which may depend on the devices.
struct ScheduleRequest: RequestBody {
    /// When to send.
    enum Time: Sendable, Equatable {
        case once(EpochMilliseconds)
        case every(Recurrence)
    }

    let content: StoredDispatch
    let time: Time
    let name: String?
    /// The number of seconds within which a missed occurrence is still sent.
    let lateBy: Int
    /// The number of seconds over which occurrences are spread.
    let window: Int

    /// Validates all fields except the secret, in the order of docs/reference/api.md; the content comes last.
    ///
    /// - Parameter now: When the schedule is created.
    init(_ fields: RequestFields, _ rules: RequestRules, at now: EpochMilliseconds) throws(APIError) {
        time = try Self.time(fields, now)
        name = try fields.word(.scheduleName, most: Bounds.scheduleNameBytesMax)
        lateBy =
            try fields.integer(.scheduleLateBy, in: 0...Bounds.scheduleLateByMax)
            ?? Bounds.scheduleLateByDefault
        // Unlike times of day, delays don't cluster on the hour, so there is nothing to spread.
        let windowDefault = fields.value(.scheduleIn) == nil ? Bounds.scheduleWindowDefault : 0
        window =
            try fields.integer(.scheduleWindow, in: 0...Bounds.scheduleWindowMax) ?? windowDefault
        content = try Self.content(fields)
        // Content that couldn't be sent now is refused immediately instead of when it is due.
        _ = try content.checked(rules, acknowledgedAs: Occurrence.receiptIDSample)
    }

    private static func content(_ fields: RequestFields) throws(APIError) -> StoredDispatch {
        let eventFields: [RequestField] = [
            .eventType, .sessionID, .serverID, .title, .body, .category, .mutableContent,
            .actions,
        ]
        let isEvent = fields.value(.notification) == nil
        if !isEvent {
            for field in eventFields where fields.has(field) {
                throw APIError(
                    .invalidField, field: field,
                    hint: "Send a notification or the fields of an event, not both.")
            }
        }
        let type = fields.value(.eventType)?.string.flatMap(EventType.init(rawValue:))
        if let type, !type.rings {
            throw APIError(
                .invalidField, field: .eventType, hint: "Events for Live Activities can't be scheduled.")
        }
        let device = try fields.optional(.deviceToken) { $0.string.flatMap(DeviceToken.init) }
        var body = JSON.Object()
        for field in [.sealed] + (isEvent ? eventFields : [.notification, .shorten]) {
            body[field.rawValue] = fields.value(field)
        }
        return StoredDispatch(
            StoredContent(target: isEvent ? .event : .notify, body: body), to: device,
            isDelay: fields.value(.scheduleIn) != nil)
    }

    private static func time(_ fields: RequestFields, _ now: EpochMilliseconds) throws(APIError) -> Time {
        let given = [RequestField.scheduleAt, .scheduleIn, .every].filter { fields.value($0) != nil }
        guard let first = given.first else { throw APIError(.missingField, field: .scheduleAt) }
        guard given.count == 1 else {
            throw APIError(.invalidField, field: given[1], hint: "Send only one of at, in and every.")
        }
        switch first {
        case .scheduleAt:
            let time = try fields.optional(.scheduleAt) { value in
                value.string.flatMap(Timestamp.milliseconds(rfc3339:)).flatMap { time in
                    let earliest = now - EpochMilliseconds(Bounds.scheduleLateSecondsMax) * 1000
                    let latest = now + EpochMilliseconds(Bounds.scheduleSecondsMax) * 1000
                    return (earliest...latest).contains(time) ? time : nil
                }
            }
            return .once(max(time ?? now, now))
        case .scheduleIn:
            let seconds = try fields.integer(.scheduleIn, in: 1...Bounds.scheduleSecondsMax) ?? 1
            return .once(now + EpochMilliseconds(seconds) * 1000)
        default:
            guard let every = try fields.object(.every) else {
                throw APIError(.missingField, field: .every)
            }
            // The start is in whole seconds, like local times.
            return .every(try Recurrence(every, start: now - now % 1000))
        }
    }

    /// The time at which the content is first sent.
    ///
    /// - Parameter zones: The names of the devices' time zones.
    func first(zones: [String], _ timeZones: TimeZones) throws(APIError) -> EpochMilliseconds {
        switch time {
        case .once(let time): return time
        case .every(let recurrence):
            switch recurrence.next(after: recurrence.start, zones: zones, timeZones) {
            case .at(let time): return time
            case .ended: throw APIError(.invalidField, field: .everyUntil)
            case .unknownZone where recurrence.usesDeviceZones:
                throw APIError(
                    .invalidField, field: .everyTimeZone,
                    hint: "No device of the secret has registered a time zone that the relay knows.")
            case .unknownZone: throw APIError(.invalidField, field: .everyTimeZone)
            }
        }
    }

    /// The row to store.
    func schedule(
        _ id: UUIDv7, under key: SecretKey, nextAt: EpochMilliseconds, at now: EpochMilliseconds
    ) -> Schedule {
        var recurrence: Recurrence?
        if case .every(let given) = time { recurrence = given }
        return Schedule(
            id: id, secretHash: key.primary, kind: .schedule, name: name, rule: recurrence?.json,
            content: content.json, nextAt: nextAt, endsAt: recurrence?.until,
            lateBy: EpochMilliseconds(lateBy) * 1000, window: EpochMilliseconds(window) * 1000,
            createdAt: now)
    }
}

/// A validated `POST /v1/schedule/cancel` request.
struct ScheduleCancelRequest: PlainRequestBody {
    let reference: ScheduleReference

    init(_ fields: RequestFields) throws(APIError) {
        reference = try ScheduleReference(fields)
    }
}

extension ScheduleReference {
    /// Reads which schedule a request refers to by `id` or `name`.
    init(_ fields: RequestFields) throws(APIError) {
        let id = try fields.optional(.scheduleID) { $0.string.flatMap { UUIDv7($0) } }
        let name = try fields.word(.scheduleName, most: Bounds.scheduleNameBytesMax)
        switch (id, name) {
        case (let id?, nil): self = .id(id)
        case (nil, let name?): self = .name(name)
        case (nil, nil): throw APIError(.missingField, field: .scheduleID)
        case (_?, _?): throw APIError(.invalidField, field: .scheduleName, hint: "Send id or name, not both.")
        }
    }
}
