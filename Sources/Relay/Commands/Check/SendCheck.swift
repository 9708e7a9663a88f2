import APNs
import JSON
import Network
import Programs
import Storage

/// Sends a real push to a secret's devices, bypassing the relay's queue; it changes no registration.
struct SendCheck: Sendable {
    let servers: APNsServers
    let apps: Apps
    /// Sends to browsers; `nil` if the relay doesn't use Web Push.
    let webPush: WebPushProbe?
    let clock: WallClock

    private struct Target {
        let device: Device
        let app: PushApp
        var push: Push
    }

    /// Sends to at most ``Bounds/checkDevicesMax`` devices.
    func run(_ devices: [Device], on loop: EventLoop) async -> [CheckFinding] {
        guard !devices.isEmpty else { return [.skipped(.send, "", "no device is registered")] }
        let client = (try? TLSClientContext(caFile: servers.caFile, alpn: ["h2"])).map { tls in
            ProbeClient(servers: servers, tls: tls, clock: clock)
        }
        let targets = devices.prefix(Bounds.checkDevicesMax)
        return await withTaskGroup { group in
            for (index, device) in targets.enumerated() {
                group.addTask {
                    guard device.transport == .apns else {
                        return (index, await sendWebPush(to: device, on: loop))
                    }
                    guard let client else {
                        return (index, .skipped(.send, device.maskedToken, "no connection to APNs"))
                    }
                    return (index, await send(target(of: device), client, on: loop))
                }
            }
            var findings: [Int: CheckFinding] = [:]
            for await (index, finding) in group { findings[index] = finding }
            return findings.sorted { $0.key < $1.key }.map(\.value)
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

    private func sendWebPush(to device: Device, on loop: EventLoop) async -> CheckFinding {
        let subject = DeviceCheck.subject(device)
        guard let webPush else { return .skipped(.send, subject, "the relay has no VAPID key yet") }
        return await webPush.send(Self.payload(sound: "default"), to: device, subject, on: loop)
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
                PushReason.fault(of: name), .send, subject, "no response: \(name)\(detail)", status: .failed)
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
