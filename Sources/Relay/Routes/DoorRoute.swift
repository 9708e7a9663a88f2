import Cryptography
import HTTPServer
import JSON
import Network
import Programs
import Storage

/// The message that a request to a door asks the relay to send.
struct DoorMessage: Sendable {
    /// How much attention the message asks for.
    enum Urgency: Sendable {
        /// The notification makes no sound.
        case quiet
        case normal
        /// The notification is shown even during a Focus, if the Focus allows it.
        case urgent
    }

    /// When the message is sent, if not immediately.
    enum Time: Sendable, Equatable {
        case after(seconds: Int)
        case at(EpochMilliseconds)
    }

    /// The access token that came with the message.
    var token: String?
    var title: String?
    var subtitle: String?
    var body = ""
    var urgency = Urgency.normal
    var sound: String?
    var badge: Int?
    var kind: String?
    var thread: String?
    var collapseID: String?
    var time: Time?
    /// The payload's members for the app, next to `aps`.
    var data = JSON.Object()
    /// The members that the response repeats, in the door's format.
    var shown = JSON.Object()
    /// Notes for people about parts of the message that have no effect.
    var notes: [String] = []

    /// The message as a body of `POST /v1/notify` or, if it has a time, of `POST /v1/schedule/create`.
    var fields: RequestFields {
        var notification = JSON.Object()
        notification["title"] = title.map { .string($0) }
        notification["subtitle"] = subtitle.map { .string($0) }
        notification["body"] = .string(body)
        notification["badge"] = badge.map { .int($0) }
        notification["kind"] = kind.map { .string($0) }
        notification["threadID"] = thread.map { .string($0) }
        notification["collapseID"] = collapseID.map { .string($0) }
        switch urgency {
        case .quiet: notification["interruptionLevel"] = "passive"
        case .normal: notification["sound"] = .string(sound ?? "default")
        case .urgent:
            notification["sound"] = .string(sound ?? "default")
            notification["interruptionLevel"] = "time-sensitive"
        }
        if !data.members.isEmpty { notification["data"] = .object(data) }
        var request = JSON.Object()
        request[RequestField.notification.rawValue] = .object(notification)
        switch time {
        case .after(let seconds): request[RequestField.scheduleIn.rawValue] = .int(seconds)
        case .at(let time): request[RequestField.scheduleAt.rawValue] = .string(Timestamp(time).text)
        case nil: break
        }
        return RequestFields(request)
    }
}

/// An adapter for another relay's publish requests: it parses the requests and writes the responses.
///
/// Admission, limits, schedules and results are the same as for `POST /v1/notify`.
protocol DoorRoute: AnsweringRoute {
    var services: LoopServices { get }

    /// Reads a request.
    static func message(_ request: Request) throws(APIError) -> DoorMessage

    /// The response to a message that was sent or stored.
    static func accepted(_ message: DoorMessage, id: UUIDv7, at now: EpochMilliseconds) -> JSON.Value

    /// The response to a request that was refused.
    static func refused(_ error: APIError, at now: EpochMilliseconds) -> JSON.Value
}

extension DoorRoute {
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        let started = services.loop.now
        let now = services.shared.clock.now
        let message = try Self.message(request)
        guard let digest = message.token.flatMap({ AccessTokenText.digest(of: Array($0.utf8)) }) else {
            try services.shared.rates.countUnknownSecret(request, at: started)
            throw APIError(.invalidToken)
        }
        let tenant = try await services.admit(
            .token(digest), to: .sending, .send, request, started, &trace)
        if message.time != nil {
            let wanted = try ScheduleRequest(message.fields, services.rules, at: now)
            _ = try await ScheduleCreateRoute(services: services).create(wanted, for: tenant)
        } else {
            let wanted = try NotifyRequest(message.fields, services.rules, at: now)
            let dispatch = Dispatch(
                tenant: tenant.key, content: wanted.content, audience: .all,
                origin: .request(eventID: nil), at: now)
            _ = try await services.send(dispatch, for: tenant, &trace)
        }
        return Reply(body: Self.accepted(message, id: services.makeID(), at: now).encoded())
    }

    func reply(to error: APIError) -> Reply {
        var reply = Reply(error)
        reply.body = Self.refused(error, at: services.shared.clock.now).encoded()
        return reply
    }

    /// The body as a JSON object.
    static func object(_ body: [UInt8]) throws(APIError) -> JSON.Object {
        let value: JSON.Value
        do throws(JSON.ParseError) {
            value = try JSON.parse(
                body, maxBytes: Bounds.requestBodyBytesMax, maxDepth: Bounds.requestJSONDepthMax,
                loneSurrogates: .replaced)
        } catch {
            throw APIError(.invalidBody, hint: BodyMistake.hint(body), logDetail: error.description)
        }
        guard let object = value.object else { throw APIError(.invalidBody) }
        return object
    }

    /// The password or token in `Authorization: Basic` or `Bearer`.
    static func token(authorization value: String?) -> String? {
        let parts = (value ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        switch parts[0].lowercased() {
        case "bearer": return parts[1]
        case "basic":
            guard let bytes = Base64.decode(Array(parts[1].utf8)) else { return nil }
            let pair = String(decoding: bytes, as: UTF8.self)
            return pair.firstIndex(of: ":").map { String(pair[pair.index(after: $0)...]) }
        default: return nil
        }
    }
}
