import APNs
import JSON
import Network
import Programs
import Storage
import WebPush

/// Checks a secret's devices and the last push to each.
enum DeviceCheck {
    /// What the database contains for a secret.
    struct Found: Sendable {
        var devices: [Device] = []
        var findings: [CheckFinding]
        /// Sends to browsers; `nil` if the relay doesn't use Web Push or has no key yet.
        var webPush: WebPushProbe?
    }

    /// Reads the secret's devices and its latest delivery log rows.
    static func run(
        _ secret: Secret, _ database: DatabaseURL, options: ServerOptions, hasher: SecretHasher, apps: Apps?,
        webPush: WebPushConfiguration?
    ) async -> Found {
        var options = options
        options.connectionsMax = 1
        options.callTimeout = min(options.callTimeout, Bounds.checkStepDeadline)
        let key = hasher.key(of: secret)
        do throws(StorageError) {
            let storage = try await OpenStorage.openReading(database, options: options)
            do throws(StorageError) {
                let devices = try await storage.devices(of: key)
                let last = try await storage.lastDeliveries(to: devices, under: key)
                let newest = try await storage.deliveries(of: key, before: nil, limit: 1).first
                let stored = webPush == nil ? nil : try await SharedVAPIDKey(in: storage, hasher).look()
                await storage.close()
                return Found(
                    devices: devices,
                    findings: findings(
                        devices, last: last, newest: newest, apps: apps, hasWebPush: webPush != nil),
                    webPush: webPush.flatMap { WebPushProbe($0, stored: stored) })
            } catch {
                await storage.close()
                throw error
            }
        } catch {
            let finding = DatabaseCheck.finding(
                error, place: OpenStorage.description(of: database), database.engine)
            return Found(findings: [.skipped(.device, "", finding.text)])
        }
    }

    /// Findings about devices and their last deliveries.
    ///
    /// - Parameter newest: The secret's latest log row, even if its device was removed.
    static func findings(
        _ devices: [Device], last: [Delivery], newest: Delivery?, apps: Apps?, hasWebPush: Bool = false
    ) -> [CheckFinding] {
        guard !devices.isEmpty else {
            var text = "no device is registered under this secret"
            if let newest {
                let end = newest.error.map { "failed: \($0)" } ?? "was sent"
                text += "; the last push of one, at \(Timestamp(newest.createdAt).text), \(end)"
            }
            return [.fault(.secretWithoutDevices, .device, "", text)]
        }
        let lastByID = Dictionary(last.map { ($0.deviceID ?? "", $0) }) { first, _ in first }
        let listed = devices.prefix(Bounds.checkDevicesMax)
        let zones = TimeZones()
        var findings = listed.flatMap { device in
            [finding(device, last: lastByID[device.id], misfit(device, apps, hasWebPush))]
                + ignored(device, zones)
        }
        let left = devices.count - listed.count
        if left > 0 { findings.append(.skipped(.device, "", "\(left) more devices are not shown")) }
        return findings
    }

    /// How findings identify a device.
    static func subject(_ device: Device) -> String {
        let place = device.webPushHost ?? device.environment.rawValue
        return "\(device.maskedToken) \(device.bundleID) \(place)"
    }

    /// The device's preferences that have no effect.
    private static func ignored(_ device: Device, _ zones: TimeZones) -> [CheckFinding] {
        guard let stored = device.details.preferences else { return [] }
        let preferences = DevicePreferences(stored: stored)
        let fields = preferences.ignored(zones)
        guard !fields.isEmpty else { return [] }
        let names = fields.map { field in
            let zone = preferences.timeZones.first { $0.field == field }?.name
            return field.rawValue + (zone.map { " \(Quoted.value($0))" } ?? "")
        }
        return [
            .fault(
                .preferencesIgnored, .device, subject(device),
                "the relay doesn't know what it registered as \(names.joined(separator: ", "))")
        ]
    }

    private static func finding(
        _ device: Device, last: Delivery?, _ misfit: String?
    ) -> CheckFinding {
        let subject = subject(device)
        if let misfit { return .fault(.deviceAppUnknown, .device, subject, misfit) }
        guard let last else { return .ok(.device, subject, "the delivery log has no push to it") }
        let time = Timestamp(last.createdAt).text
        guard let reason = last.error, last.status == .failed else {
            return .ok(.device, subject, "the last push was accepted at \(time)")
        }
        let text = "the last push failed at \(time): \(reason)"
        guard device.updatedAt > last.createdAt else {
            return .fault(PushReason.fault(of: reason), .device, subject, text, status: .failed)
        }
        let since = "; the device has registered again since"
        return .fault(PushReason.fault(of: reason), .device, subject, text + since, status: .warning)
    }

    private static func misfit(_ device: Device, _ apps: Apps?, _ hasWebPush: Bool) -> String? {
        guard device.transport == .apns else {
            return hasWebPush ? nil : "the relay doesn't send by Web Push"
        }
        guard let apps else { return nil }
        guard let app = apps[device.bundleID] else { return "the relay doesn't push to this app" }
        guard app.environments.contains(Environment(device.environment)) else {
            return "the relay doesn't push to this app in this environment"
        }
        return nil
    }
}
