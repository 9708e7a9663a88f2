internal import PushSealing

/// Live Activities (docs/guide/live-activities.md).
extension Relay {
    /// Registers a session's Live Activity; call this with each token from `Activity.pushTokenUpdates`.
    ///
    /// - Parameters:
    ///   - sessionID: The session's ID, as in the sender's events.
    ///   - device: The device's own token, so that a new token for the activity replaces the old one.
    public func registerActivity(
        _ activity: DeviceToken, sessionID: String, on device: DeviceToken
    ) async throws(RelayError) {
        var members = [secret]
        members.add("sessionID", sessionID)
        members.add("activityToken", activity.hex)
        members.add("deviceToken", device.hex)
        _ = try await connection.post("v1/activity/register", members)
    }

    /// Removes one of a session's Live Activities, or all of them; also succeeds if there are none.
    public func unregisterActivity(
        _ activity: DeviceToken? = nil, sessionID: String
    ) async throws(RelayError) {
        var members = [secret]
        members.add("sessionID", sessionID)
        members.add("activityToken", activity?.hex)
        _ = try await connection.post("v1/activity/unregister", members)
    }
}
