import JSON
import Storage

/// The result of a dispatch: the outcomes of its pushes, and the response that reports them.
struct DispatchResult: Sendable {
    /// The response to the request, the same for all requests with the same `eventID`.
    let response: [UInt8]
    private let made: DispatchReport?

    /// The result of pushes that have just been sent.
    init(_ report: DispatchReport) {
        made = report
        response = report.response
    }

    /// The result of an earlier dispatch with the same `eventID`, from its stored response.
    init(stored response: [UInt8]) {
        made = nil
        self.response = response
    }

    /// The outcomes of the pushes.
    var report: DispatchReport { made ?? DispatchReport(response: response) }
}

/// The outcomes of a dispatch's pushes.
struct DispatchReport: Sendable, Equatable {
    /// The outcome of one push.
    struct Delivery: Sendable, Equatable {
        /// The device's masked token.
        let device: String
        let status: DeviceResult.Status
        /// The push's `apns-id`, if there was a push.
        var pushID: String?
        /// Whether the push caused the registration's removal.
        var removed = false
        /// Whether the push went to a Live Activity.
        var isActivity = false
    }

    /// Pushes accepted by their push services.
    private(set) var sent = 0
    /// Pushes stored to be sent later.
    private(set) var queued = 0
    /// Pushes that failed.
    private(set) var failed = 0
    /// Pushes suppressed by their devices' preferences.
    private(set) var muted = 0
    /// The results of pushes to Live Activities, which the other counts exclude; `nil` if the event has no state for
    /// them.
    private(set) var activities: ActivityCounts?
    /// At most ``Bounds/deliveriesListedMax`` deliveries, so that the response can be stored for later requests with
    /// the same `eventID`.
    private(set) var deliveries: [Delivery] = []

    /// Creates a report on these results.
    ///
    /// - Parameter held: The number of activities that get the event's state later; `nil` if the event has no state.
    init(_ results: [DeviceResult], held: Int? = nil) {
        activities = held.map { ActivityCounts(held: $0) }
        deliveries = results.indices.prefix(Bounds.deliveriesListedMax).map { index in
            Delivery(
                device: results[index].maskedToken, status: results[index].status,
                pushID: results[index].pushID, removed: results[index].removed,
                isActivity: results[index].activity != nil)
        }
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

    /// The masked tokens of the devices that the event reached or will reach with a retry.
    var reached: Set<String> {
        let reached = deliveries.filter { delivery in
            guard !delivery.isActivity else { return false }
            switch delivery.status {
            case .sent: return true
            case .queued(let reason): return reason != FailureReason.quietHours
            case .failed, .muted: return false
            }
        }
        return Set(reached.map(\.device))
    }
}

// MARK: As JSON

extension DispatchReport {
    /// The response body.
    var response: [UInt8] {
        var writer = JSON.Writer(capacity: 64 + 112 * deliveries.count)
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
        for index in deliveries.indices { deliveries[index].write(to: &writer) }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }

    /// Reads a response; treats a response that this relay didn't write as one without devices.
    init(response: [UInt8]) {
        self.init([])
        guard let value = try? JSON.parse(response, maxBytes: StorageLimits.answerBytes) else { return }
        func count(_ value: JSON.Value, _ name: String) -> Int { value[name]?.int ?? 0 }
        sent = count(value, "sent")
        queued = count(value, "queued")
        failed = count(value, "failed")
        muted = count(value, "muted")
        activities = value["activities"].map { value in
            ActivityCounts(
                sent: count(value, "sent"), queued: count(value, "queued"), failed: count(value, "failed"),
                held: count(value, "held"))
        }
        deliveries = (value["deliveries"]?.array ?? []).compactMap { Delivery($0) }
    }
}

extension DispatchReport.Delivery {
    fileprivate func write(to writer: inout JSON.Writer) {
        writer.beginObject()
        writer.member("device", device)
        switch status {
        case .sent(let apnsID):
            writer.member("status", word: "sent")
            writer.member("apnsID", apnsID)
        case .queued(let reason):
            writer.member("status", word: "queued")
            if let pushID { writer.member("apnsID", pushID) }
            writer.member("reason", reason)
        case .failed(let reason):
            writer.member("status", word: "failed")
            writer.member("reason", reason)
        case .muted:
            writer.member("status", word: "muted")
        }
        if removed { writer.member("removed", true) }
        if isActivity { writer.member("activity", true) }
        writer.endObject()
    }

    fileprivate init?(_ value: JSON.Value) {
        guard let device = value["device"]?.string else { return nil }
        let reason = value["reason"]?.string ?? ""
        let apnsID = value["apnsID"]?.string
        switch value["status"]?.string {
        case "sent": status = .sent(apnsID: apnsID ?? "")
        case "queued": status = .queued(reason: reason)
        case "failed": status = .failed(reason: reason)
        case "muted": status = .muted
        default: return nil
        }
        self.device = device
        pushID = apnsID
        removed = value["removed"]?.bool ?? false
        isActivity = value["activity"]?.bool ?? false
    }
}
