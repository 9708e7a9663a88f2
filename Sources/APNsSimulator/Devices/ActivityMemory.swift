/// The tokens of Live Activities that pushes were accepted for.
///
/// APNs accepts a push that the device then drops: one with an old `timestamp`, or one for another kind of token. The simulator refuses it.
struct ActivityMemory: Sendable {
    private struct Known {
        var timestamp: Int
        let isStart: Bool
        var id: MessageID?
        var hasEnded = false
    }

    /// The maximum number of tokens; the memory then starts anew.
    static let tokensMax = 100_000

    private var known: [ArraySlice<UInt8>: Known] = [:]

    /// Checks a push and remembers it.
    ///
    /// - Throws: `DeviceTokenNotForTopic` for another kind of token than before, `BadRequestPayload` for a state that the
    ///   device would drop.
    mutating func check(_ push: CheckedPush) throws(PushRefusal) {
        guard let step = push.activity else {
            // Nothing to look for in tests without activities, whose pushes may be many.
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
