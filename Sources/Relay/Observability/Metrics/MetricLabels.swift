import APNs

/// The words that may stand in a label `reason`: APNs' own, what kept a push from an answer, and the relay's.
enum KnownReasons {
    /// What stands for every other word.
    static let other = "other"

    /// Every word once, ``other`` first.
    static let words: [String] = {
        var words = [other]
        let all =
            Reason.Documented.allCases.map(\.name) + Unreachable.Cause.allCases.map(\.rawValue) + [
                FanOut.deadlineExceeded, FanOut.invalidRegistration, FanOut.unknownBundle,
                FanOut.environmentNotAllowed, PushQueue.queueFull, PushQueue.queueUnavailable,
                PushQueue.deviceRemoved, PushQueue.expired,
            ]
        for word in all where !words.contains(word) { words.append(word) }
        return words
    }()

    private static let numbers = Dictionary(uniqueKeysWithValues: words.enumerated().map { ($1, $0) })

    /// A word's place in ``words``; that of ``other`` for one that isn't there.
    static func number(of word: String) -> Int { numbers[word] ?? 0 }
}

/// The words that may stand for the reason of a GOAWAY: APNs' own and HTTP/2's error codes.
enum GoAwayReasons {
    /// The word, or ``KnownReasons/other``.
    static func known(_ word: String) -> String {
        words.contains(word) ? word : KnownReasons.other
    }

    private static let words: Set<String> = Set(Reason.Documented.allCases.map(\.name)).union([
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
        "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
        "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ])
}

/// The apps that metrics name; every other bundle identifier counts as ``KnownReasons/other``.
///
/// Only those of the configuration get a name: registrations hold whatever strangers write.
struct AppLabels: Sendable {
    /// The names by number, ``KnownReasons/other`` first.
    private(set) var names = [KnownReasons.other]
    private var numbers: [String: Int] = [:]

    /// No apps.
    init() {}

    /// Adds the apps that are new, as far as ``Bounds/metricsAppsMax`` allows; those that are gone keep their number.
    mutating func add(_ apps: Apps) {
        if let bundleID = apps.defaultBundleID?.text { add(bundleID) }
        for bundleID in (apps.bundleIDs ?? []).map(\.text).sorted() { add(bundleID) }
    }

    /// The number of a name, which is added unless there are too many.
    @discardableResult
    mutating func add(_ name: String) -> Int {
        if let number = numbers[name] { return number }
        guard name != KnownReasons.other, names.count <= Bounds.metricsAppsMax else { return 0 }
        numbers[name] = names.count
        names.append(name)
        return names.count - 1
    }

    /// The number of a bundle identifier.
    func number(of bundleID: String) -> Int {
        // Most relays have one app, and to compare is cheaper than to hash.
        if names.count > 1, names[1] == bundleID { return 1 }
        return numbers[bundleID] ?? 0
    }
}

/// What refused a request or a push because there was too much of it.
enum LimitKind: String, CaseIterable, Sendable {
    /// `RELAY_EVENTS_PER_MINUTE`.
    case events
    /// `RELAY_REGISTRATIONS_PER_MINUTE`.
    case registrations
    /// `RELAY_UNKNOWN_SECRETS_PER_MINUTE`.
    case unknownSecrets = "unknown_secrets"
    /// `RELAY_DEVICES_PER_SECRET_MAX`.
    case devices
    /// `RELAY_PUSHES_MAX`.
    case pushes
    /// `RELAY_CONNECTIONS_MAX` and `RELAY_CONNECTIONS_PER_ADDRESS_MAX`.
    case connections
    /// `RELAY_QUEUE_MAX` and `RELAY_QUEUE_PER_SECRET_MAX`.
    case queue
}
