import APNs
import JSON
import Network
import Storage

/// Makes apps remove the notification of an event that no longer needs attention.
extension Pushing {
    /// Sends a background push to the devices that got the event, once for an event.
    ///
    /// The devices are those of the event's response, except for muted devices, devices in quiet hours, and devices
    /// that have reached the number of such pushes that Apple recommends.
    func clear(_ event: EventName, _ started: MonotonicTime) async throws(APIError) {
        let shared = services.shared
        let state: EventState
        do throws(StorageError) {
            state = try await shared.storage.state(of: event, at: shared.clock.now)
        } catch {
            throw APIError(error)
        }
        switch state {
        case .unknown: return
        case .inProgress:
            throw APIError(
                .overloaded, retryAfterSeconds: Bounds.claimRetryAfterSeconds,
                logDetail: "the event to clear is still being sent")
        case .answered(let answer):
            let reached = EventAnswer.reached(answer)
            guard !reached.isEmpty else { return }
            let content = ClearContent(eventID: event.eventID)
            var order = Order(
                key: event.key, content: content, eventID: content.receiptID,
                digest: Digest256(ofParts: ["clear", event.eventID]))
            order.isCounted = false
            order.isNew = false
            let rates = shared.rates
            order.choose = { devices in
                devices.filter { device in
                    guard reached.contains(device.maskedToken), let token = DeviceToken(device.token) else {
                        return false
                    }
                    return rates.takeClear(to: DeviceKey(token, bundleID: device.bundleID), at: started)
                }
            }
            // The secret is already in the request's trace.
            var trace = RequestTrace()
            _ = try await sendScheduled(order, started, &trace)
        }
    }
}

/// A background push that makes the app remove an event's notification.
struct ClearContent: Sendable {
    /// The sender's ID of the event.
    let eventID: String

    /// The `eventID` of the push itself, so that it is sent once.
    var receiptID: String { "clear:" + Digest256(ofParts: [eventID]).hex }
}

extension ClearContent: PushContent {
    var pushType: PushType { .background }
    var priority: Priority { .conserveDevicePower }
    var collapseID: CollapseID? { nil }
    var timeToLive: Duration? { nil }
    var kind: String? { nil }
    var isSoundAlone: Bool { false }
    var logType: String { "clear" }
    var sessionID: String { "" }
    var history: HistoryContent? { nil }
    var hasUnreadBadge: Bool { false }

    /// The payload, the same for every device.
    func payload(_ style: PushStyle) -> [UInt8] {
        var aps = APS()
        aps.isContentAvailable = true
        var writer = JSON.Writer(capacity: 256)
        writer.beginObject()
        aps.write(to: &writer)
        writer.name("clear")
        writer.beginObject()
        writer.member("eventID", eventID)
        writer.endObject()
        writer.endObject()
        return writer.finish()
    }
}

extension EventAnswer {
    /// The masked tokens of the devices that an event with this answer reached, or will reach by a retry.
    static func reached(_ body: [UInt8]) -> Set<String> {
        let answer = try? JSON.parse(body, maxBytes: StorageLimits.answerBytes)
        let reached = (answer?["deliveries"]?.array ?? []).filter { delivery in
            guard delivery["activity"] == nil else { return false }
            switch delivery["status"]?.string {
            case "sent": return true
            case "queued": return delivery["reason"]?.string != FailureReason.quietHours
            default: return false
            }
        }
        return Set(reached.compactMap { $0["device"]?.string })
    }
}
