import Instruments
import JSON
import Network
import WebClient

/// Posts events to the relay.
struct RelayClient: Sendable {
    let address: WebAddress
    let secret: String
    /// A file with certificates to trust instead of the system's.
    var caFile: String?
    /// The interval at which permissions ring again until someone answers; zero to ring only once.
    var repeatEvery: Duration = .zero
    /// The timeout for each request.
    var deadline = Bounds.postDeadline

    enum Answer: Sendable, Equatable {
        /// The relay accepted the event, with a sentence about the outcome.
        case accepted(String)
        /// The relay will never accept the event, for this reason.
        case refused(String)
        /// The relay can't accept the event now.
        case later(String, Duration)
        /// No relay responds.
        case unreachable(String)
    }

    /// Identifies this pairing of relay and server to the app.
    var serverID: String { Self.serverID(address, secret) }

    /// Identifies a pairing of relay and server, as OpenCode's own forwarder does.
    static func serverID(_ address: WebAddress, _ secret: String) -> String {
        Fingerprint.hex(address.text + "|" + secret, count: 16)
    }

    /// Posts an event; repeating it is harmless.
    func post(_ event: QueuedEvent) async -> Answer {
        await send("/v1/event", body(event), about: event.id)
    }

    /// A place in an event's trace.
    ///
    /// The trace's ID is derived from the event's ID, so that all requests about the event are in one trace, even after
    /// a restart. The bridge records no spans, so the relay decides whether to record the trace.
    static func place(of eventID: String) -> TraceContext? {
        TraceContext.TraceID(uuid: Fingerprint.hex("trace|" + eventID, count: 32)).map {
            TraceContext($0, .random(), isSampled: false)
        }
    }

    /// Sends a request whose response has the same form as the one to an event.
    ///
    /// - Parameter eventID: The event that the request is about.
    func send(_ path: String, _ body: [UInt8], about eventID: String? = nil) async -> Answer {
        do throws(WebFailure) {
            return Self.interpret(try await ask(path, body, about: eventID))
        } catch {
            return .unreachable("\(address): \(error)")
        }
    }

    /// Sends a request and returns the response, whatever its status.
    ///
    /// - Parameters:
    ///   - eventID: The event that the request is about.
    ///   - deadline: The request's timeout, if not the client's own.
    func ask(
        _ path: String, _ body: [UInt8], about eventID: String? = nil, deadline: Duration? = nil
    ) async throws(WebFailure) -> WebAnswer {
        var request = request(path, body, about: eventID)
        if let deadline { request.timeout = deadline }
        return try await WebClient.send(request)
    }

    /// A request, in the trace of the event that it is about.
    func request(_ path: String, _ body: [UInt8], about eventID: String?) -> WebRequest {
        var request = WebRequest(url: address.text + path, timeout: deadline)
        request.body = body
        request.isLocal = address.isLoopback
        request.answerBytesMax = Bounds.postAnswerBytesMax
        if let caFile { request.trust = .file(caFile) }
        if let place = eventID.flatMap(Self.place) { request.headers = ["traceparent: \(place.header)"] }
        return request
    }

    func body(_ event: QueuedEvent) -> [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("secret", secret)
        writer.member("serverID", serverID)
        writer.member("eventType", event.type.rawValue)
        writer.member("sessionID", event.session.text)
        event.text.write(to: &writer)
        writer.member("eventID", event.id)
        if !event.actions.isEmpty {
            // If the text is sealed, the category is also sealed.
            if case .readable = event.text { writer.member("category", NotificationCategory.permission) }
            writer.strings("actions", event.actions)
        }
        if let state = event.state {
            writer.name("contentState")
            state.write(to: &writer)
        }
        if event.awaitsAnswer, repeatEvery > .zero {
            writer.name("repeat")
            writer.beginObject()
            writer.member("every", Int(repeatEvery.components.seconds))
            writer.member("for", Bounds.repeatSecondsMax)
            writer.endObject()
        }
        writer.endObject()
        return writer.finish()
    }

    /// The meaning of a response.
    static func interpret(_ answer: WebAnswer) -> Answer {
        let value = try? JSON.parse(answer.body, maxBytes: Bounds.postAnswerBytesMax)
        let sentence = value?["error"]?.string.map(Console.safe) ?? "no reason given"
        let reason = "status \(answer.status): \(sentence)"
        if answer.status == 200, let value, value["ok"]?.bool == true { return .accepted(summary(value)) }
        switch answer.status {
        case 404, 408, 429, 500...: return .later(reason, answer.pause)
        // Intermediaries such as proxies use the same statuses as the relay.
        case _ where value?["ok"]?.bool != false || value?["code"]?.string == nil:
            return .later(
                "status \(answer.status) is not a relay's response; check --relay-url", answer.pause)
        case 409: return .accepted("sent before")
        default: return .refused(reason)
        }
    }

    /// A summary such as `sent 2, failed 1: Unregistered`.
    private static func summary(_ value: JSON.Value) -> String {
        var parts = ["sent", "queued", "muted", "failed"].compactMap { name -> String? in
            guard let count = value[name]?.int, count > 0 else { return nil }
            return "\(name) \(count)"
        }
        if let activities = value["activities"] {
            let count = ["sent", "queued", "held"].reduce(0) { $0 + (activities[$1]?.int ?? 0) }
            parts.append("Live Activities \(count)")
        }
        guard !parts.isEmpty else {
            return "no device is registered; pair one with `agent-bridge pair`"
        }
        let reasons = (value["deliveries"]?.array ?? []).filter { $0["status"]?.string == "failed" }
            .compactMap { $0["reason"]?.string }
        let distinct = Set(reasons).sorted().prefix(3).map(Console.safe).joined(separator: ", ")
        return parts.joined(separator: ", ") + (distinct.isEmpty ? "" : ": " + distinct)
    }
}

extension WebAnswer {
    /// How long the relay asks the bridge to wait, at most the bridge's own maximum pause.
    var pause: Duration { min(retryAfter, Bounds.postPauseMax) }
}
