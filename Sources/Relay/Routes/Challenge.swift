import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage

/// Sends a registration challenge: a push with a code to the device being registered, as a background push if the
/// device uses APNs.
struct Challenge {
    let services: LoopServices
    let codes: ChallengeCodes
    let secret: Secret

    /// Pushes a code and returns 202 once the push service has accepted it.
    ///
    /// Like any push, the challenge goes to the other environment if APNs says that the token belongs there; the code
    /// is valid for the environment that it was sent to.
    func send(_ wanted: RegisterRequest, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        guard services.slots.take(1) else { throw APIError(.overloaded, limit: .pushes) }
        defer { services.slots.giveBack() }
        let now = shared.clock.now
        let route = try route(to: wanted, at: now)
        let id = services.makeID(at: now).text
        let attempts = AttemptRunner(on: services) { push, environment in
            self.push(push.id, wanted, DeviceEnvironment(environment), at: now)
        }
        defer { attempts.logReport() }
        switch await end(
            of: push(id, wanted, wanted.environment, at: now),
            route, attempts)
        {
        case .sent:
            trace.add(.note("challenge", id))
            return Self.reply(id)
        case .retryLater(let retry):
            throw APIError(.apnsUnavailable, logDetail: retry.reason)
        case .failed(let failure):
            throw APIError(
                .deviceRefused, field: wanted.webPush == nil ? .deviceToken : .webPush,
                hint: "Its reason is \(failure.reason).",
                logDetail: failure.reason)
        case .unfinished:
            throw APIError(.apnsUnavailable)
        case .unknownApp:
            throw APIError(.unknownBundle, field: .bundleID)
        }
    }

    private var shared: Services { services.shared }

    /// The environment in which a code is valid for a registration; `nil` if there is none.
    ///
    /// It may differ from the environment in the request, because a device that doesn't know its environment sends
    /// none.
    func environment(provenBy code: String, _ wanted: RegisterRequest) -> DeviceEnvironment? {
        [wanted.environment, wanted.environment.other].first { environment in
            codes.isValid(code, for: subject(wanted, environment), at: shared.clock.now)
        }
    }

    private func subject(
        _ wanted: RegisterRequest, _ environment: DeviceEnvironment
    ) -> ChallengeCodes.Subject {
        ChallengeCodes.Subject(
            secret: secret, token: wanted.deviceToken, bundleID: wanted.bundleID,
            environment: environment)
    }

    private func route(
        to wanted: RegisterRequest, at now: EpochMilliseconds
    ) throws(APIError) -> PushRoute {
        if let device = wanted.webPush {
            return .webPush(WebPushRoute(device, of: shared.hasher.key(of: secret).primary, at: now))
        }
        guard case .app(let app, _) = services.app(of: wanted.bundleID.text, in: wanted.environment) else {
            throw APIError(.unknownBundle, field: .bundleID)
        }
        return .apns(
            services.firstAttempt(to: wanted.bundleID.text, in: wanted.environment, of: app, at: now))
    }

    private func end(
        of push: Push, _ route: PushRoute, _ attempts: AttemptRunner
    ) async -> PushEnd {
        await withCheckedContinuation { continuation in
            attempts.send(push, route, for: ()) { end, _ in continuation.resume(returning: end) }
        }
    }

    // MARK: Push and response

    private func push(
        _ id: String, _ wanted: RegisterRequest, _ environment: DeviceEnvironment, at now: EpochMilliseconds
    ) -> Push {
        let code = codes.code(for: subject(wanted, environment), at: now)
        let end = now + Bounds.challengeLifetime.inMilliseconds
        // APNs requires this priority for background pushes; browsers don't allow background pushes.
        let isShown = wanted.webPush != nil
        let notification = Notification(
            topic: wanted.bundleID, pushType: isShown ? .alert : .background,
            priority: isShown ? .immediate : .conserveDevicePower,
            expiration: UInt64(clamping: end / 1000), payload: Self.payload(id, code, isShown: isShown))
        return Push(notification, to: wanted.deviceToken, id: id)
    }

    /// The data appears three times, as in an event's payload.
    private static func payload(_ id: String, _ code: String, isShown: Bool) -> [UInt8] {
        var writer = JSON.Writer(capacity: 512)
        func writeFacts() {
            writer.member("challengeID", id)
            writer.member("challengeCode", code)
        }
        writer.beginObject()
        var aps = APS()
        if isShown {
            aps.title = "Confirming this device"
            aps.body = "Open the page if it doesn't list this device soon."
        } else {
            aps.isContentAvailable = true
        }
        aps.write(to: &writer)
        writeFacts()
        for name: StaticString in ["data", "body"] {
            writer.name(name)
            writer.beginObject()
            writeFacts()
            writer.endObject()
        }
        writer.endObject()
        return writer.finish()
    }

    private static func reply(_ id: String) -> Reply {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("registered", false)
        writer.member("challengeID", id)
        writer.member("expiresIn", Int(Bounds.challengeLifetime.components.seconds))
        writer.endObject()
        return Reply(status: 202, body: writer.finish())
    }
}
