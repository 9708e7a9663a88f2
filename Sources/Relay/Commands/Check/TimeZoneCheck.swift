import Programs
import Storage

/// Looks for devices whose time zone this system doesn't know.
struct TimeZoneCheck {
    private let zones = TimeZones()
    private(set) var looked = 0
    /// The number of devices with an unknown time zone.
    private(set) var affected = 0
    private var counts: [String: Int] = [:]

    /// Reads the preferences of at most ``Bounds/checkPreferencesMax`` devices.
    static func findings(_ database: DatabaseURL, options: ServerOptions) async -> [CheckFinding] {
        var options = options
        options.connectionsMax = 1
        options.callTimeout = min(options.callTimeout, Bounds.checkStepDeadline)
        var check = TimeZoneCheck()
        // An unreadable database has findings of its own.
        guard let storage = try? await OpenStorage.openReading(database, options: options) else { return [] }
        let began = ContinuousClock.now
        var cursor: DeviceCursor?
        repeat {
            guard
                let page = try? await storage.preferences(
                    after: cursor, limit: Bounds.checkPreferencesPerStep)
            else { break }
            check.note(page)
            cursor = page.next
        } while cursor != nil && check.looked < Bounds.checkPreferencesMax
            && ContinuousClock.now - began < Bounds.checkStepDeadline
        await storage.close()
        return check.finding(isWhole: cursor == nil).map { [$0] } ?? []
    }

    /// Counts the devices on a page.
    mutating func note(_ page: PreferencesPage) {
        looked += page.looked
        for text in page.texts {
            let names = DevicePreferences(stored: text).timeZones.map(\.name)
            let unknown = Set(names.filter { zones.zone($0) == nil })
            if !unknown.isEmpty { affected += 1 }
            for name in unknown { counts[name, default: 0] += 1 }
        }
    }

    /// The finding; `nil` if all names are known.
    ///
    /// - Parameter isWhole: Whether all devices were checked.
    func finding(isWhole: Bool) -> CheckFinding? {
        guard affected > 0 else { return nil }
        let most = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        var names = most.prefix(Bounds.checkZonesMax).map { "\(Quoted.name($0.key)) (\($0.value))" }
        if most.count > names.count { names.append("\(most.count - names.count) others") }
        let of = isWhole ? "\(looked)" : "the first \(looked)"
        return .fault(
            .timeZonesUnknown, .database, "time zones",
            "\(affected) of \(of) devices have a time zone that this system doesn't know: "
                + names.joined(separator: ", "))
    }
}
