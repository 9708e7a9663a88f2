import APNs
import JSON
import Storage

/// The result of one device's push, as shown in the response to the event.
struct DeviceResult: Sendable, Equatable {
    /// How the push ended.
    enum Status: Sendable, Equatable {
        /// APNs accepted the push with this identifier.
        case sent(apnsID: String)
        /// It is stored and will be sent later; `reason` says why.
        case queued(reason: String)
        /// It failed: APNs' reason or one of the relay's, at most ``Bounds/reasonBytesMax`` bytes.
        case failed(reason: String)
        /// The device's preferences suppress it.
        case muted
    }

    /// The registration's id, for the delivery log.
    let deviceID: String
    /// The token, masked.
    let maskedToken: String
    /// The push's `apns-id`, also the id of its delivery log row; `nil` if no push could be created.
    var pushID: String?
    let status: Status
    /// Whether this push caused the registration's removal.
    var removed = false
    /// The push's effect on a Live Activity, if it goes to one.
    var activity: ActivityEvent?

    /// Whether it failed only because it couldn't be stored to be sent later.
    var isUnstored: Bool {
        guard case .failed(let reason) = status else { return false }
        return reason == FailureReason.queueUnavailable || reason == FailureReason.queueFull
    }
}

/// The results of an event's pushes to Live Activities, counted separately from those to devices.
struct ActivityCounts: Sendable, Equatable {
    var sent = 0
    var queued = 0
    var failed = 0
    /// Activities that get the state later, unless a newer one comes first.
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

/// The response to an event: the results of its pushes.
struct EventAnswer: Sendable, Equatable {
    let results: [DeviceResult]
    /// Pushes accepted by APNs.
    private(set) var sent = 0
    /// Pushes stored for a retry.
    private(set) var queued = 0
    /// Pushes that failed.
    private(set) var failed = 0
    /// Pushes suppressed by their devices' preferences.
    private(set) var muted = 0
    /// The results of pushes to Live Activities, which the other counts exclude; `nil` if the event has no state for
    /// them.
    private(set) var activities: ActivityCounts?

    /// The response for these results.
    ///
    /// - Parameter held: Activities that get the event's state later; `nil` if it has none.
    init(results: [DeviceResult], held: Int? = nil) {
        self.results = results
        activities = held.map { ActivityCounts(held: $0) }
        for index in results.indices {
            guard results[index].activity == nil else {
                switch results[index].status {
                case .sent: activities?.sent += 1
                case .queued: activities?.queued += 1
                case .failed, .muted: activities?.failed += 1
                }
                continue
            }
            switch results[index].status {
            case .sent: sent += 1
            case .queued: queued += 1
            case .failed: failed += 1
            case .muted: muted += 1
            }
        }
    }

    /// The response body.
    ///
    /// The counts cover all devices; `deliveries` lists at most ``Bounds/deliveriesListedMax``, so that the
    /// response can be stored for the same `eventID`.
    var body: [UInt8] {
        var writer = JSON.Writer(capacity: 64 + 112 * min(results.count, Bounds.deliveriesListedMax))
        writer.beginObject()
        writer.member("ok", true)
        writer.member("sent", sent)
        writer.member("failed", failed)
        writer.member("queued", queued)
        writer.member("muted", muted)
        if let activities {
            writer.name("activities")
            writer.beginObject()
            writer.member("sent", activities.sent)
            writer.member("failed", activities.failed)
            writer.member("queued", activities.queued)
            writer.member("held", activities.held)
            writer.endObject()
        }
        writer.name("deliveries")
        writer.beginArray()
        for index in results.indices.prefix(Bounds.deliveriesListedMax) {
            append(index, to: &writer)
        }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }

    /// Takes an index so that no result is copied.
    private func append(_ index: Int, to writer: inout JSON.Writer) {
        writer.beginObject()
        writer.member("device", results[index].maskedToken)
        switch results[index].status {
        case .sent(let apnsID):
            writer.member("status", word: "sent")
            writer.member("apnsID", apnsID)
        case .queued(let reason):
            writer.member("status", word: "queued")
            if let id = results[index].pushID { writer.member("apnsID", id) }
            writer.member("reason", reason)
        case .failed(let reason):
            writer.member("status", word: "failed")
            writer.member("reason", reason)
        case .muted:
            writer.member("status", word: "muted")
        }
        if results[index].removed { writer.member("removed", true) }
        if results[index].activity != nil { writer.member("activity", true) }
        writer.endObject()
    }
}
