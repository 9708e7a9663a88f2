import HTTPServer
package import JSON
import Network
import Programs

extension ControlAPI {
    // MARK: Device tokens

    func getTokens(_ request: Request) throws(ControlError) -> Response {
        let wanted = try Self.token(in: request)
        let known = simulator.shared.withLock { shared in
            guard let wanted else { return shared.state.devices.all }
            return [(wanted, shared.state.devices.registrations(of: wanted))]
        }
        let entries = known.flatMap { token, registrations in
            registrations.map { DeviceRegistry.Entry(token: token, registration: $0).json }
        }
        return Self.ok(["tokens": .array(entries)])
    }

    func putTokens(_ request: Request) throws(ControlError) -> Response {
        let value = try Self.body(request)
        let now = WallClock.system.now
        var entries: [DeviceRegistry.Entry] = []
        for each in value["tokens"]?.array ?? [value] {
            entries.append(try DeviceRegistry.Entry(each, now: now))
        }
        let isKept = simulator.shared.withLock { shared in
            entries.allSatisfy { shared.state.devices.put($0.registration, for: $0.token) }
        }
        guard isKept else {
            throw ControlError(
                "at most \(DeviceRegistry.tokensMax) tokens can be registered", status: 409)
        }
        return Self.ok(["tokens": .array(entries.map(\.json))])
    }

    func deleteTokens(_ request: Request) throws(ControlError) -> Response {
        let wanted = try Self.token(in: request)
        let wasKnown = simulator.shared.withLock { shared in
            if let wanted { return shared.state.devices.remove(wanted) }
            shared.state.devices.removeAll()
            return true
        }
        guard wasKnown else { throw ControlError("this token is not registered", status: 404) }
        return Self.ok()
    }

    static func token(in request: Request) throws(ControlError) -> String? {
        guard let text = request.queryValue("token") else { return nil }
        let bytes = Array(text.utf8)[...]
        guard DeviceToken.isWellFormed(bytes) else {
            throw ControlError("`token` in the query is not a device token")
        }
        return String(decoding: DeviceToken.normalized(bytes), as: UTF8.self)
    }

    // MARK: Rules

    func getRules(_ request: Request) throws(ControlError) -> Response {
        let wanted = request.queryValue("id")
        let rules = simulator.shared.withLock { $0.state.rules }.filter { wanted == nil || $0.id == wanted }
        guard wanted == nil || !rules.isEmpty else {
            throw ControlError("there is no such rule", status: 404)
        }
        return Self.ok(["rules": .array(rules.map(\.json))])
    }

    /// Adds or replaces one rule; `{"rules": […]}` replaces all rules.
    func putRules(_ request: Request) throws(ControlError) -> Response {
        let value = try Self.body(request)
        let now = WallClock.system.now
        let rules = try simulator.shared.withLock { shared throws(ControlError) in
            guard let list = value["rules"]?.array else {
                let rule = try Rule(value, id: shared.state.freeRuleID, seed: shared.state.seed, now: now)
                guard shared.state.put(rule) else { throw Self.tooManyRules }
                return [rule]
            }
            guard list.count <= Rule.rulesMax else { throw Self.tooManyRules }
            let rules = try Rule.list(list, seed: shared.state.seed, now: now)
            shared.state.setRules(rules)
            return rules
        }
        return Self.ok(["rules": .array(rules.map(\.json))])
    }

    func deleteRules(_ request: Request) throws(ControlError) -> Response {
        let wanted = request.queryValue("id")
        let wasThere = simulator.shared.withLock { shared in
            if let wanted { return shared.state.removeRule(wanted) }
            shared.state.setRules([])
            return true
        }
        guard wasThere else { throw ControlError("there is no such rule", status: 404) }
        return Self.ok()
    }

    private static let tooManyRules = ControlError(
        "at most \(Rule.rulesMax) rules can be set", status: 409)
}

extension Rule {
    /// Parses rules in order; unnamed rules are called `rule-1`, `rule-2` and so on.
    package static func list(
        _ values: [JSON.Value], seed: UInt64, now: Int64
    ) throws(ControlError) -> [Rule] {
        var rules: [Rule] = []
        for (index, value) in values.enumerated() {
            let rule = try Rule(value, id: "rule-\(index + 1)", seed: seed, now: now)
            guard !rules.contains(where: { $0.id == rule.id }) else {
                throw ControlError("two rules have the `id` \"\(rule.id)\"")
            }
            rules.append(rule)
        }
        return rules
    }
}
