import APNs
import Storage

/// The result of one device's push, as shown in the response to the event.
struct DeviceResult: Sendable, Equatable {
    /// How the push ended.
    enum Status: Sendable, Equatable {
        /// APNs accepted the push with this identifier.
        case sent(apnsID: String)
        /// The push is stored and will be sent later; `reason` says why.
        case queued(reason: String)
        /// The push failed; `reason` is APNs' or the relay's, at most ``Bounds/reasonBytesMax`` bytes.
        case failed(reason: String)
        /// The device's preferences suppress the push.
        case muted
    }

    /// The registration's id, for the delivery log.
    let deviceID: String
    let maskedToken: String
    /// The push's `apns-id`, also the id of its delivery log row; `nil` if no push could be created.
    var pushID: String?
    let status: Status
    /// Whether this push caused the registration's removal.
    var removed = false
    /// The push's effect on a Live Activity, if it goes to one.
    var activity: ActivityEvent?

    /// Whether the push failed only because it couldn't be stored for sending later.
    var isUnstored: Bool {
        guard case .failed(let reason) = status else { return false }
        return reason == FailureReason.queueUnavailable || reason == FailureReason.queueFull
    }
}

/// The results of an event's pushes to Live Activities, counted separately from pushes to devices.
struct ActivityCounts: Sendable, Equatable {
    var sent = 0
    var queued = 0
    var failed = 0
    /// The number of activities that get the state later, unless a newer state comes first.
    var held = 0
}

extension Device {
    /// An ellipsis and the token's last eight characters.
    ///
    /// If the stored text isn't a valid token, at most half of it is shown, as printable ASCII.
    var maskedToken: String {
        if let token = DeviceToken(token) { return token.description }
        let scalars = token.unicodeScalars
        let end = scalars.suffix(min(DeviceToken.suffixCount, scalars.count / 2))
        return "…" + String(end.map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}
