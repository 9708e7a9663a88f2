import APNs

/// How sending a push ended, after all immediate attempts.
///
/// Rare cases are indirect, because large payloads would be copied with every push.
enum PushEnd: Hashable, Sendable {
    /// APNs accepted it; `storeEnvironment` is set if the other environment did.
    case sent(apnsID: String?, storeEnvironment: Environment?)
    /// APNs can't accept it now: retry after a back-off, no sooner than APNs asked.
    indirect case retryLater(OutcomePolicy.RetryLater)
    /// It failed.
    indirect case failed(OutcomePolicy.Failure)
    /// It should have been resent immediately, but no caller waits for it any more.
    case unfinished
    /// The relay no longer pushes to its app.
    case unknownApp
}
