import JSON
import Programs
import Storage
import WebClient

/// `relay send`: sends a notification or an event through a running relay's public API.
enum SendCommand {
    /// Sends one request and prints the result of each device's push.
    static func run(_ configuration: SendConfiguration, _ options: CommandOptions, _ style: OutputStyle)
        -> ExitStatus
    {
        let secret: Secret
        do throws(ExitStatus) {
            secret = try SecretInput.require(configuration.secret)
        } catch {
            return error
        }
        guard let text = String(validating: secret.bytes, as: UTF8.self) else {
            StandardError.message("the secret isn't UTF-8, which JSON requests require")
            return .usage
        }
        var request = WebRequest(url: configuration.url, timeout: Bounds.sendDeadline)
        request.body = configuration.content.body(secret: text)
        request.isLocal = configuration.isLocal
        request.trust = configuration.trust
        return CommandTask.run { [request] in
            do throws(WebFailure) {
                return show(
                    try await WebClient.send(request), configuration.url, isJSON: options.has(.json), style)
            } catch {
                StandardError.message("\(configuration.url): \(error)")
                return .unavailable
            }
        }
    }

    private static func show(_ answer: WebAnswer, _ url: String, isJSON: Bool, _ style: OutputStyle)
        -> ExitStatus
    {
        let body = try? JSON.parse(answer.body, maxBytes: Bounds.commandAnswerBytesMax)
        guard let body, body.object != nil else {
            StandardError.message("\(url): returned \(answer.status), which is not a relay's response")
            return .unavailable
        }
        if isJSON { StandardOutput.write(String(decoding: body.encoded(), as: UTF8.self) + "\n") }
        guard answer.status == 200 else {
            let sentence = TerminalText.safe(body["error"]?.string ?? "no reason given")
            StandardError.message("\(url): returned \(answer.status): \(sentence)")
            return answer.status == 503 ? .unavailable : .failed
        }
        if !isJSON { StandardOutput.write(SendResult(body).text(style)) }
        return body["sent"]?.int ?? 0 > 0 ? .success : .failed
    }
}

/// The content that the command sends.
struct SendContent: Sendable, Equatable {
    var title: String?
    var body: String?
    /// The event type; `nil` for a notification.
    var event: EventType?
    /// The event's session.
    var sessionID: String

    /// The route to call.
    var route: RouteName { event == nil ? .notify : .event }

    /// The request body.
    func body(secret: String) -> [UInt8] {
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("secret", secret)
        if let event {
            writer.member("eventType", event.rawValue)
            writer.member("sessionID", sessionID)
            if let title { writer.member("title", title) }
            if let body { writer.member("body", body) }
        } else {
            writer.name("notification")
            writer.beginObject()
            let hasText = title != nil || body != nil
            if let title = title ?? (hasText ? nil : "Test notification") { writer.member("title", title) }
            if let body = body ?? (hasText ? nil : "Sent by relay send.") { writer.member("body", body) }
            writer.member("sound", "default")
            writer.endObject()
        }
        writer.endObject()
        return writer.finish()
    }
}

/// The configuration of `relay send`.
struct SendConfiguration: Sendable {
    /// The route's complete URL.
    var url: String
    /// Whether the URL is that of this machine's relay, taken from its settings.
    var isLocal: Bool
    var trust: WebRequest.Trust
    var content: SendContent
    var secret: Secret?

    /// Reads settings and options; see ``ServeConfiguration``.
    init(_ sources: SettingSources, _ options: CommandOptions) throws(ConfigurationError) {
        var reader = SettingReader(sources)
        secret = reader.read(Settings.secret)
        content = SendContent(
            title: options.text(.title), body: options.text(.body),
            event: options.text(.eventType).flatMap(EventType.init),
            sessionID: options.text(.session) ?? "relay-send")
        var base = options.text(.url) ?? ""
        isLocal = base.isEmpty
        if isLocal {
            let local = HealthConfiguration(&reader)
            base = local.url("")
            trust = .anyone
        } else {
            trust = .system
        }
        if let file = options.text(.caFile) { trust = .file(file) }
        while base.hasSuffix("/") { base.removeLast() }
        url = base + content.route.path
        guard reader.problems.isEmpty else {
            throw ConfigurationError(reader.problems, command: "relay send")
        }
    }
}

/// A relay's response to an event or a notification.
struct SendResult {
    private let body: JSON.Value

    init(_ body: JSON.Value) {
        self.body = body
    }

    /// The counts, and a line per device.
    func text(_ style: OutputStyle) -> String {
        let counts = ["sent", "failed", "queued", "muted"].map { "\(body[$0]?.int ?? 0) \($0)" }
        let deliveries = body["deliveries"]?.array ?? []
        guard !deliveries.isEmpty else {
            return "no device is registered under this secret\n"
        }
        var table = TextTable([
            .init(heading: "DEVICE"), .init(heading: "STATUS"), .init(heading: "REASON"),
            .init(heading: "APNS-ID"),
        ])
        for delivery in deliveries {
            let status = delivery["status"]?.string ?? ""
            let removed = delivery["removed"]?.bool == true ? " (removed)" : ""
            table.add([
                .init(delivery["device"]?.string ?? ""), .init(status, Self.mark(status)),
                .init((delivery["reason"]?.string ?? "") + removed), .init(delivery["apnsID"]?.string ?? ""),
            ])
        }
        return table.text(style) + counts.joined(separator: ", ") + "\n"
    }

    private static func mark(_ status: String) -> TextMark? {
        switch status {
        case "sent": .good
        case "queued": .warning
        case "failed": .bad
        default: nil
        }
    }
}

extension RelayCommand {
    static let send = RelayCommand(
        "send", "Send a notification through a running relay.",
        about: """
            Sends a notification or an event to a secret's devices through a running relay, and shows the
            result of each push. Exit status 0 if something was sent, 1 if nothing was, 69 if the relay is
            unavailable.
            """,
        options: [.url, .title, .body, .eventType, .session, .caFile, .json],
        settings: .address + [Settings.secret.row]
    ) { call throws(ConfigurationError) in
        SendCommand.run(try SendConfiguration(call.sources, call.options), call.options, call.style)
    }
}

extension CommandOption {
    static let url = CommandOption(
        "--url", .url, "The relay's URL. Default: the relay on this machine, from its settings.")
    static let title = CommandOption("--title", .text("TEXT"), "The notification's title.")
    static let body = CommandOption("--body", .text("TEXT"), "The notification's text.")
    static let eventType = CommandOption(
        "--event-type", .word(EventType.allCases.filter(\.rings).map(\.rawValue)),
        "An event of this type instead of a notification.")
    static let session = CommandOption(
        "--session", .text("ID"), "The event's session ID. Default: relay-send.")
    static let caFile = CommandOption(
        "--ca-file", .path, "PEM file of CA certificates to trust for the relay, instead of the system's.")
}
