import APNs
import Storage

/// The apps that the relay pushes to: immutable, and replaced as a whole.
struct Apps: Sendable {
    private let byBundleID: [String: PushApp]
    /// The app for all other bundle IDs.
    private let other: PushApp?
    /// The app for registrations that don't name one.
    let defaultBundleID: Topic?
    /// The bundle IDs that may register; `nil` for any.
    let bundleIDs: Set<Topic>?
    /// The bundle IDs in the configuration: the default and those that may register.
    let configuredBundleIDs: Set<String>
    /// The keys of all apps, without duplicates.
    let keys: [AppKey]

    /// One app for any bundle ID of its team; `bundleIDs` limits which may register.
    init(single app: PushApp, defaultBundleID: Topic? = nil, bundleIDs: Set<Topic>? = nil) {
        byBundleID = [:]
        other = app
        self.defaultBundleID = defaultBundleID
        self.bundleIDs = bundleIDs
        configuredBundleIDs = Self.texts(bundleIDs, defaultBundleID)
        keys = [app.key]
    }

    /// Several apps by bundle ID, and no others.
    init(_ apps: [Topic: PushApp], defaultBundleID: Topic? = nil) {
        byBundleID = Dictionary(uniqueKeysWithValues: apps.map { ($0.key.text, $0.value) })
        other = nil
        self.defaultBundleID = defaultBundleID
        bundleIDs = Set(apps.keys)
        configuredBundleIDs = Self.texts(bundleIDs, defaultBundleID)
        var keys: [AppKey] = []
        for app in apps.values where !keys.contains(where: { $0 === app.key }) { keys.append(app.key) }
        self.keys = keys
    }

    private static func texts(_ bundleIDs: Set<Topic>?, _ defaultBundleID: Topic?) -> Set<String> {
        Set((bundleIDs ?? []).map(\.text) + [defaultBundleID?.text].compactMap(\.self))
    }

    /// The app with this bundle ID; `nil` if the relay doesn't push to it.
    subscript(bundleID: String) -> PushApp? { byBundleID[bundleID] ?? other }

    /// The key for the app with this bundle ID; `nil` if the relay doesn't push to it.
    func key(of bundleID: String) -> AppKey? { byBundleID[bundleID]?.key ?? other?.key }

    /// The environments of a key's apps.
    func environments(of key: AppKey) -> Set<Environment> {
        apps(of: key).reduce(into: []) { $0.formUnion($1.environments) }
    }

    /// The configured bundle IDs for a key in an environment, in alphabetical order.
    func topics(of key: AppKey, in environment: Environment) -> [Topic] {
        bundleIDs(of: key).filter { self[$0]?.environments.contains(environment) == true }
            .compactMap(Topic.init)
    }

    /// The configured bundle IDs for a key, in alphabetical order.
    func bundleIDs(of key: AppKey) -> [String] {
        configuredBundleIDs.filter { self.key(of: $0) === key }.sorted()
    }

    private func apps(of key: AppKey) -> [PushApp] {
        (Array(byBundleID.values) + [other].compactMap(\.self)).filter { $0.key === key }
    }

    /// The sounds of all apps.
    var sounds: Set<String> {
        Set((Array(byBundleID.values) + [other].compactMap(\.self)).compactMap(\.push.sound))
    }

    /// The number of apps; `nil` if any bundle ID is accepted.
    var count: Int? { other == nil ? byBundleID.count : nil }
}
