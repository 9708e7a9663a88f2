import APNs

/// How sending a push ended, after all immediate attempts.
///
/// Rare cases are indirect, because large associated values would be copied with every push.
enum PushEnd: Hashable, Sendable {
    /// APNs accepted the push; `storeEnvironment` is the environment to store if the registered one was wrong.
    case sent(apnsID: String?, storeEnvironment: Environment?)
    /// APNs can't accept the push now; retry after a back-off, no sooner than APNs asked.
    indirect case retryLater(OutcomePolicy.RetryLater)
    /// The push failed permanently.
    indirect case failed(OutcomePolicy.Failure)
    /// The push should have been resent immediately, but no caller is waiting for it any more.
    case unfinished
    /// The relay no longer pushes to the push's app.
    case unknownApp
}
