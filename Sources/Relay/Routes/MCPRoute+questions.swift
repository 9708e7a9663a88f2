import HTTPServer
import JSON
import Network
import Programs
import Storage

/// Implements `ask_user`: asks the user a question and returns their reply.
extension MCPRoute {
    /// Asks a question, or continues to wait for the answer to an earlier one.
    ///
    /// Each call waits only as long as clients and proxies do.
    func ask(
        _ given: JSON.Object, _ caller: Caller, _ trace: inout RequestTrace
    ) async throws(APIError) -> MCPToolResult {
        let arguments: QuestionArguments
        do throws(NotificationArguments.Fault) {
            arguments = try QuestionArguments(given)
        } catch {
            trace.add(.code(.invalidField))
            return .failed(error.sentence)
        }
        let tenant = try admit(caller, to: NotifyRoute.admission, &trace)
        if let asked = arguments.asked {
            guard asked.digest == arguments.digest else {
                return .failed(
                    "questionID belongs to another question. Repeat its arguments exactly, or ask without it."
                )
            }
            guard try await isKnown(asked, tenant) else {
                try tenant.countAsUnknown()
                return .failed("There is no such question. Ask again without questionID.")
            }
            services.noteKnown()
            return try await wait(for: asked, arguments, tenant)
        }
        let (asked, report) = try await begin(arguments, tenant, &trace)
        guard report.sent + report.queued > 0 else {
            try await close(asked, .tooLate, "not_sent", tenant)
            return MCPToolResult(sending: report, isQuestion: true)
        }
        return try await wait(for: asked, arguments, tenant)
    }

    // MARK: Asking

    /// Asks a question; this closes the session's open question.
    private func begin(
        _ arguments: QuestionArguments, _ tenant: AdmittedTenant, _ trace: inout RequestTrace
    ) async throws(APIError) -> (AskedQuestion, DispatchReport) {
        let now = services.shared.clock.now
        let session = String(Digest256(of: Array((arguments.sessionID ?? "").utf8)).hex.prefix(16))
        let span = now.floorDivided(by: Int64(Bounds.questionSecondsMax) * 1000)
        let end = now.floorDivided(by: 1000) + Int64(arguments.timeout)
        func questions(_ span: Int64) -> [AskedQuestion] {
            (0..<Bounds.questionsPerSpanMax).map { number in
                AskedQuestion(
                    session: session, span: span, number: number, end: end, digest: arguments.digest)
            }
        }
        let (earlier, current) = (questions(span - 1), questions(span))
        let known = try await stored { () async throws(StorageError) in
            try await services.shared.storage.acknowledgements(
                of: Set((earlier + current).map { name($0, tenant) }), at: now)
        }
        func isOver(_ question: AskedQuestion) -> Bool {
            let known = known[name(question, tenant)]
            return known?.reply != nil || known?.result != nil
        }
        if let last = earlier.first(where: { !isOver($0) }), try await isKnown(last, tenant) {
            try await close(last, .tooLate, Self.replaced, tenant)
        }
        for question in current where !isOver(question) {
            if try await isKnown(question, tenant) {
                try await close(question, .tooLate, Self.replaced, tenant)
                continue
            }
            let fields = arguments.notification(question.eventID)
            let dispatch = Dispatch(
                tenant: tenant.key,
                content: try NotificationContent(RequestFields(fields, within: .notification)),
                audience: .all, origin: .request(eventID: question.eventID), at: now)
            do throws(APIError) {
                return (question, try await services.send(dispatch, for: tenant, &trace).report)
            } catch {
                // Another question in the session was asked at the same time.
                guard error.code == .eventConflict else { throw error }
                try await close(question, .tooLate, Self.replaced, tenant)
            }
        }
        throw APIError(
            .rateLimited, hint: "This session has asked too many questions.",
            retryAfterSeconds: Bounds.questionSecondsMax)
    }

    // MARK: Waiting

    /// Waits for the reply, but no longer than a call may take.
    private func wait(
        for asked: AskedQuestion, _ arguments: QuestionArguments, _ tenant: AdmittedTenant
    ) async throws(APIError) -> MCPToolResult {
        let shared = services.shared
        let event = name(asked, tenant)
        // Even with a made-up ID, a call can't wait longer than a question can stay open.
        let left = min(asked.end * 1000 - shared.clock.now, Int64(Bounds.questionSecondsMax) * 1000)
        var known = try await stored { () async throws(StorageError) in
            try await shared.replies.known(of: event)
        }
        if known?.reply == nil, known?.result == nil, left > 0 {
            let limit = min(.milliseconds(left), Bounds.questionWait)
            switch await shared.replies.wait(of: event, knowing: known, within: limit, on: services.loop) {
            case .known(let later): known = later
            case .failed(let error): throw APIError(error)
            case .tooMany: throw .tooManyWaits
            }
        }
        if known?.result == nil {
            if let reply = known?.reply {
                // The phone learns whether its reply was used; if several calls are waiting, the first result decides.
                // The content of a sealed reply is unknown, regardless of the reply's unencrypted members.
                let isReadable =
                    reply.sealed == nil
                    && reply.action.map { arguments.accepts($0, reply.text) } ?? false
                known =
                    isReadable
                    ? try await close(asked, .taken, nil, tenant)
                    : try await close(asked, .refused, "unreadable", tenant)
            } else if asked.end * 1000 <= shared.clock.now {
                known = try await close(asked, .tooLate, "timed_out", tenant)
            }
        }
        return MCPToolResult(asked, known, arguments)
    }

    private static let replaced = "replaced"

    /// Ends a question with a result for the phones, unless it already has one; returns the question's state.
    @discardableResult
    private func close(
        _ asked: AskedQuestion, _ outcome: ReplyOutcome, _ reason: String?, _ tenant: AdmittedTenant
    ) async throws(APIError) -> Acknowledgement? {
        let event = name(asked, tenant)
        let result = ReplyResult(outcome: outcome.rawValue, reason: reason)
        let stored = try await stored { () async throws(StorageError) in
            try await services.shared.replies.report(result, of: event)
        }
        switch stored {
        case .stored(let known):
            // The notification is useless now, but does no harm if it stays.
            if outcome == .tooLate { try? await Dispatcher(services: services).clear(event, tenant.started) }
            return known
        case .existing(let known): return known
        case .unknownEvent, .notOffered: return nil
        }
    }

    private func isKnown(_ asked: AskedQuestion, _ tenant: AdmittedTenant) async throws(APIError) -> Bool {
        try await stored { () async throws(StorageError) in
            try await services.shared.storage.state(
                of: name(asked, tenant), at: services.shared.clock.now) != .unknown
        }
    }

    private func name(_ asked: AskedQuestion, _ tenant: AdmittedTenant) -> EventName {
        EventName(asked.eventID, of: tenant.key)
    }

    private func stored<Value>(
        _ call: () async throws(StorageError) -> Value
    ) async throws(APIError) -> Value {
        do throws(StorageError) {
            return try await call()
        } catch {
            throw APIError(error)
        }
    }
}

extension MCPToolResult {
    /// The result for a question's state; never contains an answer that the user didn't give.
    fileprivate init(_ asked: AskedQuestion, _ known: Acknowledgement?, _ arguments: QuestionArguments) {
        var object = JSON.Object()
        func set(_ status: String) { object["status"] = .string(status) }
        object["questionID"] = .string(asked.id)
        let sentence: String
        let reply = known?.reply
        switch known?.result?.outcome.flatMap(ReplyOutcome.init) {
        case .taken:
            if let answer = reply?.action.flatMap({ arguments.answer($0, reply?.text) }) {
                set("answered")
                object["answer"] = .string(answer)
                self.init(.object(object), sentence: "The user answered: \(answer)")
                return
            }
            object["message"] = reply?.text.map { .string($0) }
            if let choice = reply?.action.flatMap(arguments.choice) {
                set("answered")
                object["choice"] = .int(choice.number)
                object["answer"] = .string(choice.text)
                sentence = "The user chose: \(choice.text)"
            } else {
                set("declined")
                sentence = "The user chose none of this. Don't do any of it."
            }
        case .refused:
            self = .failed("The phone's reply can't be read. The question is over without an answer.")
            return
        case nil where known?.result == nil:
            set("waiting")
            sentence =
                "No answer yet. Call ask_user again with the same arguments and this questionID to go on waiting."
        default:
            let isReplaced = known?.result?.reason == "replaced"
            set(isReplaced ? "replaced" : "timed_out")
            sentence =
                isReplaced
                ? "Another question was asked in this session, so this one has no answer."
                : "The user didn't answer in time. Don't assume an answer."
        }
        self.init(.object(object), sentence: sentence)
    }
}
