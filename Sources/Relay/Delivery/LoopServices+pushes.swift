import APNs
import Network
import Storage

/// What sending a push takes, for new events and for the queue alike.
extension LoopServices {
    /// Where the pushes of an app's devices in one environment go.
    enum Destination {
        case app(PushApp, Topic)
        /// They can't be pushed to; why, in a word for the answer and the log.
        case none(reason: String)
    }

    /// Where the pushes to devices of a bundle identifier go, by the apps as they are now.
    func destination(of bundleID: String, in environment: DeviceEnvironment) -> Destination {
        guard let topic = Topic(bundleID) else { return .none(reason: FanOut.invalidRegistration) }
        guard let app = apps[bundleID] else { return .none(reason: FanOut.unknownBundle) }
        guard app.environments.contains(Environment(environment)) else {
            return .none(reason: FanOut.environmentNotAllowed)
        }
        return .app(app, topic)
    }

    /// The first attempt of a push to a device of an app, which was read at or after a time.
    func firstAttempt(
        to device: Device, of app: PushApp, at time: EpochMilliseconds
    ) -> DeliveryAttempt {
        DeliveryAttempt(
            registeredEnvironment: Environment(device.environment),
            mayChangeEnvironment: app.environments.count == 2,
            isTopicDefault: device.bundleID == rules.defaultBundleID?.text,
            isTopicConfigured: apps.configuredBundleIDs.contains(device.bundleID), firstSentAt: time)
    }

    /// What an outcome is told with.
    struct AttemptMade<Subject> {
        /// What the push was sent for.
        let subject: Subject
        let attempt: DeliveryAttempt
        /// The key of the push's app.
        let key: AppKey
    }

    /// Sends a push with the key of its app; false when the relay doesn't push to the app.
    ///
    /// The app is looked up for each attempt: the apps may have been replaced since the last. `subject` comes back
    /// with the outcome, so that `completion` need capture nothing but its object, which takes no memory for each push.
    func send<Subject>(
        _ push: Push, _ attempt: DeliveryAttempt, for subject: Subject,
        completion: @escaping (Outcome, AttemptMade<Subject>) -> Void
    ) -> Bool {
        let bundleID = push.notification.topic.text
        guard let key = apps.key(of: bundleID) else { return false }
        let number = counts.apps.number(of: bundleID)
        let began = loop.now.nanoseconds
        senders.sender(of: key, to: attempt.environment).send(push) { [self] outcome in
            let took = loop.now.nanoseconds &- began
            counts.attempt(outcome, app: number, attempt.environment, took: took)
            completion(outcome, AttemptMade(subject: subject, attempt: attempt, key: key))
        }
        return true
    }

    /// Stores which environment accepted a device's token, without waiting for it.
    func store(_ environment: Environment, of device: Device) {
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
    /// Until when a registration counts as the one that was read and pushed to: what came later is fresh, whatever
    /// the clocks of APNs, this relay and another say.
    func removalBound(_ time: EpochMilliseconds) -> EpochMilliseconds { min(time, updatedAt) }
}

extension PendingPush {
    /// The row of a push that is to be sent later.
    init(
        _ push: Push, to device: Device, eventType: String, sessionID: String, attempts: Int,
        dueAt: EpochMilliseconds, createdAt: EpochMilliseconds
    ) {
        self.init(
            id: push.id, secretHash: device.secretHash, deviceID: device.id, eventType: eventType,
            sessionID: sessionID, payload: push.notification.payload,
            pushType: push.notification.pushType.rawValue, priority: push.notification.priority.rawValue,
            collapseID: push.notification.collapseID?.text, attempts: attempts, dueAt: dueAt,
            createdAt: createdAt, expiresAt: push.expiresAt)
    }

    /// The push to a device; `nil` when this program didn't write the row.
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
    /// When it is given up, in milliseconds since 1970.
    var expiresAt: EpochMilliseconds { EpochMilliseconds(clamping: notification.expiration) * 1000 }

    /// Whether it may be sent later if it can't be sent now.
    var mayWait: Bool { notification.expiration > 0 }
}
