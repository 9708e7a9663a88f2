import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A validated `POST /v1/reply/result` request.
struct ReplyResultRequest: PlainRequestBody {
    let eventID: String
    let result: ReplyResult

    init(_ fields: RequestFields) throws(APIError) {
        eventID = try fields.eventName()
        let outcome = try fields.optional(.replyOutcome) { $0.string.flatMap(ReplyOutcome.init) }
        let reason = try fields.optional(.replyReason, where: RequestFields.isReason)
        let sealed = try fields.sealed()
        guard outcome != nil || sealed != nil else { throw APIError(.missingField, field: .replyOutcome) }
        if sealed != nil, outcome != nil || reason != nil {
            throw APIError(
                .invalidField, field: outcome == nil ? .replyReason : .replyOutcome,
                hint: "It is not allowed in a sealed result, because the relay could read it.")
        }
        result = ReplyResult(outcome: outcome?.rawValue, reason: reason, sealed: sealed?.text)
    }
}

extension RequestFields {
    fileprivate static func isReason(_ bytes: String.UTF8View) -> Bool {
        (1...Bounds.replyReasonCountMax).contains(bytes.count)
            && bytes.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            }
    }
}

/// `POST /v1/reply/result`: stores the result of the reply to an event for the phones.
struct ReplyResultRoute: TenantRoute {
    static let admission = Admission.sending
    let services: LoopServices

    /// Stores the result if it is the event's first, and returns the stored result.
    func answer(
        _ wanted: ReplyResultRequest, for tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let event = EventName(wanted.eventID, of: tenant.key)
        let stored: AcknowledgementResult
        do throws(StorageError) {
            stored = try await services.shared.replies.report(wanted.result, of: event)
        } catch {
            throw APIError(error)
        }
        switch stored {
        case .stored(let known), .existing(let known):
            services.noteKnown()
            await services.stopRepeating(event)
            var writer = JSON.Writer()
            writer.beginObject()
            writer.member("ok", true)
            known.writeResult(to: &writer)
            writer.endObject()
            return Reply(body: writer.finish())
        case .unknownEvent, .notOffered: throw try tenant.unknownEvent()
        }
    }
}

extension Acknowledgement {
    /// Writes the member `result` if there is a result.
    func writeResult(to writer: inout JSON.Writer) {
        guard let result, let resultAt else { return }
        writer.name("result")
        writer.beginObject()
        writer.member("at", Timestamp(resultAt).text)
        if let outcome = result.outcome { writer.member("outcome", outcome) }
        if let reason = result.reason { writer.member("reason", reason) }
        if let sealed = result.sealed { writer.member("sealed", sealed) }
        writer.endObject()
    }
}
