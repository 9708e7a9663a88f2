import APNs

/// The app names used in metrics; every other bundle ID counts as ``KnownReasons/other``.
///
/// Only configured apps have a name, because strangers choose the bundle IDs in registrations.
struct AppLabels: Sendable {
    /// Names by number, ``KnownReasons/other`` first.
    private(set) var names = [KnownReasons.other]
    private var numbers: [String: Int] = [:]

    /// Creates labels without apps.
    init() {}

    /// Adds new apps up to ``Bounds/metricsAppsMax``; removed apps keep their number.
    mutating func add(_ apps: Apps) {
        if let bundleID = apps.defaultBundleID?.text { add(bundleID) }
        for bundleID in (apps.bundleIDs ?? []).map(\.text).sorted() { add(bundleID) }
    }

    /// The number of a name; adds the name unless there are too many.
    @discardableResult
    mutating func add(_ name: String) -> Int {
        if let number = numbers[name] { return number }
        guard name != KnownReasons.other, names.count <= Bounds.metricsAppsMax else { return 0 }
        numbers[name] = names.count
        names.append(name)
        return names.count - 1
    }

    func number(of bundleID: String) -> Int {
        // Most relays have one app, and comparing is cheaper than hashing.
        if names.count > 1, names[1] == bundleID { return 1 }
        return numbers[bundleID] ?? 0
    }
}
