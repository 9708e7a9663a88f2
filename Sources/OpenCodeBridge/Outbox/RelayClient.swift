import JSON
import WebClient

/// Posts events to the relay.
struct RelayClient: Sendable {
    let address: WebAddress
    let secret: String
    /// A file with the certificates to trust instead of the system's.
    var caFile: String?
    /// How often permissions ring again until somebody answers; zero for once.
    var repeatEvery: Duration = .zero
    /// The time limit of a request.
    var deadline = Bounds.postDeadline

    /// What the relay answered.
    enum Answer: Sendable, Equatable {
        /// It took the event: a sentence about the outcome.
        case accepted(String)
        /// It will never take the event, for this reason.
        case refused(String)
        /// It can't take the event now.
        case later(String, Duration)
        /// No relay answers.
        case unreachable(String)
    }

    /// Identifies this pairing of relay and server to the app.
    var serverID: String { Self.serverID(address, secret) }

    /// Identifies a pairing of relay and server, as OpenCode's own forwarder does.
    static func serverID(_ address: WebAddress, _ secret: String) -> String {
        Fingerprint.hex(address.text + "|" + secret, count: 16)
    }

    /// Posts an event; repeating it does no harm.
    func post(_ event: QueuedEvent) async -> Answer {
        await send("/v1/event", body(event))
    }

    /// Sends a request that answers as events do.
    func send(_ path: String, _ body: [UInt8]) async -> Answer {
        var request = WebRequest(url: address.text + path, timeout: deadline)
        request.body = body
        request.isLocal = address.isLoopback
        request.answerBytesMax = Bounds.postAnswerBytesMax
        if let caFile { request.trust = .file(caFile) }
        do throws(WebFailure) {
            return Self.interpret(try await WebClient.send(request))
        } catch {
            return .unreachable("\(address): \(error)")
        }
    }

    /// The request's body.
    func body(_ event: QueuedEvent) -> [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("secret", secret)
        writer.member("serverID", serverID)
        writer.member("eventType", event.type.rawValue)
        writer.member("sessionID", event.session.text)
        event.text.write(to: &writer)
        writer.member("eventID", event.id)
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
        let reason = value?["error"]?.string.map(Console.safe) ?? "no reason given"
        switch answer.status {
        case 200:
            guard let value, value["ok"]?.bool == true else {
                return .later("status 200 without a relay's answer; is --relay-url right?", .zero)
            }
            return .accepted(summary(value))
        case 409: return .accepted("sent before")
        case 404, 408, 429, 500...: return .later("status \(answer.status): \(reason)", answer.retryAfter)
        default: return .refused("status \(answer.status): \(reason)")
        }
    }

    /// `sent 2, failed 1: Unregistered`.
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
            return "no device is registered; pair one with `opencode-bridge pair`"
        }
        let reasons = (value["deliveries"]?.array ?? []).filter { $0["status"]?.string == "failed" }
            .compactMap { $0["reason"]?.string }
        let distinct = Set(reasons).sorted().prefix(3).map(Console.safe).joined(separator: ", ")
        return parts.joined(separator: ", ") + (distinct.isEmpty ? "" : ": " + distinct)
    }
}
