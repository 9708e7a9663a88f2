/// Everything that the simulator knows and that all its threads share.
///
/// A pure value: pushes in, decisions out.
package struct SimulatorState: Sendable {
    /// What the simulator begins with, and goes back to on a reset.
    package struct Start: Sendable {
        /// Limits, latency, topics.
        package var settings = SimulatorSettings()
        /// What is known about device tokens.
        package var devices = DeviceRegistry()
        /// Scripted behaviour, the first rule first.
        package var rules: [Rule] = []
        /// How many pushes are kept.
        package var kept = PushLog.keptDefault
        /// Where random numbers begin.
        package var seed: UInt64 = 1

        /// Like APNs, with no known device.
        package init() {}
    }

    /// What is to be done with a push.
    package struct Decision: Sendable {
        /// What happens; never `pass`.
        package var action: Rule.Action
        /// How long that waits.
        package var delay: Duration
        /// The `apns-id` of the answer: the client's, or a new one.
        package var id: MessageID
        /// The `apns-unique-id` of the answer; in the sandbox only.
        package var uniqueID: MessageID?
        /// What was wrong with a push that is refused.
        package var detail: String?
        /// The rule that took the push.
        package var rule: String?
    }

    private let start: Start
    /// Limits, latency, topics, as they are now.
    package var settings: SimulatorSettings
    /// What is known about device tokens.
    package var devices: DeviceRegistry
    /// Scripted behaviour, the first rule first, with how often each took a push.
    package private(set) var rules: [Rule]
    /// The last pushes.
    package private(set) var log: PushLog
    /// What happened in each environment.
    package var statistics = PerEnvironment(Statistics())
    private var messageIDs = MessageIDMemory()
    private var generator: SeededGenerator

    /// The state at the start.
    package init(_ start: Start) {
        self.start = start
        settings = start.settings
        devices = start.devices
        rules = start.rules
        log = PushLog(kept: start.kept)
        generator = SeededGenerator(seed: start.seed)
    }

    /// Decides about a push that the validator took or refused.
    ///
    /// - Parameter id: The client's `apns-id` where it is well-formed.
    package mutating func decide(
        _ push: Result<CheckedPush, Refusal>, id: MessageID?, in environment: PushEnvironment
    ) -> Decision {
        var decision = Decision(
            action: .answer(.accepted), delay: .zero, id: id ?? MessageID(using: &generator),
            uniqueID: environment == .sandbox ? MessageID(using: &generator) : nil)
        var latency = settings.latency
        switch push {
        case .failure(let refusal): decision.refuse(refusal)
        case .success(let push):
            let rule = rules.isEmpty ? nil : rules.indices.first { rules[$0].takes(push, in: environment) }
            if let rule {
                decision.rule = rules[rule].id
                latency = rules[rule].latency ?? latency
                decision.action = rules[rule].action
            }
            if rule == nil || decision.action == .pass { applyDevice(push, environment, &decision) }
        }
        if latency != .none { decision.delay = latency.sample(using: &generator) }
        return decision
    }

    private func applyDevice(_ push: CheckedPush, _ environment: PushEnvironment, _ decision: inout Decision)
    {
        do throws(Refusal) {
            try devices.check(push, in: environment, acceptsUnknown: settings.acceptsUnknownTokens)
            decision.action = .answer(.accepted)
        } catch {
            decision.refuse(error)
        }
    }

    /// Keeps a push whose fate is sealed, and counts it.
    ///
    /// Returns its number.
    @discardableResult
    package mutating func seal(_ record: PushRecord, hasClientID: Bool) -> UInt64 {
        let earlier =
            hasClientID ? messageIDs.note(record.id, isAccepted: record.outcome.isAccepted) : .nothing
        statistics[record.environment].count(record.outcome, isRepeated: earlier)
        log.append(record)
        return log.last
    }

    /// Puts a rule in the place of the one with its name, or behind all others.
    ///
    /// - Returns: Whether there was room.
    package mutating func put(_ rule: Rule) -> Bool {
        if let index = rules.firstIndex(where: { $0.id == rule.id }) {
            rules[index] = rule
        } else {
            guard rules.count < Rule.rulesMax else { return false }
            rules.append(rule)
        }
        return true
    }

    /// Takes a rule away.
    ///
    /// Returns whether there was one.
    package mutating func removeRule(_ id: String) -> Bool {
        guard let index = rules.firstIndex(where: { $0.id == id }) else { return false }
        rules.remove(at: index)
        return true
    }

    /// Where random numbers begin.
    package var seed: UInt64 { start.seed }

    /// A name that no rule has.
    package var freeRuleID: String {
        var number = rules.count + 1
        while rules.contains(where: { $0.id == "rule-\(number)" }) { number += 1 }
        return "rule-\(number)"
    }

    /// Replaces all rules.
    package mutating func setRules(_ rules: [Rule]) { self.rules = rules }

    /// Goes back to the settings that the simulator was started with.
    package mutating func resetSettings() { settings = start.settings }

    /// Goes back to the start; pushes are numbered on, so that cursors stay good.
    package mutating func reset() {
        settings = start.settings
        devices = start.devices
        rules = start.rules
        log.removeAll()
        for environment in PushEnvironment.allCases {
            statistics[environment] = statistics[environment].afterReset
        }
        messageIDs = MessageIDMemory()
        generator = SeededGenerator(seed: start.seed)
    }
}

extension SimulatorState.Decision {
    fileprivate mutating func refuse(_ refusal: Refusal) {
        action = .answer(ScriptedAnswer(refusal))
        detail = refusal.detail
    }
}
