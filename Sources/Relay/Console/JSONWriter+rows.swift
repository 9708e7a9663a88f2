import JSON
import Storage

/// Database rows as the console shows them, without tokens, endpoints or message text.
extension JSON.Writer {
    /// A member with a list of objects.
    mutating func list<Rows: Collection>(
        _ name: StaticString, _ rows: Rows, _ write: (Rows.Element, inout JSON.Writer) -> Void
    ) {
        self.name(name)
        beginArray()
        for row in rows {
            beginObject()
            write(row, &self)
            endObject()
        }
        endArray()
    }

    /// A device's members.
    mutating func write(_ device: Device) {
        member("device", device.maskedToken)
        member("transport", device.transport.rawValue)
        if device.transport == .apns { member("app", device.bundleID) }
        member("environment", device.environment.rawValue)
        member("createdAt", device.createdAt)
        member("updatedAt", device.updatedAt)
    }

    /// The members of a result in the delivery log.
    mutating func write(_ delivery: Delivery, on devices: [String: Device]) {
        member("id", delivery.id)
        member("at", delivery.createdAt)
        member("eventType", delivery.eventType)
        member("status", delivery.status.rawValue)
        if let error = delivery.error { member("reason", error) }
        if let device = delivery.deviceID.flatMap({ devices[$0] }) { member("device", device.maskedToken) }
    }

    /// A queued push's members.
    mutating func write(_ push: WaitingPush, on device: Device? = nil) {
        member("id", push.id)
        member("eventType", push.eventType)
        member("attempts", push.attempts)
        member("dueAt", push.dueAt)
        member("isLeased", push.isLeased)
        member("createdAt", push.createdAt)
        member("expiresAt", push.expiresAt)
        if let device { member("device", device.maskedToken) }
    }

    /// An access token's members.
    mutating func write(_ token: AccessToken) {
        member("id", token.id.text)
        member("name", token.name)
        member("scope", token.scope.rawValue)
        member("createdAt", token.createdAt)
        if let time = token.usedAt { member("usedAt", time) }
        if let time = token.expiresAt { member("expiresAt", time) }
    }

    /// A schedule's members.
    mutating func write(_ schedule: Schedule) {
        member("id", schedule.id.text)
        member("nextAt", schedule.nextAt)
        member("isRepeated", schedule.rule != nil)
        if let time = schedule.lastAt { member("lastAt", time) }
        if let outcome = schedule.lastOutcome { member("lastOutcome", outcome) }
        member("skipped", schedule.skipped)
    }
}
