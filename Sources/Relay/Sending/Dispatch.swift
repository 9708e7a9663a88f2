import Storage

/// What to send and to whom, regardless of where it comes from.
struct Dispatch: Sendable {
    let tenant: SecretKey
    let content: any PushContent
    let audience: Audience
    let origin: Origin
    /// When the dispatch arrived, which determines the order of a Live Activity's states.
    let at: EpochMilliseconds

    /// The actions that replies may contain; empty if any action is allowed.
    var actions: [String] { content.actions }

    /// The digest of the content and how it is sent; two dispatches with the same `eventID` must have the same digest.
    var digest: Digest256 { content.digest(to: audience.token, repetition: origin.repetition?.text) }

    /// The event's state for Live Activities; `nil` if the event has none, or if the activities already have it.
    var activity: ActivityContent? {
        guard origin.isNew, var activity = content.activity else { return nil }
        activity.at = at
        return activity
    }
}
