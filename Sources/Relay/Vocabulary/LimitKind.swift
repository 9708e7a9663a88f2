/// A limit that refused a request, a push or a connection.
enum LimitKind: String, CaseIterable, Sendable {
    /// `RELAY_EVENTS_PER_MINUTE`.
    case events
    /// `RELAY_REGISTRATIONS_PER_MINUTE`.
    case registrations
    /// `RELAY_UNKNOWN_SECRETS_PER_MINUTE`.
    case unknownSecrets = "unknown_secrets"
    /// `RELAY_DEVICE_PUSHES_PER_MINUTE`.
    case devicePushes = "device_pushes"
    /// `RELAY_DEVICE_SECRETS_PER_DAY`.
    case deviceSecrets = "device_secrets"
    /// Registration challenges, per device and per address.
    case challenges
    /// `RELAY_DEVICES_PER_SECRET_MAX`.
    case devices
    /// `RELAY_DEVICES_MAX`.
    case devicesTotal = "devices_total"
    /// `RELAY_PUSHES_MAX`.
    case pushes
    /// `RELAY_CONNECTIONS_MAX` and `RELAY_CONNECTIONS_PER_ADDRESS_MAX`.
    case connections
    /// Concurrent waits per secret for replies and their results.
    case replyWaits = "reply_waits"
    /// `RELAY_QUEUE_MAX`, `RELAY_QUEUE_MIB_MAX` and `RELAY_QUEUE_PER_SECRET_MAX`.
    case queue
}
