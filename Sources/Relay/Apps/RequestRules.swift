import APNs
import Storage

/// The settings that requests are checked against.
struct RequestRules: Sendable {
    /// The minimum length, in bytes, of a secret without devices.
    var secretBytesMin = 16
    /// The app for registrations that don't name one.
    var defaultBundleID: Topic?
    /// The apps that may register; `nil` for any.
    var bundleIDs: Set<Topic>?
    /// The environment of each app that has only one.
    var onlyEnvironment: [Topic: DeviceEnvironment] = [:]
    /// The sounds of the apps' pushes.
    var sounds: Set<String> = []
    /// Whether the relay keeps a history.
    var hasHistory = false
    /// The keys that Web Push subscriptions are made with; `nil` if the relay doesn't send by Web Push.
    var webPush: WebPushKeys?
    /// The time zones allowed in quiet hours.
    var timeZones = TimeZones()

    /// Whether a secret is too short for a first registration.
    func isWeak(_ secret: Secret) -> Bool { secret.bytes.count < secretBytesMin }
}

extension RequestRules {
    /// The rules for these apps.
    init(_ apps: Apps, secretBytesMin: Int, hasHistory: Bool = false, webPush: WebPushKeys? = nil) {
        self.init(
            secretBytesMin: secretBytesMin, defaultBundleID: apps.defaultBundleID, bundleIDs: apps.bundleIDs,
            sounds: apps.sounds, hasHistory: hasHistory, webPush: webPush)
        if let sound = PushSettings().sound, webPush != nil { sounds.insert(sound) }
        for bundleID in apps.bundleIDs ?? [] {
            guard let environments = apps[bundleID.text]?.environments, environments.count == 1 else {
                continue
            }
            onlyEnvironment[bundleID] = environments.first.map(DeviceEnvironment.init)
        }
    }
}
