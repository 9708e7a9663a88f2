/// The Live Activity tokens for which pushes were accepted.
///
/// APNs accepts pushes that the device then drops: those with an old `timestamp`, or for another kind of token. The
/// simulator refuses them.
struct ActivityMemory: Sendable {
    private struct Known {
        var timestamp: Int
        let isStart: Bool
        var id: MessageID?
        var hasEnded = false
    }

    /// The maximum number of tokens, at which the memory is cleared.
    static let tokensMax = 100_000

    private var known: [ArraySlice<UInt8>: Known] = [:]

    /// Checks a push and remembers it.
    ///
    /// - Throws: `DeviceTokenNotForTopic` if the kind of token differs from before, `BadRequestPayload` for a state
    ///   that the device would drop.
    mutating func check(_ push: CheckedPush) throws(PushRefusal) {
        guard let step = push.activity else {
            // Avoids the lookup in tests without activities, which may send many pushes.
            guard known.isEmpty || known[push.deviceToken] == nil else {
                throw PushRefusal(.deviceTokenNotForTopic, "the device token is a Live Activity's")
            }
            return
        }
        let isStart = step.event == "start"
        if let before = known[push.deviceToken] {
            guard before.isStart == isStart else {
                throw PushRefusal(
                    .deviceTokenNotForTopic,
                    before.isStart
                        ? "the token starts Live Activities; updates need the activity's own"
                        : "the token is an activity's and can't start one")
            }
            let isRepeated = push.id != nil && before.id == push.id
            guard isStart || isRepeated || step.timestamp > before.timestamp else {
                throw PushRefusal(
                    .badRequestPayload, "`aps.timestamp` must be later than in the activity's last push")
            }
            guard !before.hasEnded || isRepeated else {
                throw PushRefusal(.badRequestPayload, "the Live Activity has ended")
            }
        } else if known.count >= Self.tokensMax {
            known = [:]
        }
        known[push.deviceToken] = Known(
            timestamp: step.timestamp, isStart: isStart, id: push.id, hasEnded: step.event == "end")
    }
}
