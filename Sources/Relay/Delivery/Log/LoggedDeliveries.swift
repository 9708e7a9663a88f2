import Storage

/// The values of `RELAY_LOG`: which results of pushes are written to the delivery log.
///
/// The results of two kinds of pushes are always written: queued pushes, and pushes to devices with a frequency limit,
/// which are counted in the log. The result of a queued push arrives after the response, so only the log records it;
/// also, a relay that lost its database connection while queueing a push uses the log to find out whether the push was
/// sent.
enum LoggedDeliveries: String, CaseIterable, Sendable {
    case all
    /// Only failed pushes.
    case failures
    case off

    /// The devices whose pushes are written, whatever their results; `nil` for all devices.
    func countedDevices(among recipients: Recipients) -> Set<String>? {
        guard self != .all else { return nil }
        let counted = recipients.indices.filter { recipients.preferences($0).hasFrequency }
        return Set(counted.map { recipients.devices[$0].id })
    }

    /// Whether a result is written.
    func includes(isFailed: Bool) -> Bool {
        switch self {
        case .all: true
        case .failures: isFailed
        case .off: false
        }
    }
}
