import APNs
import Network
import Programs
import Storage

/// A push to a Live Activity, ready for the fan-out.
struct ActivityPush {
    let token: PushToken
    let item: FanOut.Item

    /// The parts that the fan-out needs.
    var forFanOut: (recipient: Device, item: FanOut.Item) { (token.recipient, item) }
}

extension ActivityContent {
    /// Creates the pushes that bring a state to the activities whose turn it is.
    ///
    /// - Parameters:
    ///   - recipients: The secret's devices, whose preferences determine the alerts.
    ///   - replacing: The IDs of the devices whose notification the push replaces.
    func pushes(
        _ turn: ActivityTurn, _ recipients: Recipients, replacing: Set<String> = [], on services: LoopServices
    ) -> [ActivityPush] {
        (turn.updates + turn.starts).map { token in
            let plan = ActivityPlan(type, isShown: token.kind == .activity)
            return ActivityPush(token: token, item: item(plan, token, recipients, replacing, services))
        }
    }

    private func item(
        _ plan: ActivityPlan, _ token: PushToken, _ recipients: Recipients, _ replacing: Set<String>,
        _ services: LoopServices
    ) -> FanOut.Item {
        func failed(_ reason: String) -> FanOut.Item {
            FanOut.Item(push: nil, phase: .ended(.failed(reason: reason)), activity: plan.event)
        }
        guard let deviceToken = DeviceToken(token.token) else {
            return failed(FailureReason.invalidRegistration)
        }
        switch services.app(of: token.bundleID, in: token.environment) {
        case .none(let reason): return failed(reason)
        case .app(let app, let topic):
            let key = DeviceKey(deviceToken, bundleID: token.bundleID)
            guard services.shared.rates.takePush(to: key, at: services.loop.now) else {
                return failed(FailureReason.deviceRateLimited)
            }
            let now = services.shared.clock.now
            let isReplacing = token.deviceID.map(replacing.contains) ?? false
            let wish =
                recipients.areLooking(type.rawValue, at: now)
                ? .muted
                : recipients.preferences(of: token.deviceID)?.wish(
                    for: type.rawValue, at: now, zone: services.zone)
            let sound = isReplacing ? app.push.sound : nil
            let alert = alert(plan, wish, isReplacing, sound)
            let notification = Notification(
                topic: topic, pushType: .liveactivity, priority: plan.priority,
                expiration: UInt64(max(0, now + plan.timeToLive.inMilliseconds) / 1_000),
                payload: payload(plan, to: token, alert, at: now))
            return FanOut.Item(
                push: Push(notification, to: deviceToken, id: services.makeID(at: now).text),
                route: .apns(services.firstAttempt(to: token.recipient, of: app, at: now)),
                activity: plan.event)
        }
    }

    /// The alert, as the device's preferences allow it; a start must have one.
    private func alert(
        _ plan: ActivityPlan, _ wish: DevicePreferences.Wish?, _ isReplacing: Bool, _ sound: String?
    ) -> Alert {
        guard plan.alerts || isReplacing else { return .none }
        switch wish {
        case .muted? where plan.event != .start: return .none
        case .muted?, .quiet?: return .silent
        case .normal?, nil: return sound.map { .sound($0) } ?? .silent
        }
    }
}
