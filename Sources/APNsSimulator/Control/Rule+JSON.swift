import HTTP2
package import JSON

extension Rule {
    private enum ActionName: String, CaseIterable { case pass, answer, stall, reset, refuse, close }

    /// Parses a rule of the control API or `--rule`; docs/reference/simulator.md lists the fields.
    ///
    /// - Parameters:
    ///   - id: The default name.
    ///   - seed: The default random seed.
    ///   - now: Milliseconds since 1970; the default `timestamp` of a 410 response.
    package init(_ value: JSON.Value, id defaultID: String, seed: UInt64, now: Int64) throws(ControlError) {
        var fields = try FieldReader(value, "a rule")
        let id = try fields.string("id") ?? defaultID
        guard (1...Self.idBytesMax).contains(id.utf8.count) else {
            throw ControlError("`id` of a rule must be 1 to \(Self.idBytesMax) bytes long")
        }
        let match = try Match(fields.value("match") ?? .object(JSON.Object()))
        let action = try Self.action(&fields, now: now)
        let latency = try fields.latency("latency")
        let share = try fields.number("share", in: 0...1) ?? 1
        let after = try fields.int("after", in: 0...Int.max) ?? 0
        let count = try fields.int("count", in: 0...Int.max)
        let ownSeed = try fields.int("seed", in: 0...Int.max)
        try fields.finish()
        self.init(
            id: id, match: match, action: action, latency: latency, share: share, after: after, count: count,
            seed: ownSeed.map { UInt64($0) } ?? seed &+ Self.hash(id))
    }

    /// Derives a seed for each rule, so that rules make different random choices; FNV-1a is stable between runs.
    private static func hash(_ id: String) -> UInt64 {
        id.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private static func action(_ fields: inout FieldReader, now: Int64) throws(ControlError) -> Action {
        let named = try fields.choice("action", of: ActionName.self)
        let answerFields = ["reason", "status", "timestamp", "retryAfter", "body"]
        let hasAnswer = answerFields.contains(where: fields.has)
        let name = named ?? (hasAnswer ? .answer : .pass)
        guard name == .answer || !hasAnswer else {
            throw ControlError(
                "a rule with `action` \"\(name.rawValue)\" can't have the fields of an answer")
        }
        guard name == .reset || !fields.has("errorCode") else {
            throw ControlError("`errorCode` is only for `action` \"reset\"")
        }
        let code = try ErrorCode.named(fields.value("errorCode"))
        let answer = try ScriptedAnswer(&fields, now: now)
        switch name {
        case .pass: return .pass
        case .answer: return .answer(answer)
        case .stall: return .stall
        case .reset: return .reset(code ?? .internalError)
        case .refuse: return .reset(.refusedStream)
        case .close: return .close
        }
    }

    /// The JSON that ``init(_:id:seed:now:)`` parses, plus the counters `matched` and `hits`.
    package var json: JSON.Value {
        var object = JSON.Object()
        object["id"] = .string(id)
        object["match"] = match.json
        switch action {
        case .pass: object["action"] = "pass"
        case .answer(let answer):
            object["action"] = "answer"
            answer.describe(in: &object)
        case .stall: object["action"] = "stall"
        case .reset(.refusedStream): object["action"] = "refuse"
        case .reset(let code):
            object["action"] = "reset"
            object["errorCode"] = .string(code.description)
        case .close: object["action"] = "close"
        }
        object["latency"] = latency.map { .string($0.description) }
        object["share"] = JSON.Number(share).map { .number($0) }
        object["after"] = .int(after)
        object["count"] = count.map { .int($0) }
        object["matched"] = .int(matched)
        object["hits"] = .int(hits)
        return .object(object)
    }
}

extension Rule.Match {
    fileprivate init(_ value: JSON.Value) throws(ControlError) {
        var fields = try FieldReader(value, "`match`")
        self.init()
        transport = try fields.choice("transport", of: Transport.self)
        token = try fields.deviceToken("token")
        topic = try fields.string("topic")
        environment = try fields.choice("environment", of: PushEnvironment.self)
        type = try fields.choice("pushType", of: PushType.self)
        subscription = try fields.string("subscription")
        vendor = try fields.choice("vendor", of: WebPushVendor.self)
        try fields.finish()
    }

    fileprivate var json: JSON.Value {
        var object = JSON.Object()
        object["transport"] = transport.map { .string($0.rawValue) }
        object["token"] = token.map { .string($0) }
        object["topic"] = topic.map { .string($0) }
        object["environment"] = environment.map { .string($0.rawValue) }
        object["pushType"] = type.map { .string($0.rawValue) }
        object["subscription"] = subscription.map { .string($0) }
        object["vendor"] = vendor.map { .string($0.rawValue) }
        return .object(object)
    }
}

extension ScriptedAnswer {
    /// The longest body in bytes.
    private static let bodyBytesMax = 65_536

    /// The spelling that Apple documents for the reason that is sent as `BadEnvironmentKeyInToken`.
    private static let documentedSpelling = "BadEnvironmentKeyIdInToken"

    fileprivate init(_ fields: inout FieldReader, now: Int64) throws(ControlError) {
        let reason = try fields.string("reason")
        let status = try fields.int("status", in: 200...599)
        let timestamp = try fields.int("timestamp", in: 0...Int.max).map { Int64($0) }
        let retryAfter = try fields.int("retryAfter", in: 0...86_400)
        let known =
            reason == Self.documentedSpelling
            ? .badEnvironmentKeyInToken : reason.flatMap(Reason.init(rawValue:))
        let body: Body
        switch fields.value("body") {
        case nil, .bool(true)?: body = .reason
        case .bool(false)?: body = .none
        case .string(let text)? where text.utf8.count <= Self.bodyBytesMax: body = .text(text)
        default:
            throw ControlError(
                "`body` must be true, false or a string of at most \(Self.bodyBytesMax) bytes")
        }
        guard reason == nil || status != nil || known != nil else {
            throw ControlError("a rule whose `reason` Apple doesn't document needs a `status`")
        }
        let sent = status ?? known?.status ?? 200
        self.init(
            status: sent, reason: reason, timestamp: timestamp ?? (sent == 410 ? now : nil),
            retryAfter: retryAfter,
            body: body)
    }

    fileprivate func describe(in object: inout JSON.Object) {
        object["status"] = .int(status)
        object["reason"] = reason.map { .string($0) }
        object["timestamp"] = timestamp.map { .int($0) }
        object["retryAfter"] = retryAfter.map { .int($0) }
        switch body {
        case .reason: break
        case .none: object["body"] = false
        case .text(let text): object["body"] = .string(text)
        }
    }
}

extension ErrorCode {
    /// The error code with this RFC 9113 name or number.
    static func named(_ value: JSON.Value?) throws(ControlError) -> ErrorCode? {
        guard let value else { return nil }
        if let number = value.int.flatMap({ UInt32(exactly: $0) }) { return ErrorCode(rawValue: number) }
        let known = (0...13).map { ErrorCode(rawValue: $0) }
        guard let code = known.first(where: { $0.description == value.string }) else {
            throw ControlError(
                "an error code is a number or one of " + known.map(\.description).joined(separator: ", "))
        }
        return code
    }
}
