import JSON
import WebClient

extension RelayClient {
    /// Posts a state for a session's Live Activities, without retries.
    ///
    /// - Parameter session: The session's ID as the relay sees it.
    func post(_ state: ContentState, of session: SessionID, isStart: Bool) async -> Answer {
        var client = self
        client.deadline = Bounds.activityPostDeadline
        return await client.send("/v1/event", body(state, of: session, isStart: isStart))
    }

    func body(_ state: ContentState, of session: SessionID, isStart: Bool) -> [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("secret", secret)
        writer.member("serverID", serverID)
        writer.member("eventType", isStart ? "start" : "progress")
        writer.member("sessionID", session.text)
        // The title of the alert that iOS shows for a new activity.
        if isStart, !state.title.isEmpty { writer.member("title", state.title) }
        writer.name("contentState")
        state.write(to: &writer)
        writer.endObject()
        return writer.finish()
    }
}
