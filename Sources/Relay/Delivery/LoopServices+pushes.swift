import APNs
import Network
import Storage

/// Sends pushes, for new events and for the queue.
extension LoopServices {
    /// The destination of pushes to an app's devices in one environment.
    enum Destination {
        case app(PushApp, Topic)
        /// They can't be sent; `reason` is for the response and the log.
        case none(reason: String)
    }

    /// The destination for a bundle ID's devices, based on the current apps.
    func destination(of bundleID: String, in environment: DeviceEnvironment) -> Destination {
        guard let topic = Topic(bundleID) else { return .none(reason: FailureReason.invalidRegistration) }
        guard let app = apps[bundleID] else { return .none(reason: FailureReason.unknownBundle) }
        guard app.environments.contains(Environment(environment)) else {
            return .none(reason: FailureReason.environmentNotAllowed)
        }
        return .app(app, topic)
    }

    /// The first attempt of a push to an app's device that was read at or after this time.
    func firstAttempt(
        to device: Device, of app: PushApp, at time: EpochMilliseconds
    ) -> DeliveryAttempt {
        firstAttempt(to: device.bundleID, in: device.environment, of: app, at: time)
    }

    /// The first attempt of a push to a device with a bundle ID that belongs to an app.
    func firstAttempt(
        to bundleID: String, in environment: DeviceEnvironment, of app: PushApp, at time: EpochMilliseconds
    ) -> DeliveryAttempt {
        DeliveryAttempt(
            registeredEnvironment: Environment(environment),
            mayChangeEnvironment: app.environments.count == 2,
            isTopicDefault: bundleID == rules.defaultBundleID?.text,
            isTopicConfigured: apps.configuredBundleIDs.contains(bundleID), firstSentAt: time)
    }

    /// The context passed along with an outcome.
    struct AttemptContext<Subject> {
        /// The subject for which the push was sent.
        let subject: Subject
        let attempt: DeliveryAttempt
        /// The key of the push's app.
        let key: AppKey
    }

    /// Sends a push with its app's key; returns false if the relay doesn't push to the app.
    ///
    /// Looks up the app for each attempt, because a reload may have replaced the apps. `subject` is returned
    /// with the outcome, so that `completion` captures only its object and needs no allocation per push.
    func send<Subject>(
        _ push: Push, _ attempt: DeliveryAttempt, for subject: Subject,
        completion: @escaping (Outcome, AttemptContext<Subject>) -> Void
    ) -> Bool {
        let bundleID = push.notification.topic.text
        guard let key = apps.key(of: bundleID) else { return false }
        let number = counts.apps.number(of: bundleID)
        let began = loop.now.nanoseconds
        senders.sender(of: key, to: attempt.environment).send(push) { [self] outcome in
            let took = loop.now.nanoseconds &- began
            counts.attempt(outcome, app: number, attempt.environment, took: took)
            completion(outcome, AttemptContext(subject: subject, attempt: attempt, key: key))
        }
        return true
    }

    /// Stores which environment accepted a device's token, without waiting.
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
    /// The latest `updated_at` of the registration that was pushed to.
    ///
    /// Later registrations are new, regardless of the clocks of APNs, this relay and others.
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
    /// When it expires, in milliseconds since 1970.
    var expiresAt: EpochMilliseconds { EpochMilliseconds(clamping: notification.expiration) * 1000 }

    /// Whether it may be sent later if it can't be sent now.
    var mayWait: Bool { notification.expiration > 0 }
}
