import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A validated `POST /v1/ack` request.
struct AcknowledgeRequest: PlainRequestBody {
    let eventID: String
    /// Whether apps should remove the event's notification.
    let clears: Bool

    init(_ fields: RequestFields) throws(APIError) {
        eventID = try fields.eventName()
        clears = try fields.flag(.clear) ?? false
    }
}

/// A validated `POST /v1/reply` request.
struct ReplyRequest: PlainRequestBody {
    let eventID: String
    let reply: EventReply
    /// How long to wait for the reply's result.
    let timeout: Duration

    init(_ fields: RequestFields) throws(APIError) {
        eventID = try fields.eventName()
        let action = try fields.optional(.replyAction, where: RequestFields.isAction)
        let text = try fields.word(.replyText, most: Bounds.replyTextBytesMax)
        let sealed = try fields.sealed()
        guard action != nil || sealed != nil else { throw APIError(.missingField, field: .replyAction) }
        guard text == nil || sealed == nil else {
            throw APIError(
                .invalidField, field: .replyText,
                hint: "It is not allowed in a sealed reply, because the relay could read it.")
        }
        reply = EventReply(action: action, text: text, sealed: sealed?.text)
        timeout = .seconds(try fields.integer(.waitTimeout, in: 0...Bounds.replyWaitSecondsMax) ?? 0)
    }
}

/// A validated `POST /v1/reply/wait` request.
struct ReplyWaitRequest: PlainRequestBody {
    let eventID: String
    let timeout: Duration

    init(_ fields: RequestFields) throws(APIError) {
        eventID = try fields.eventName()
        timeout = .seconds(
            try fields.integer(.waitTimeout, in: 0...Bounds.replyWaitSecondsMax)
                ?? Bounds.replyWaitSecondsDefault)
    }
}

extension RequestFields {
    /// The required ID of an event that was sent earlier.
    func eventName() throws(APIError) -> String {
        try required(.eventID) { (1...Bounds.eventIDBytesMax).contains($0.count) && !$0.contains(0) }
    }
}

/// `POST /v1/ack`: records that someone has seen an event.
struct AcknowledgeRoute: TenantRoute {
    static let admission = Admission.registering
    static let scope: AccessTokenScope? = .reply
    let services: LoopServices

    /// Stores the acknowledgement, then removes the notification if requested; repeating the request changes nothing.
    func answer(
        _ wanted: AcknowledgeRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let event = EventName(wanted.eventID, of: tenant.key)
        switch try await services.acknowledge(event, reply: nil) {
        case .stored(let known), .existing(let known):
            if wanted.clears {
                try await Dispatcher(services: services).clear(event, tenant.started)
            }
            return Reply(time: known.at, as: "acknowledgedAt")
        case .unknownEvent, .notOffered:
            throw try tenant.unknownEvent()
        }
    }
}

/// `POST /v1/reply`: stores a person's reply to an event for its sender, and returns the reply's result.
struct ReplyRoute: TenantRoute {
    static let admission = Admission.registering
    static let scope: AccessTokenScope? = .reply
    let services: LoopServices

    /// Stores the reply if it is the event's first; sending an equal reply again returns its result.
    func answer(
        _ wanted: ReplyRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let event = EventName(wanted.eventID, of: tenant.key)
        switch try await services.acknowledge(event, reply: wanted.reply) {
        case .stored(let known), .existing(let known):
            guard known.reply == wanted.reply else { throw APIError(.alreadyReplied, field: .eventID) }
            return await reply(known, to: event, within: wanted.timeout)
        case .notOffered(let actions):
            throw APIError(
                .invalidField, field: .replyAction,
                hint: "The event's actions are: \(actions.joined(separator: ", ")).")
        case .unknownEvent:
            throw try tenant.unknownEvent()
        }
    }

    /// The response, including the result if it arrives in time.
    private func reply(
        _ stored: Acknowledgement, to event: EventName, within limit: Duration
    ) async -> Reply {
        var known = stored
        if known.result == nil, limit > .zero,
            case .known(let later?) = await services.shared.replies.wait(
                for: .result, of: event, knowing: known, within: limit, on: services.loop)
        {
            known = later
        }
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member("repliedAt", Timestamp(stored.repliedAt ?? stored.at).text)
        known.writeResult(to: &writer)
        writer.endObject()
        return Reply(body: writer.finish())
    }
}

/// `POST /v1/reply/wait`: returns an event's reply as soon as there is one.
struct ReplyWaitRoute: TenantRoute {
    static let admission = Admission.sending
    static let scope: AccessTokenScope? = .read
    let services: LoopServices

    /// Waits for the reply until the request's timeout.
    func answer(
        _ wanted: ReplyWaitRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let shared = services.shared
        let event = EventName(wanted.eventID, of: tenant.key)
        let known: Acknowledgement?
        let hasDevice: Bool
        do throws(StorageError) {
            known = try await shared.replies.known(of: event)
            hasDevice = known != nil ? true : try await !shared.storage.devices(of: tenant.key).isEmpty
        } catch {
            throw APIError(error)
        }
        // Strangers must not be able to use up the allowed waits, and without a device nobody can reply.
        guard hasDevice else { throw try tenant.unknownEvent() }
        services.noteKnown()
        guard known?.reply == nil, wanted.timeout > .zero else { return reply(known, &trace) }
        switch await shared.replies.wait(
            of: event, knowing: known, within: wanted.timeout, on: services.loop)
        {
        case .known(let known): return reply(known, &trace)
        case .failed(let error): throw APIError(error)
        case .tooMany: throw .tooManyWaits
        }
    }

    private func reply(_ known: Acknowledgement?, _ trace: inout RequestTrace) -> Reply {
        trace.isRoutine = known?.reply == nil
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        if let known { writer.member("acknowledgedAt", Timestamp(known.at).text) }
        if let reply = known?.reply {
            writer.name("reply")
            writer.beginObject()
            if let time = known?.repliedAt { writer.member("at", Timestamp(time).text) }
            if let action = reply.action { writer.member("action", action) }
            if let text = reply.text { writer.member("text", text) }
            if let sealed = reply.sealed { writer.member("sealed", sealed) }
            writer.endObject()
        }
        known?.writeResult(to: &writer)
        writer.endObject()
        return Reply(body: writer.finish())
    }
}

extension LoopServices {
    /// Stores an acknowledgement or a reply, which ends the event's repetitions.
    fileprivate func acknowledge(
        _ event: EventName, reply: EventReply?
    ) async throws(APIError) -> AcknowledgementResult {
        let result: AcknowledgementResult
        do throws(StorageError) {
            result = try await shared.replies.acknowledge(event, reply: reply)
        } catch {
            throw APIError(error)
        }
        switch result {
        case .stored, .existing:
            noteKnown()
            await stopRepeating(event)
        case .unknownEvent, .notOffered: break
        }
        return result
    }
}

extension AdmittedTenant {
    /// The error for an event that the tenant didn't send; a guessed secret gets the same error.
    func unknownEvent() throws(APIError) -> APIError {
        try countAsUnknown()
        return APIError(.unknownEvent, field: .eventID)
    }
}

extension Reply {
    /// A success response with a time.
    fileprivate init(time: EpochMilliseconds, as name: StaticString) {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("ok", true)
        writer.member(name, Timestamp(time).text)
        writer.endObject()
        self.init(body: writer.finish())
    }
}
