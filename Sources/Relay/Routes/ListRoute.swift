import HTTPServer
import JSON
import Network
import Programs
import Storage

/// `POST /v1/device/list`: lists a secret's devices for anyone who knows the secret.
struct ListRoute: TenantRoute {
    static let admission = Admission.reading
    static let scope: AccessTokenScope? = .read
    let services: LoopServices

    /// Reads the devices and their latest delivery log rows.
    func answer(
        _ wanted: SecretRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        Reply(body: try await devices(of: tenant, &trace).body)
    }

    /// Reads a secret's devices for anyone who knows the secret.
    func devices(
        of tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> DeviceList {
        let shared = services.shared
        let devices: [Device]
        let last: (agent: AgentUse?, deliveries: [Delivery])
        do throws(StorageError) {
            devices = try await shared.storage.devices(of: tenant.key)
            last = try await shared.storage.lastUses(of: devices, under: tenant.key)
        } catch {
            throw APIError(error)
        }
        trace.add(.count("devices", devices.count))
        try tenant.note(isKnown: !devices.isEmpty)
        return DeviceList(
            devices: devices, last: last.deliveries, agent: last.agent, now: shared.clock.now,
            timeZones: services.rules.timeZones)
    }
}

/// The response to a list request: each device with its details and its last push.
struct DeviceList: Sendable {
    let devices: [Device]
    /// The latest delivery log rows, at most one per device.
    let last: [Delivery]
    /// When an agent last used the secret.
    var agent: AgentUse?
    /// The time that ``agent`` is compared with.
    var now: EpochMilliseconds = 0
    /// The time zones that this system knows.
    var timeZones = TimeZones()

    /// Each device's last push, by the device's `id`.
    var lastByDevice: [String: Delivery] {
        Dictionary(last.map { ($0.deviceID ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    }

    var body: [UInt8] {
        let lastByID = lastByDevice
        var writer = JSON.Writer(capacity: 64 + 256 * devices.count)
        writer.beginObject()
        writer.member("ok", true)
        writer.name("devices")
        writer.beginArray()
        for device in devices { append(device, lastByID[device.id], to: &writer) }
        writer.endArray()
        if let agent {
            writer.name("agent")
            writer.beginObject()
            writer.member("usedAt", Timestamp(agent.usedAt).text)
            writer.member("status", agent.freshness(at: now).rawValue)
            if let client = agent.client { writer.member("client", client) }
            writer.endObject()
        }
        writer.endObject()
        return writer.finish()
    }

    private func append(_ device: Device, _ last: Delivery?, to writer: inout JSON.Writer) {
        writer.beginObject()
        writer.member("device", device.maskedToken)
        writer.member("transport", device.transport.rawValue)
        switch device.transport {
        case .apns:
            writer.member("bundleId", device.bundleID)
            writer.member("apnsEnv", device.environment.rawValue)
        case .webpush:
            // The endpoint itself is never shown.
            if let host = device.webPushHost { writer.member("service", host) }
        }
        writer.member("createdAt", Timestamp(device.createdAt).text)
        writer.member("updatedAt", Timestamp(device.updatedAt).text)
        let details = device.details
        let texts: [(StaticString, String?)] = [
            ("deviceName", details.deviceName), ("deviceModel", details.deviceModel),
            ("osVersion", details.osVersion), ("appVersion", details.appVersion),
        ]
        for (name, text) in texts {
            if let text { writer.member(name, text) }
        }
        if let preferences = details.preferences {
            writer.name("preferences")
            let wanted = DevicePreferences(stored: preferences)
            wanted.write(to: &writer)
            let ignored = wanted.ignored(timeZones)
            if !ignored.isEmpty { writer.member("ignored", ignored) }
        }
        if let versions = details.sealedVersions {
            writer.name("sealed")
            writer.beginArray()
            for number in SealedVersions(stored: versions).numbers { writer.int(number) }
            writer.endArray()
        }
        if let last {
            writer.name("lastPush")
            writer.beginObject()
            writer.member("at", Timestamp(last.createdAt).text)
            writer.member("eventType", last.eventType)
            writer.member("status", last.status.rawValue)
            if let error = last.error { writer.member("reason", error) }
            writer.endObject()
        }
        writer.endObject()
    }
}
