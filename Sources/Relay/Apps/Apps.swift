import APNs
import Storage

/// The apps that the relay pushes to: made whole from the configuration, then only replaced as a whole.
struct Apps: Sendable {
    private let byBundleID: [String: PushApp]
    /// The app of every other bundle identifier.
    private let other: PushApp?
    /// The app of registrations that name none.
    let defaultBundleID: Topic?
    /// The bundle identifiers that may be registered; `nil` is any.
    let bundleIDs: Set<Topic>?
    /// The bundle identifiers that the operator named: the default, and those that may be registered.
    let configuredBundleIDs: Set<String>
    /// The keys of all apps, each once.
    let keys: [AppKey]

    /// One app under any of its team's bundle identifiers, of which only some may be registered.
    init(single app: PushApp, defaultBundleID: Topic? = nil, bundleIDs: Set<Topic>? = nil) {
        byBundleID = [:]
        other = app
        self.defaultBundleID = defaultBundleID
        self.bundleIDs = bundleIDs
        configuredBundleIDs = Self.texts(bundleIDs, defaultBundleID)
        keys = [app.key]
    }

    /// Several apps by their bundle identifiers, and none beside them.
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

    /// The app of a bundle identifier; `nil` where it isn't pushed to.
    subscript(bundleID: String) -> PushApp? { byBundleID[bundleID] ?? other }

    /// The key of a bundle identifier's app; `nil` where it isn't pushed to.
    func key(of bundleID: String) -> AppKey? { byBundleID[bundleID]?.key ?? other?.key }

    /// Where some app of a key is pushed to.
    func environments(of key: AppKey) -> Set<Environment> {
        apps(of: key).reduce(into: []) { $0.formUnion($1.environments) }
    }

    /// The configured bundle identifiers that are pushed to with a key in an environment, in alphabetical order.
    func topics(of key: AppKey, in environment: Environment) -> [Topic] {
        bundleIDs(of: key).filter { self[$0]?.environments.contains(environment) == true }
            .compactMap(Topic.init)
    }

    /// The configured bundle identifiers that are pushed to with a key, in alphabetical order.
    func bundleIDs(of key: AppKey) -> [String] {
        configuredBundleIDs.filter { self.key(of: $0) === key }.sorted()
    }

    private func apps(of key: AppKey) -> [PushApp] {
        (Array(byBundleID.values) + [other].compactMap(\.self)).filter { $0.key === key }
    }

    /// How many apps there are; `nil` where any bundle identifier is one.
    var count: Int? { other == nil ? byBundleID.count : nil }
}
