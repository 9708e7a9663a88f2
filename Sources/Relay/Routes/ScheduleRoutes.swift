import HTTPServer
import JSON
import Network
import Programs
import Storage

/// `POST /v1/schedule/create`: stores an event or a notification that is sent later, once or repeatedly.
struct ScheduleCreateRoute: TenantRoute {
    static let admission = Admission.sending
    let services: LoopServices

    /// Stores the schedule, then responds.
    func answer(
        _ wanted: ScheduleRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let created = try await create(wanted, for: tenant)
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("id", created.id.text)
        writer.member("nextAt", Timestamp(created.nextAt).text)
        writer.endObject()
        return Reply(body: writer.finish())
    }

    /// Stores a schedule, which counts as an event because it will become one.
    func create(
        _ wanted: ScheduleRequest, for tenant: AdmittedTenant
    ) async throws(APIError) -> Schedule {
        let shared = services.shared
        let now = shared.clock.now
        let key = tenant.key
        let devices = try await services.devices(of: key)
        guard !devices.isEmpty else { throw try noDevices(tenant) }
        let zones = DeviceZones(Recipients(devices), zone: services.zone).names
        let first = try wanted.first(zones: zones, services.rules.timeZones)
        let schedule = wanted.schedule(services.makeID(), under: key, nextAt: first, at: now)
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
        case .noDevices: throw try noDevices(tenant)
        }
    }

    private func noDevices(_ tenant: AdmittedTenant) throws(APIError) -> APIError {
        try tenant.countAsUnknown()
        return APIError(.noDevices)
    }
}

/// `POST /v1/schedule/list`: lists a secret's schedules without their content.
struct ScheduleListRoute: TenantRoute {
    static let admission = Admission.reading
    static let scope: AccessTokenScope? = .read
    let services: LoopServices

    /// Reads the schedules.
    func answer(
        _ wanted: SecretRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        Reply(body: try await schedules(of: tenant, &trace).body)
    }

    /// Reads a secret's schedules for anyone who knows the secret.
    func schedules(
        of tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> ScheduleList {
        let schedules: [Schedule]
        do throws(StorageError) {
            schedules = try await services.shared.storage.schedules(
                of: tenant.key, kind: .schedule, limit: Bounds.schedulesListedMax)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("schedules", schedules.count))
        try tenant.note(isKnown: !schedules.isEmpty)
        return ScheduleList(schedules: schedules)
    }
}

/// `POST /v1/schedule/cancel`: removes a schedule.
struct ScheduleCancelRoute: TenantRoute {
    static let admission = Admission.reading
    let services: LoopServices

    /// Removes the schedule and returns how many were removed: one or none.
    func answer(
        _ wanted: ScheduleCancelRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        Reply("cancelled", try await cancel(wanted.reference, of: tenant, &trace))
    }

    /// Removes a schedule; returns false if there was none.
    func cancel(
        _ reference: ScheduleReference, of tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Bool {
        let wasThere: Bool
        do throws(StorageError) {
            wasThere = try await services.shared.storage.cancel(
                reference, kind: .schedule, of: tenant.key)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("cancelled", wasThere ? 1 : 0))
        try tenant.note(isKnown: wasThere)
        return wasThere
    }
}

/// The response to a list request.
struct ScheduleList: Sendable {
    let schedules: [Schedule]

    var json: JSON.Value { .array(schedules.map { .object($0.shown) }) }

    var body: [UInt8] {
        let response: JSON.Value = ["ok": true, "schedules": json]
        return response.encoded()
    }
}

extension Schedule {
    /// The schedule as shown to anyone who knows the secret, without texts.
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
