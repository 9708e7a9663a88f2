import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A validated `POST /v1/outcomes` request.
struct OutcomesRequest: PlainRequestBody {
    /// The last outcome that the sender has seen, or the time from which it wants outcomes.
    let position: OutcomePosition
    let limit: Int
    let timeout: Duration

    init(_ fields: RequestFields) throws(APIError) {
        let cursor = try fields.optional(.outcomeCursor) { $0.string.flatMap(OutcomePosition.init(cursor:)) }
        let since = try fields.optional(.since) { $0.string.flatMap(Timestamp.milliseconds(rfc3339:)) }
        guard cursor == nil || since == nil else {
            throw APIError(.invalidField, field: .since, hint: "Send cursor or since, not both.")
        }
        position = cursor ?? OutcomePosition(before: max(0, since ?? 0))
        limit =
            try fields.integer(.historyLimit, in: 1...Bounds.historyPageItemsMax)
            ?? Bounds.historyPageItemsDefault
        timeout = .seconds(try fields.integer(.waitTimeout, in: 0...Bounds.replyWaitSecondsMax) ?? 0)
    }
}

/// `POST /v1/outcomes`: lists the outcomes of what was sent under the secret, and waits if there are none yet.
struct OutcomesRoute: TenantRoute {
    static let admission = Admission.sending
    static let scope: AccessTokenScope? = .read
    let services: LoopServices

    /// Reads a page; if there are no outcomes, keeps checking until the request's timeout.
    func answer(
        _ wanted: OutcomesRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let key = tenant.key
        var found = try await outcomes(wanted, key) ?? []
        var devices: [Device]
        do throws(StorageError) {
            devices = try await services.shared.storage.devices(of: key)
        } catch {
            throw APIError(error)
        }
        if !found.isEmpty || !devices.isEmpty { services.noteKnown() }
        if found.isEmpty {
            if devices.isEmpty {
                // Strangers must not be able to use up the allowed waits.
                try tenant.countAsUnknown()
            } else if wanted.timeout > .zero {
                let later = try await services.shared.replies.wait(
                    of: key, within: wanted.timeout, on: services.loop
                ) { () async throws(APIError) in try await outcomes(wanted, key) }
                found = later ?? []
            }
        }
        trace.isRoutine = found.isEmpty
        trace.add(.count("outcomes", found.count))
        return Reply(body: OutcomePage(outcomes: found, after: wanted.position, devices: devices).body)
    }

    /// The next outcomes; `nil` if there are none yet.
    private func outcomes(
        _ wanted: OutcomesRequest, _ key: SecretKey
    ) async throws(APIError) -> [FinalOutcome]? {
        let shared = services.shared
        // Outcomes that this relay hasn't written yet must come before later ones, so only outcomes older than the
        // unwritten ones are listed.
        let times = [
            shared.clock.now - shared.limits.outcomeSettleTime.inMilliseconds,
            shared.deliveryLog.unwrittenSince,
            shared.queue.unwrittenSince,
        ]
        do throws(StorageError) {
            let found = try await shared.storage.outcomes(
                of: key, after: wanted.position, before: times.compactMap(\.self).min() ?? 0,
                limit: wanted.limit)
            return found.isEmpty ? nil : found
        } catch {
            throw APIError(error)
        }
    }
}

/// The response to a request for outcomes.
struct OutcomePage {
    let outcomes: [FinalOutcome]
    /// Where the next page begins if this one is empty.
    let after: OutcomePosition
    /// The secret's current devices.
    let devices: [Device]

    /// As many outcomes as fit into ``Bounds/historyPageBytesMax``, but at least one, and the next page's cursor.
    var body: [UInt8] {
        var bytes = 0
        let shown = outcomes.prefix { outcome in
            defer { bytes += outcome.textBytes }
            return bytes == 0 || bytes + outcome.textBytes <= Bounds.historyPageBytesMax
        }
        let tokens = Dictionary(devices.map { ($0.id, $0.maskedToken) }, uniquingKeysWith: { one, _ in one })
        var writer = JSON.Writer(capacity: 128 + 192 * shown.count)
        writer.beginObject()
        writer.member("ok", true)
        writer.name("outcomes")
        writer.beginArray()
        for outcome in shown { outcome.write(to: &writer, tokens: tokens) }
        writer.endArray()
        writer.member("cursor", (shown.last?.position ?? after).cursor)
        writer.endObject()
        return writer.finish()
    }
}

extension FinalOutcome {
    fileprivate var textBytes: Int {
        guard case .reply(let reply) = content else { return 0 }
        return (reply.text?.utf8.count ?? 0) + (reply.sealed?.utf8.count ?? 0)
    }

    fileprivate func write(to writer: inout JSON.Writer, tokens: [String: String]) {
        writer.beginObject()
        switch content {
        case .push(let push):
            writer.member("type", "push")
            writer.member("at", Timestamp(position.time).text)
            writer.member("status", push.status.rawValue)
            if let error = push.error { writer.member("reason", error) }
            // Without a device, nothing was sent; even a push that couldn't be created has an ID.
            if let device = push.deviceID {
                writer.member("apnsID", push.id)
                if let token = tokens[device] {
                    writer.member("device", token)
                } else {
                    writer.member("removed", true)
                }
            }
            if let eventID = push.eventID { writer.member("eventID", eventID) }
            writer.member("eventType", push.eventType)
            if !push.sessionID.isEmpty { writer.member("sessionID", push.sessionID) }
        case .acknowledgement:
            writer.member("type", "acknowledgement")
            writer.member("at", Timestamp(position.time).text)
            writer.member("eventID", position.id)
        case .reply(let reply):
            writer.member("type", "reply")
            writer.member("at", Timestamp(position.time).text)
            writer.member("eventID", position.id)
            if let action = reply.action { writer.member("action", action) }
            if let text = reply.text { writer.member("text", text) }
            if let sealed = reply.sealed { writer.member("sealed", sealed) }
        }
        writer.endObject()
    }
}

extension OutcomePosition {
    /// Reads the `cursor` of a response: time, kind, number and the ID's bytes in hexadecimal.
    init?(cursor: String) {
        let parts = cursor.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].count <= 15, parts[2].count <= 3, let time = Self.number(parts[0]),
            let kind = Self.number(parts[1]).flatMap(Kind.init(rawValue:)),
            let number = Self.number(parts[2]),
            parts[3].utf8.count <= 2 * StorageLimits.eventIDBytes
        else { return nil }
        var digits = parts[3].utf8.map { Self.digits.firstIndex(of: $0) }[...]
        var id: [UInt8] = []
        while let high = digits.popFirst() {
            guard let high, case .some(let low?) = digits.popFirst() else { return nil }
            id.append(UInt8(16 * high + low))
        }
        // The column with the log rows' IDs contains only ASCII.
        guard let text = String(validating: id, as: UTF8.self), !id.contains(0),
            kind != .push || id.allSatisfy({ $0 < 0x80 })
        else { return nil }
        self.init(time: EpochMilliseconds(time), kind: kind, id: text, number: number)
    }

    /// The position as text for the sender.
    var cursor: String {
        let digits = id.utf8.flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] }
        return "\(time)-\(kind.rawValue)-\(number)-" + String(decoding: digits, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// Accepts only digits, because `Int` would also accept a sign.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }
}
