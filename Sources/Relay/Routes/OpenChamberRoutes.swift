import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage

/// A route for the requests that OpenChamber's servers make to their push relay, for the one app that is configured.
///
/// Source: apns-runtime.js and APNS.md of https://github.com/openchamber/openchamber.
protocol OpenChamberRoute: AnsweringRoute {
    var services: LoopServices { get }

    /// Answers a request for the app.
    func answer(
        _ request: Request, for app: Topic, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply
}

extension OpenChamberRoute {
    func answer(_ request: Request, _ trace: inout RequestTrace) async throws(APIError) -> Reply {
        guard let app = services.shared.openChamberApp else { throw APIError(.notFound) }
        return try await answer(request, for: app, &trace)
    }

    func reply(to error: APIError) -> Reply {
        var reply = Reply(error)
        let answer: JSON.Value = [
            "error": .string(error.code.rawValue), "message": .string(error.hint ?? error.sentence),
        ]
        reply.body = answer.encoded()
        return reply
    }
}

/// `POST /v1/push/register-token`: registers a phone for the server that signed the request.
struct OpenChamberRegisterRoute: OpenChamberRoute {
    let services: LoopServices

    func answer(
        _ request: Request, for app: Topic, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let started = services.loop.now
        let route = RegisterRoute(services: services)
        try route.precheck(request)
        let body = try SignedRequest(request)
        guard let token = body.members["token"]?.string else {
            throw APIError(.missingField, hint: "token must be a string.")
        }
        let platform = body.members["platform"]
        guard platform == nil || platform == "ios" else {
            throw APIError(.invalidField, hint: "This relay pushes only to the platform ios.")
        }
        var fields = JSON.Object()
        fields[RequestField.deviceToken.rawValue] = .string(token)
        fields[RequestField.bundleID.rawValue] = .string(app.text)
        let environment = services.rules.onlyEnvironment[app] ?? .production
        fields[RequestField.apnsEnvironment.rawValue] = .string(environment.rawValue)
        let wanted = try RegisterRequest(
            RequestFields(fields), services.rules, at: services.shared.clock.now)
        // Versions of OpenChamber without Android support sign only the token.
        let text = platform == nil ? token : "\(token).ios"
        let sender = try body.sender(signing: text, to: .registering, services, &trace)
        let tenant = try services.admit(
            sender.secret, to: .registering, request, started, device: wanted.deviceToken, &trace)
        // OpenChamber's servers mistake a 202 for a registration and then drop the phone.
        if services.shared.registration.challengeCodes != nil,
            try await !services.devices(of: tenant.key).contains(where: wanted.names)
        {
            try tenant.countAsUnknown()
            throw APIError(
                .forbidden, hint: "This relay challenges new phones, which OpenChamber can't answer.")
        }
        return try await route.answer(wanted, for: tenant, &trace)
    }
}

/// `POST /v1/push/send`: notifies the listed phones that the signing server has registered.
struct OpenChamberSendRoute: OpenChamberRoute {
    let services: LoopServices

    func answer(
        _ request: Request, for app: Topic, _ trace: inout RequestTrace
    ) async throws(APIError) -> Reply {
        let started = services.loop.now
        let body = try SignedRequest(request, bytesMax: Bounds.batchBodyBytesMax)
        let wanted = try OpenChamberMessage(body.members)
        let sender = try body.sender(signing: wanted.signedText, to: .sending, services, &trace)
        let tenant = try services.admit(sender.secret, to: .sending, request, started, &trace)
        let dispatcher = Dispatcher(services: services)
        let devices = try await dispatcher.devices(of: tenant.key)
        let audience = Audience.tokens(Set(wanted.tokens.map(\.token)))
        guard !audience.recipients(among: devices, zone: { _ in nil }).isEmpty else {
            try tenant.countAsUnknown()
            return Reply(body: wanted.results(registered: [], DispatchReport([])))
        }
        // The event's ID may depend only on the signed text: a signature can be changed and remain valid, and the rest
        // of the body isn't signed. So the same signed text notifies only once.
        let dispatch = Dispatch(
            tenant: tenant.key, content: wanted.content, audience: audience,
            origin: .request(eventID: "openchamber-" + Digest256(of: sender.signed).hex),
            at: services.shared.clock.now)
        let report = try await dispatcher.send(dispatch, to: devices, started, &trace).report
        // The devices are read again to find the phones that the push services no longer know.
        let left = report.failed == 0 ? devices : (try? await services.devices(of: tenant.key)) ?? devices
        return Reply(body: wanted.results(registered: left, report))
    }
}

/// The body of `POST /v1/push/send`.
struct OpenChamberMessage: Sendable {
    /// The phones' tokens, as sent and as the relay stores them.
    let tokens: [(text: String, token: DeviceToken)]
    let content: NotificationContent
    /// The text that is signed in addition to the time.
    let signedText: String

    /// Checks all members except those of the signature.
    init(_ members: JSON.Object) throws(APIError) {
        let texts = members["tokens"]?.array ?? []
        tokens = texts.compactMap { value in
            value.string.flatMap { text in DeviceToken(text).map { (text, $0) } }
        }
        guard (1...Bounds.openChamberTokensMax).contains(texts.count), tokens.count == texts.count else {
            throw APIError(
                .invalidField,
                hint: "tokens must be 1 to \(Bounds.openChamberTokensMax) tokens in hexadecimal.")
        }
        // If the title were the platform's name, the text that registers a phone would be valid here as well. Half a
        // surrogate pair is signed as the U+FFFD that replaces it.
        guard let title = members["title"]?.text, !title.isEmpty, title != "ios" else {
            throw APIError(.invalidField, hint: "title must be a non-empty string other than ios.")
        }
        // The value isn't used: OpenChamber's servers send the same environment for every phone, and the relay knows
        // the right one.
        guard DeviceEnvironment(rawValue: members["env"]?.string ?? "sandbox") != nil else {
            throw APIError(.invalidField, hint: "env must be sandbox or production.")
        }
        guard members["badge"]?.text ?? "" == "" else {
            throw APIError(.invalidField, hint: "badge must be a number.")
        }
        var fields = JSON.Object()
        fields["title"] = .string(title)
        for name in ["body", "badge", "data"] { fields[name] = members[name] == "" ? nil : members[name] }
        fields["sound"] = "default"
        fields["mutableContent"] = true
        let collapseID = members["collapseId"] == "" ? nil : members["collapseId"]
        fields["threadID"] = collapseID
        fields["collapseID"] = collapseID
        content = try NotificationContent(RequestFields(fields, within: .notification))
        signedText = "\(tokens.map(\.text).sorted().joined(separator: ",")).\(title)"
    }

    /// The response: for each phone, whether it was notified and whether the server should forget it.
    func results(registered devices: [Device], _ report: DispatchReport) -> [UInt8] {
        let known = Set(devices.compactMap { DeviceToken($0.token) })
        let failed = report.deliveries.compactMap { delivery in
            if case .failed = delivery.status { delivery.device } else { nil }
        }
        var writer = JSON.Writer(capacity: 128 * tokens.count)
        writer.beginObject()
        writer.name("results")
        writer.beginArray()
        for (text, token) in tokens {
            let isKnown = known.contains(token)
            writer.beginObject()
            writer.member("token", text)
            writer.member("ok", isKnown && !failed.contains(token.description))
            writer.member("drop", !isKnown)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.finish()
    }
}
