package import HTTP2

/// Replaces the simulator's default response to matching pushes.
///
/// Rules apply to pushes with valid headers and payload, before the device token or subscription is checked.
package struct Rule: Sendable {
    /// Which pushes a rule matches; `nil` matches any value.
    package struct Match: Hashable, Sendable {
        package var transport: Transport?
        /// The device token in lower case.
        package var token: String?
        /// A bundle identifier or a full topic.
        package var topic: String?
        package var environment: PushEnvironment?
        package var type: PushType?
        /// The ID of a Web Push subscription.
        package var subscription: String?
        package var vendor: WebPushVendor?

        /// Matches every push.
        package init() {}
    }

    /// What happens to a push that the rule applies to.
    package enum Action: Hashable, Sendable {
        /// The default behaviour, possibly with a different latency.
        case pass
        case answer(ScriptedAnswer)
        /// No response: the client waits until it gives up.
        case stall
        /// RST_STREAM with this code; REFUSED_STREAM means that the push was not processed.
        case reset(ErrorCode)
        /// The connection is closed with all its streams.
        case close
    }

    /// The maximum number of rules.
    package static let rulesMax = 1_000
    /// The longest name in bytes.
    package static let idBytesMax = 64

    package var id: String
    package var match: Match
    package var action: Action
    /// The delay before the response; `nil`: the default latency.
    package var latency: Latency?
    /// The fraction of matching pushes that the rule applies to, from 0 to 1.
    package var share: Double
    /// The number of matching pushes to skip before the rule applies.
    package var after: Int
    /// The maximum number of pushes the rule applies to; `nil`: unlimited.
    package var count: Int?
    package let seed: UInt64

    /// Pushes that matched before the rule was used up.
    package private(set) var matched = 0
    /// Pushes that the rule applied to.
    package private(set) var hits = 0
    package var generator: SeededGenerator

    /// Creates a rule that has not matched a push yet.
    package init(
        id: String, match: Match = Match(), action: Action, latency: Latency? = nil, share: Double = 1,
        after: Int = 0, count: Int? = nil, seed: UInt64 = 1
    ) {
        self.id = id
        self.match = match
        self.action = action
        self.latency = latency
        self.share = share
        self.after = after
        self.count = count
        self.seed = seed
        generator = SeededGenerator(seed: seed)
    }

    /// Counts the push and returns whether the rule applies to it.
    package mutating func takes(_ push: CheckedPush, in environment: PushEnvironment) -> Bool {
        takes(isMatch: match.includes(push, in: environment))
    }

    /// Counts the push and returns whether the rule applies to it.
    package mutating func takes(_ push: CheckedWebPush) -> Bool { takes(isMatch: match.includes(push)) }

    private mutating func takes(isMatch: Bool) -> Bool {
        guard isMatch, hits < count ?? .max else { return false }
        matched += 1
        guard matched > after else { return false }
        guard share >= 1 || generator.nextUnit() < share else { return false }
        hits += 1
        return true
    }
}

extension Rule.Match {
    /// Whether the push matches.
    package func includes(_ push: CheckedPush, in environment: PushEnvironment) -> Bool {
        guard transport != .webpush, subscription == nil, vendor == nil else { return false }
        if let own = self.environment, own != environment { return false }
        if let type, type != push.type { return false }
        if let token, !push.deviceToken.elementsEqual(token.utf8) { return false }
        guard let topic else { return true }
        return push.topic.elementsEqual(topic.utf8) || Topic.bundle(of: push.topic).elementsEqual(topic.utf8)
    }

    /// Whether the Web Push matches.
    package func includes(_ push: CheckedWebPush) -> Bool {
        guard transport != .apns, token == nil, topic == nil, environment == nil, type == nil else {
            return false
        }
        if let vendor, vendor != push.subscription.vendor { return false }
        return subscription == nil || subscription == push.subscription.id
    }
}
