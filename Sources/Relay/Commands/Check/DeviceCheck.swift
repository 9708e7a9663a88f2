import APNs
import JSON
import Network
import Programs
import Storage

/// Checks a secret's devices and the last push to each.
enum DeviceCheck {
    /// What the database contains for a secret.
    struct Found: Sendable {
        var devices: [Device] = []
        var findings: [CheckFinding]
    }

    /// Reads the secret's devices and its latest delivery log rows.
    static func run(
        _ secret: Secret, _ database: DatabaseURL, options: ServerOptions, hasher: SecretHasher, apps: Apps?
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
                await storage.close()
                return Found(
                    devices: devices, findings: findings(devices, last: last, newest: newest, apps: apps))
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
        _ devices: [Device], last: [Delivery], newest: Delivery?, apps: Apps?
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
            [finding(device, last: lastByID[device.id], apps: apps)] + ignored(device, zones)
        }
        let left = devices.count - listed.count
        if left > 0 { findings.append(.skipped(.device, "", "\(left) more devices are not shown")) }
        return findings
    }

    private static func subject(_ device: Device) -> String {
        "\(device.maskedToken) \(device.bundleID) \(device.environment.rawValue)"
    }

    /// What of the device's preferences has no effect.
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

    private static func finding(_ device: Device, last: Delivery?, apps: Apps?) -> CheckFinding {
        let subject = subject(device)
        if let apps, let fault = misfit(device, apps) {
            return .fault(.deviceAppUnknown, .device, subject, fault)
        }
        guard let last else { return .ok(.device, subject, "the delivery log has no push to it") }
        let time = Timestamp(last.createdAt).text
        guard let reason = last.error, last.status == .failed else {
            return .ok(.device, subject, "APNs accepted the last push at \(time)")
        }
        let text = "the last push failed at \(time): \(reason)"
        guard device.updatedAt > last.createdAt else {
            return .fault(PushReason.fault(of: reason), .device, subject, text, status: .failed)
        }
        let since = "; the device has registered again since"
        return .fault(PushReason.fault(of: reason), .device, subject, text + since, status: .warning)
    }

    private static func misfit(_ device: Device, _ apps: Apps) -> String? {
        guard let app = apps[device.bundleID] else { return "the relay doesn't push to this app" }
        guard app.environments.contains(Environment(device.environment)) else {
            return "the relay doesn't push to this app in this environment"
        }
        return nil
    }
}

/// Sends a real push to a secret's devices, bypassing the relay's queue; it changes no registration.
struct SendCheck: Sendable {
    let servers: APNsServers
    let apps: Apps
    let clock: WallClock

    private struct Target {
        let device: Device
        let app: PushApp
        var push: Push
    }

    /// Sends to at most ``Bounds/checkDevicesMax`` devices.
    func run(_ devices: [Device], on loop: EventLoop) async -> [CheckFinding] {
        guard !devices.isEmpty else { return [.skipped(.send, "", "no device is registered")] }
        let tls: TLSClientContext
        do throws(NetworkError) {
            tls = try TLSClientContext(caFile: servers.caFile, alpn: ["h2"])
        } catch {
            return [.skipped(.send, "", "no connection to APNs")]
        }
        let client = ProbeClient(servers: servers, tls: tls, clock: clock)
        let targets = devices.prefix(Bounds.checkDevicesMax).map(target)
        return await withTaskGroup { group in
            for (index, target) in targets.enumerated() {
                group.addTask { (index, await send(target, client, on: loop)) }
            }
            var findings: [Int: CheckFinding] = [:]
            for await (index, finding) in group { findings[index] = finding }
            return targets.indices.compactMap { findings[$0] }
        }
    }

    private func target(of device: Device) -> Result<Target, SendError> {
        guard let token = DeviceToken(device.token), let topic = Topic(device.bundleID) else {
            return .failure(SendError(subject: device.maskedToken, reason: FailureReason.invalidRegistration))
        }
        guard let app = apps[device.bundleID] else {
            return .failure(SendError(subject: device.maskedToken, reason: FailureReason.unknownBundle))
        }
        var generator = IDGenerator()
        let push = Push(
            Notification(topic: topic, expiration: 0, payload: Self.payload(sound: app.push.sound)),
            to: token, id: UUIDv7(at: clock.now, using: &generator).text)
        return .success(Target(device: device, app: app, push: push))
    }

    private struct SendError: Error {
        let subject: String
        let reason: String
    }

    private func send(
        _ target: Result<Target, SendError>, _ client: ProbeClient, on loop: EventLoop
    ) async -> CheckFinding {
        switch target {
        case .failure(let fault):
            return .fault(
                PushReason.fault(of: fault.reason), .send, fault.subject, fault.reason, status: .failed)
        case .success(let target):
            let registered = Environment(target.device.environment)
            let first = await outcome(of: target, in: registered, client, on: loop)
            guard Self.isWrongPlace(first), target.app.environments.contains(registered.other) else {
                return Self.finding(first, target.device, in: registered)
            }
            // As the relay does if a registration names the wrong environment.
            let second = await outcome(of: target, in: registered.other, client, on: loop)
            if case .accepted = second { return Self.finding(second, target.device, in: registered.other) }
            return Self.finding(first, target.device, in: registered)
        }
    }

    private func outcome(
        of target: Target, in environment: Environment, _ client: ProbeClient, on loop: EventLoop
    ) async -> Outcome {
        let sent = await client.send([target.push], with: target.app.key, to: environment, on: loop)
        return sent.outcomes.first ?? .unreachable(Unreachable(processed: .notSent, cause: .shuttingDown))
    }

    private static func isWrongPlace(_ outcome: Outcome) -> Bool {
        guard case .rejected(let rejection) = outcome else { return false }
        return rejection.reason?.documented == .badDeviceToken
    }

    private static func finding(_ outcome: Outcome, _ device: Device, in environment: Environment)
        -> CheckFinding
    {
        let subject = "\(device.maskedToken) \(device.bundleID) \(environment.rawValue)"
        switch outcome {
        case .accepted(let id, _):
            return .ok(
                .send, subject, "APNs accepted a test push (apns-id \(id)): the device shows it if it is on")
        case .rejected(let rejection):
            let name = rejection.name
            var fault = PushReason.fault(of: name)
            if fault == .lastPushFailed { fault = rejection.status >= 500 ? .apnsTrouble : .unexpectedAnswer }
            return .fault(fault, .send, subject, "APNs answers \(rejection.status) \(name)", status: .failed)
        case .unreachable(let unreachable):
            let detail = unreachable.detail.isEmpty ? "" : " (\(unreachable.detail))"
            let name = unreachable.cause.rawValue
            return .fault(
                PushReason.fault(of: name), .send, subject, "no answer: \(name)\(detail)", status: .failed)
        }
    }

    private static func payload(sound: String?) -> [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.name("aps")
        writer.beginObject()
        writer.name("alert")
        writer.beginObject()
        writer.member("title", "Test push")
        writer.member("body", "Sent by relay check.")
        writer.endObject()
        if let sound { writer.member("sound", sound) }
        writer.endObject()
        writer.endObject()
        return writer.finish()
    }
}
