package import HTTP2

/// What the simulator does to certain pushes instead of what it would do by itself.
///
/// Rules look at pushes whose headers and payload are right; the state of the device token comes after them.
package struct Rule: Sendable {
    /// Which pushes a rule is for; what is `nil` does not matter.
    package struct Match: Hashable, Sendable {
        /// In lower case.
        package var token: String?
        /// A bundle identifier or a whole topic.
        package var topic: String?
        package var environment: PushEnvironment?
        package var type: PushType?

        /// Every push.
        package init() {}
    }

    /// What happens to a push that the rule takes.
    package enum Action: Hashable, Sendable {
        /// What would happen without the rule, perhaps later.
        case pass
        case answer(ScriptedAnswer)
        /// Nothing: the client waits in vain.
        case stall
        /// RST_STREAM with this code; REFUSED_STREAM says that the push was not processed.
        case reset(ErrorCode)
        /// The connection is cut, with everything that is on it.
        case close
    }

    /// The rules that are kept at most.
    package static let rulesMax = 1_000
    /// The longest name in bytes.
    package static let idBytesMax = 64

    package var id: String
    package var match: Match
    package var action: Action
    /// How long the answer waits; `nil`: as long as others.
    package var latency: Latency?
    /// The part of the matching pushes that the rule takes, from 0 to 1.
    package var share: Double
    /// How many matching pushes the rule leaves alone at first.
    package var after: Int
    /// How many pushes the rule takes at most; `nil`: any number.
    package var count: Int?
    package let seed: UInt64

    /// How many pushes matched while the rule was not used up.
    package private(set) var matched = 0
    /// How many pushes the rule took.
    package private(set) var hits = 0
    package var generator: SeededGenerator

    /// A rule that has seen no push yet.
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

    /// Whether the rule takes this push; counts it.
    package mutating func takes(_ push: CheckedPush, in environment: PushEnvironment) -> Bool {
        guard hits < count ?? .max, match.includes(push, in: environment) else { return false }
        matched += 1
        guard matched > after else { return false }
        guard share >= 1 || generator.nextUnit() < share else { return false }
        hits += 1
        return true
    }
}

extension Rule.Match {
    /// Whether a push is meant.
    package func includes(_ push: CheckedPush, in environment: PushEnvironment) -> Bool {
        if let own = self.environment, own != environment { return false }
        if let type, type != push.type { return false }
        if let token, !push.deviceToken.elementsEqual(token.utf8) { return false }
        guard let topic else { return true }
        return push.topic.elementsEqual(topic.utf8) || Topic.bundle(of: push.topic).elementsEqual(topic.utf8)
    }
}
