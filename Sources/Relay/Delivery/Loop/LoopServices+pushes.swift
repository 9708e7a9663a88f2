import APNs
import Network
import Programs
import Storage

/// Sends pushes, for new events and for the queue.
extension LoopServices {
    /// The app for pushes to devices in one environment, if the relay can send them.
    enum AppMatch {
        case app(PushApp, Topic)
        /// The pushes can't be sent; `reason` is for the response and the log.
        case none(reason: String)
    }

    /// The app with this bundle ID, or the reason why the relay can't push to its devices in this environment.
    func app(of bundleID: String, in environment: DeviceEnvironment) -> AppMatch {
        guard let topic = Topic(bundleID) else { return .none(reason: FailureReason.invalidRegistration) }
        guard let app = apps[bundleID] else { return .none(reason: FailureReason.unknownBundle) }
        guard app.environments.contains(Environment(environment)) else {
            return .none(reason: FailureReason.environmentNotAllowed)
        }
        return .app(app, topic)
    }

    /// How pushes reach a device.
    enum RouteMatch {
        case found(PushRoute, Topic)
        /// The pushes can't be sent; `reason` is for the response and the log.
        case none(reason: String)
    }

    /// Finds how pushes reach a device; registrations made at or after this time count as new.
    func route(to device: Device, at time: EpochMilliseconds) -> RouteMatch {
        if let stored = device.details.webPush {
            guard webPushSender != nil else { return .none(reason: FailureReason.webPushOff) }
            guard let parsed = WebPushDevice(stored: stored) else {
                return .none(reason: FailureReason.invalidRegistration)
            }
            let route = WebPushRoute(parsed, of: device.secretHash, at: time)
            return .found(.webPush(route), WebPushDevice.topic)
        }
        switch app(of: device.bundleID, in: device.environment) {
        case .none(let reason): return .none(reason: reason)
        case .app(let app, let topic):
            return .found(.apns(firstAttempt(to: device, of: app, at: time)), topic)
        }
    }

    /// The first attempt of a push to an app's device; registrations made at or after this time count as new.
    func firstAttempt(
        to device: Device, of app: PushApp, at time: EpochMilliseconds
    ) -> Attempt {
        firstAttempt(to: device.bundleID, in: device.environment, of: app, at: time)
    }

    /// The first attempt of a push to a device of an app with this bundle ID, in this environment.
    func firstAttempt(
        to bundleID: String, in environment: DeviceEnvironment, of app: PushApp, at time: EpochMilliseconds
    ) -> Attempt {
        Attempt(
            registeredEnvironment: Environment(environment),
            mayChangeEnvironment: app.environments.count == 2,
            isTopicDefault: bundleID == rules.defaultBundleID?.text,
            isTopicConfigured: apps.configuredBundleIDs.contains(bundleID), firstSentAt: time)
    }

    /// Ends a push's lease with the push's end, without waiting.
    ///
    /// - Parameter expiresAt: When the push expires, if that differs from the time in its row.
    func finish(_ leased: LeasedPush, _ end: PushEnd, expiresAt: EpochMilliseconds? = nil) {
        if case .sent(_, let environment?) = end, let device = leased.device {
            store(environment, of: device)
        }
        let queue = shared.queue
        let random = Double.random(in: 0..<1, using: &generator)
        queue.end(
            leased.end(
                after: end, queue.options.schedule, at: shared.clock.now, expiresAt: expiresAt,
                random: random))
    }

    /// Stores which environment accepted a device's token, without waiting.
    private func store(_ environment: Environment, of device: Device) {
        let shared = shared
        nonisolated(unsafe) let services = self  // why: confined to the loop that runs the task
        loop.spawn { _ in
            do throws(StorageError) {
                if try await shared.storage.setEnvironment(DeviceEnvironment(environment), of: device) {
                    services.counts.environmentsHealed += 1
                }
            } catch {
                shared.log(.warning, "registration.unchanged", [.storageError(error)])
            }
        }
    }
}

extension Device {
    /// The latest `updated_at` of a registration that counts as the one that the push went to.
    ///
    /// Later registrations are new, regardless of the clocks of APNs, this relay and other relays.
    func removalBound(_ time: EpochMilliseconds) -> EpochMilliseconds { min(time, updatedAt) }
}

extension PendingPush {
    /// The queue row of a push to send later.
    init(
        _ push: Push, to device: Device, eventType: String, sessionID: String, attempts: Int,
        dueAt: EpochMilliseconds, createdAt: EpochMilliseconds, eventID: String?, kind: String?
    ) {
        self.init(
            id: push.id, secretHash: device.secretHash, deviceID: device.id, eventType: eventType,
            sessionID: sessionID, payload: push.notification.payload,
            pushType: push.notification.pushType.rawValue, priority: push.notification.priority.rawValue,
            collapseID: push.notification.collapseID?.text, attempts: attempts, dueAt: dueAt,
            createdAt: createdAt, expiresAt: push.expiresAt, eventID: eventID, kind: kind)
    }

    /// The push to a device; `nil` if this program didn't write the row.
    func push(to token: DeviceToken, _ topic: Topic) -> Push? {
        guard let pushType = PushType(rawValue: pushType), let priority = Priority(rawValue: priority) else {
            return nil
        }
        let storedCollapseID = collapseID.flatMap(CollapseID.init)
        if collapseID != nil, storedCollapseID == nil { return nil }
        let notification = Notification(
            topic: topic, pushType: pushType, priority: priority,
            expiration: UInt64(clamping: expiresAt / 1000), collapseID: storedCollapseID, payload: payload)
        return Push(notification, to: token, id: id)
    }
}

extension Push {
    /// When the push expires, in milliseconds since 1970.
    var expiresAt: EpochMilliseconds { EpochMilliseconds(clamping: notification.expiration) * 1000 }

    /// Whether the push may be sent later if it can't be sent now.
    var mayWait: Bool { notification.expiration > 0 }
}
