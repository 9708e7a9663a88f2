import APNs
import JSON
import Programs
import Storage

/// The next step of a queued push that is due.
///
/// Its event and its device's preferences may have changed since the push was created.
enum QueuedPushStep: Hashable, Sendable {
    /// Send the push, with the payload that the preferences require.
    case send(PendingPush)
    /// Send the push later, as the device prefers.
    case later(dueAt: EpochMilliseconds)
    /// Don't send the push; the reason is for the delivery log.
    case over(reason: String)

    /// Decides the step from the claim's result: a pure function.
    ///
    /// - Parameters:
    ///   - device: The device as the claim read it.
    ///   - expiresAt: When the push expires.
    ///   - zone: Looks up a time zone.
    init(
        _ claimed: ClaimedPush, to device: Device, at now: EpochMilliseconds, expiresAt: EpochMilliseconds,
        zone: (String) -> TimeZoneRules?
    ) {
        let push = claimed.push
        guard !claimed.isAcknowledged else {
            self = .over(reason: FailureReason.acknowledged)
            return
        }
        self = .send(push)
        guard let stored = device.details.preferences else { return }
        switch DevicePreferences(stored: stored).wish(for: push.kind, at: now, zone: zone) {
        case .normal: break
        case .muted: self = .over(reason: FailureReason.muted)
        case .quiet(let until):
            guard push.pushType == PushType.alert.rawValue, let payload = QuietPayload(push.payload) else {
                return
            }
            if payload.isSoundAlone {
                self = .over(reason: FailureReason.muted)
            } else if let until, until < expiresAt {
                self = .later(dueAt: min(until, now + Bounds.queuedQuietLook.inMilliseconds))
            } else {
                self = .send(push.with(payload: payload.bytes))
            }
        }
    }
}

/// The payload of a queued alert in its quiet form.
struct QuietPayload {
    private var object: JSON.Object
    private var aps: JSON.Object

    /// Reads a payload; `nil` if this program didn't write it.
    init?(_ payload: [UInt8]) {
        guard
            let object = try? JSON.parse(payload, maxBytes: Notification.payloadBytesMax).object,
            let aps = object["aps"]?.object
        else { return nil }
        self.object = object
        self.aps = aps
    }

    /// Whether the payload has neither an alert nor a badge.
    var isSoundAlone: Bool { aps["alert"] == nil && aps["badge"] == nil }

    /// The JSON text without the sound and, if it fits, with the level `passive`.
    var bytes: [UInt8] {
        var quiet = aps
        quiet["sound"] = nil
        let silent = written(quiet)
        quiet["interruption-level"] = .string(APS.InterruptionLevel.passive.rawValue)
        let passive = written(quiet)
        return passive.count > Notification.payloadBytesMax ? silent : passive
    }

    private func written(_ aps: JSON.Object) -> [UInt8] {
        var object = object
        object["aps"] = .object(aps)
        return JSON.Value.object(object).encoded()
    }
}
