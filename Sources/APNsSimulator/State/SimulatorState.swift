/// The simulator's state, shared by all threads.
///
/// A pure value: pushes in, decisions out.
package struct SimulatorState: Sendable {
    /// The initial state, restored by a reset.
    package struct Start: Sendable {
        /// Limits, latency, topics.
        package var settings = SimulatorSettings()
        /// The known device tokens.
        package var devices = DeviceRegistry()
        /// The rules, in order of precedence.
        package var rules: [Rule] = []
        /// The number of pushes kept.
        package var kept = PushLog.keptDefault
        /// The random seed.
        package var seed: UInt64 = 1

        /// APNs' defaults, with no known device token.
        package init() {}
    }

    /// What to do with a push.
    package struct Decision: Sendable {
        /// The action; never `pass`.
        package var action: Rule.Action
        /// The delay before the action.
        package var delay: Duration
        /// The `apns-id` in the response: the client's, or a new one.
        package var id: MessageID
        /// The `apns-unique-id` in the response; only in the sandbox.
        package var uniqueID: MessageID?
        /// The fault of a refused push.
        package var detail: String?
        /// The rule that applied to the push.
        package var rule: String?
    }

    private let start: Start
    /// The current settings.
    package var settings: SimulatorSettings
    /// The known device tokens.
    package var devices: DeviceRegistry
    /// The rules, in order of precedence, with their counters.
    package private(set) var rules: [Rule]
    /// The most recent pushes.
    package private(set) var log: PushLog
    /// The counters of each environment.
    package var statistics = PerEnvironment(Statistics())
    /// The counters of Web Push.
    package private(set) var webPushStatistics = Statistics()
    /// The Web Push subscriptions.
    package var subscriptions = SubscriptionRegistry()
    private var activities = ActivityMemory()
    private var messageIDs = MessageIDMemory()
    private var generator: SeededGenerator

    /// Creates the initial state.
    package init(_ start: Start) {
        self.start = start
        settings = start.settings
        devices = start.devices
        rules = start.rules
        log = PushLog(kept: start.kept)
        generator = SeededGenerator(seed: start.seed)
    }

    /// Decides what to do with a push that the validator accepted or refused.
    ///
    /// - Parameter id: The client's `apns-id` if it is well-formed.
    package mutating func decide(
        _ push: Result<CheckedPush, PushRefusal>, id: MessageID?, in environment: PushEnvironment
    ) -> Decision {
        var decision = Decision(
            action: .answer(.accepted), delay: .zero, id: id ?? MessageID(using: &generator),
            uniqueID: environment == .sandbox ? MessageID(using: &generator) : nil)
        var latency = settings.latency
        switch push {
        case .failure(let refusal): decision.refuse(refusal)
        case .success(let push):
            let rule = rules.isEmpty ? nil : rules.indices.first { rules[$0].takes(push, in: environment) }
            if passes(rule, &decision, &latency) { applyDevice(push, environment, &decision) }
        }
        if latency != .none { decision.delay = latency.sample(using: &generator) }
        return decision
    }

    /// Decides what to do with a Web Push that the validator accepted or refused.
    ///
    /// - Parameter vendor: The vendor of the endpoint.
    package mutating func decide(
        _ push: Result<CheckedWebPush, WebPushRefusal>, by vendor: WebPushVendor
    ) -> Decision {
        var decision = Decision(action: .stall, delay: .zero, id: MessageID(using: &generator))
        var latency = settings.latency
        do throws(WebPushRefusal) {
            let push = try push.get()
            if passes(rules.indices.first { rules[$0].takes(push) }, &decision, &latency) {
                try subscriptions.accept(push)
                decision.action = .answer(ScriptedAnswer(status: vendor.acceptedStatus, reason: nil))
            }
        } catch {
            decision.action = .answer(ScriptedAnswer(error, by: vendor))
            decision.detail = error.detail
        }
        if latency != .none { decision.delay = latency.sample(using: &generator) }
        return decision
    }

    /// Applies a rule, if any; returns whether the push gets the default response.
    private func passes(_ rule: Int?, _ decision: inout Decision, _ latency: inout Latency) -> Bool {
        guard let rule else { return true }
        decision.rule = rules[rule].id
        latency = rules[rule].latency ?? latency
        decision.action = rules[rule].action
        return decision.action == .pass
    }

    private mutating func applyDevice(
        _ push: CheckedPush, _ environment: PushEnvironment, _ decision: inout Decision
    ) {
        do throws(PushRefusal) {
            try devices.check(push, in: environment, acceptsUnknown: settings.acceptsUnknownTokens)
            try activities.check(push)
            decision.action = .answer(.accepted)
        } catch {
            decision.refuse(error)
        }
    }

    /// Records and counts a push with its outcome.
    ///
    /// Returns its number.
    @discardableResult
    package mutating func seal(_ record: PushRecord, hasClientID: Bool) -> UInt64 {
        let earlier =
            hasClientID ? messageIDs.note(record.id, isAccepted: record.outcome.isAccepted) : .nothing
        switch record.push {
        case .apns(let push): statistics[push.environment].count(record.outcome, isRepeated: earlier)
        case .webPush(let push):
            webPushStatistics.count(record.outcome, isUndecryptable: push.isUndecryptable)
        }
        log.append(record)
        return log.last
    }

    /// Replaces the rule with the same name, or appends the rule.
    ///
    /// - Returns: False when there are too many rules.
    package mutating func put(_ rule: Rule) -> Bool {
        if let index = rules.firstIndex(where: { $0.id == rule.id }) {
            rules[index] = rule
        } else {
            guard rules.count < Rule.rulesMax else { return false }
            rules.append(rule)
        }
        return true
    }

    /// Removes a rule.
    ///
    /// Returns whether it existed.
    package mutating func removeRule(_ id: String) -> Bool {
        guard let index = rules.firstIndex(where: { $0.id == id }) else { return false }
        rules.remove(at: index)
        return true
    }

    /// The random seed.
    package var seed: UInt64 { start.seed }

    /// An unused rule name.
    package var freeRuleID: String {
        var number = rules.count + 1
        while rules.contains(where: { $0.id == "rule-\(number)" }) { number += 1 }
        return "rule-\(number)"
    }

    /// Replaces all rules.
    package mutating func setRules(_ rules: [Rule]) { self.rules = rules }

    /// Restores the initial settings.
    package mutating func resetSettings() { settings = start.settings }

    /// Restores the initial state; push numbering continues, so cursors stay valid.
    package mutating func reset() {
        settings = start.settings
        devices = start.devices
        rules = start.rules
        log.removeAll()
        for environment in PushEnvironment.allCases {
            statistics[environment] = statistics[environment].afterReset
        }
        webPushStatistics = Statistics()
        subscriptions.removeAll()
        activities = ActivityMemory()
        messageIDs = MessageIDMemory()
        generator = SeededGenerator(seed: start.seed)
    }
}

extension SimulatorState.Decision {
    fileprivate mutating func refuse(_ refusal: PushRefusal) {
        action = .answer(ScriptedAnswer(refusal))
        detail = refusal.detail
    }
}
