import HTTPServer
import JSON
import Network
import Storage

/// `POST /v1/schedule/create`: stores an event or a notification that is sent later, once or repeatedly.
struct ScheduleCreateRoute: AnsweringRoute {
    let services: LoopServices

    /// Responds when the schedule is stored.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let fields = try RequestFields(body: request.body)
        let secret = try fields.secret(orOf: services.headerSecret(of: request))
        let created = try await create(fields, under: secret, request, &trace)
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("id", created.id.text)
        writer.member("nextAt", Timestamp(created.nextAt).text)
        writer.endObject()
        return Reply(body: writer.finish())
    }

    /// Stores the schedule that the fields describe.
    ///
    /// Counts as an event, because it will become one.
    func create(
        _ fields: RequestFields, under secret: Secret, _ request: Request, _ trace: inout RequestTrace
    ) async throws(APIError) -> Schedule {
        let shared = services.shared
        let now = shared.clock.now
        let wanted = try ScheduleRequest(fields, at: now)
        let key = shared.hasher.key(of: secret)
        // Content that couldn't be sent now is refused now.
        let id = services.makeID()
        _ = try wanted.content.checked(
            services.rules, acknowledgedAs: Occurrence.receiptID(of: id, at: now))
        trace.add(.secretHash(key.primary))
        guard !shared.blocked.contains(key) else { throw APIError(.blocked) }
        try shared.rates.countEvent(key, at: services.loop.now)
        let devices = try await services.devices(of: key)
        guard !devices.isEmpty else { throw try noDevices(request) }
        let zones = DeviceZones(Recipients(devices), zone: services.zone).names
        let first = try wanted.first(zones: zones, services.rules.timeZones)
        let schedule = wanted.schedule(id, under: key, nextAt: first, at: now)
        let creation: ScheduleCreation
        do throws(StorageError) {
            creation = try await shared.schedules.create(
                schedule, under: key, limit: shared.limits.schedulesPerSecretMax)
        } catch {
            throw APIError(error)
        }
        switch creation {
        case .created, .replaced: return schedule
        case .limitReached:
            throw APIError(.scheduleLimit, hint: "The limit is \(shared.limits.schedulesPerSecretMax).")
        case .noDevices: throw try noDevices(request)
        }
    }

    private func noDevices(_ request: Request) throws(APIError) -> APIError {
        try services.shared.rates.countUnknownSecret(request, at: services.loop.now)
        return APIError(.noDevices)
    }
}

/// `POST /v1/schedule/list`: lists a secret's schedules without their content.
struct ScheduleListRoute: AnsweringRoute {
    let services: LoopServices

    /// Reads the schedules.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let wanted = try ListRequest(body: request.body, headerSecret: services.headerSecret(of: request))
        return Reply(body: try await schedules(of: wanted.secret, request, &trace).body)
    }

    /// A secret's schedules, for anyone who knows it.
    func schedules(
        of secret: Secret, _ request: Request, _ trace: inout RequestTrace
    ) async throws(APIError) -> ScheduleList {
        let shared = services.shared
        let key = shared.hasher.key(of: secret)
        trace.add(.secretHash(key.primary))
        try shared.rates.countRegistration(key, at: services.loop.now)
        let schedules: [Schedule]
        do throws(StorageError) {
            schedules = try await shared.storage.schedules(
                of: key, kind: .schedule, limit: Bounds.schedulesListedMax)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("schedules", schedules.count))
        if schedules.isEmpty { try shared.rates.countUnknownSecret(request, at: services.loop.now) }
        return ScheduleList(schedules: schedules)
    }
}

/// `POST /v1/schedule/cancel`: removes a schedule.
struct ScheduleCancelRoute: AnsweringRoute {
    let services: LoopServices

    /// Removes it, and returns how many there were: one or none.
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let wanted = try ScheduleCancelRequest(
            body: request.body, headerSecret: services.headerSecret(of: request))
        let wasThere = try await cancel(wanted.reference, of: wanted.secret, request, &trace)
        return Reply(cancelled: wasThere)
    }

    /// Removes a schedule; false if there was none.
    func cancel(
        _ reference: ScheduleReference, of secret: Secret, _ request: Request, _ trace: inout RequestTrace
    ) async throws(APIError) -> Bool {
        let shared = services.shared
        let key = shared.hasher.key(of: secret)
        trace.add(.secretHash(key.primary))
        try shared.rates.countRegistration(key, at: services.loop.now)
        let wasThere: Bool
        do throws(StorageError) {
            wasThere = try await shared.storage.cancel(reference, kind: .schedule, of: key)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("cancelled", wasThere ? 1 : 0))
        if !wasThere { try shared.rates.countUnknownSecret(request, at: services.loop.now) }
        return wasThere
    }
}

/// The response to a list request.
struct ScheduleList: Sendable {
    let schedules: [Schedule]

    var json: JSON.Value { .array(schedules.map { .object($0.shown) }) }

    /// The response body.
    var body: [UInt8] {
        let response: JSON.Value = ["ok": true, "schedules": json]
        return response.encoded()
    }
}

extension Schedule {
    /// What anyone who knows the secret may see, without texts.
    var shown: JSON.Object {
        var object = JSON.Object()
        object["id"] = .string(id.text)
        object["name"] = name.map { .string($0) }
        object["createdAt"] = .string(Timestamp(createdAt).text)
        object["nextAt"] = .string(Timestamp(nextAt).text)
        object["every"] = rule.flatMap { Recurrence(stored: $0) }.map { .object($0.object) }
        object["lastAt"] = lastAt.map { .string(Timestamp($0).text) }
        object["lastOutcome"] = lastOutcome.map { .string($0) }
        object["skipped"] = .int(skipped)
        return object
    }
}
