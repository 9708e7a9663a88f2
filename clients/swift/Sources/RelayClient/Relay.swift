internal import Foundation
public import PushSealing

/// A relay as used by one pairing.
///
/// Calls repeat requests that the relay temporarily refuses (status 429 and 503), and end with a result or a
/// ``RelayError`` within the policy's deadline plus one request's timeout.
///
/// With `let relay = Relay(pairing)`, a phone registers and sends itself a notification:
///
/// ```swift
/// var registration = Registration(token: token)
/// registration.bundleID = "com.example.app"
/// registration.environment = .sandbox
/// let outcome = try await relay.register(registration)
/// if case .challenged = outcome {
///     // The relay sends a push with a code: register again with it as `challengeCode`.
/// }
/// let result = try await relay.notify(VisibleNotification(title: "Hello"), to: token)
/// ```
public struct Relay: Sendable {
    let connection: RelayConnection
    let pairing: Pairing

    /// Creates the relay for a pairing.
    ///
    /// - Returns: `nil` if Foundation can't parse the relay's URL.
    public init?(
        _ pairing: Pairing, transport: any Transport = SessionTransport(), policy: RetryPolicy = RetryPolicy()
    ) {
        guard let url = URL(string: pairing.relayURL) else { return nil }
        self.init(pairing, RelayConnection(url: url, transport: transport, policy: policy))
    }

    init(_ pairing: Pairing, _ connection: RelayConnection) {
        self.pairing = pairing
        self.connection = connection
    }

    /// Registers a device, or updates its registration.
    ///
    /// - Parameter registrationKey: For relays that require one.
    public func register(
        _ registration: Registration, registrationKey: String? = nil
    ) async throws(RelayError) -> Registration.Outcome {
        let members = registration.members(opens: pairing.key != nil)
        let (status, body) = try await connection.post(
            "v1/device/register", [secret] + members, bearer: registrationKey)
        guard status == 202 else {
            let ignored = (body["ignored"]?.array ?? []).compactMap(\.string)
            return ignored.isEmpty ? .registered : .registeredExcept(ignored)
        }
        return .challenged(id: body["challengeID"]?.string ?? "", expiresIn: body["expiresIn"]?.integer ?? 0)
    }

    /// Removes a device; also succeeds if it isn't registered.
    public func unregister(_ token: DeviceToken) async throws(RelayError) {
        _ = try await connection.post(
            "v1/device/unregister", [secret, JSONValue.Member("deviceToken", .string(token.hex))])
    }

    /// The devices registered under the pairing's secret, oldest first.
    public func devices() async throws(RelayError) -> [RegisteredDevice] {
        let (_, body) = try await connection.post("v1/device/list", [secret])
        return (body["devices"]?.array ?? []).compactMap { RegisteredDevice($0) }
    }

    /// Changes which pushes a registered device wants.
    public func setPreferences(
        _ preferences: Preferences, of registration: Registration
    ) async throws(RelayError) -> Registration.Outcome {
        var registration = registration
        registration.preferences = preferences
        return try await register(registration)
    }

    /// Seals an event and sends it to the pairing's devices; repeating this with the same message is safe.
    ///
    /// - Parameters:
    ///   - type: `complete`, `permission` or `error`.
    ///   - sessionID: The session's ID as the relay and Apple see it; see ``PairingSecret/privateSessionID(of:)``.
    public func send(
        _ message: SealedMessage, eventType type: String, sessionID: String
    ) async throws(RelayError) -> SendResult {
        var members = [secret]
        members.add("eventType", type)
        members.add("sessionID", sessionID)
        members.add("serverID", pairing.serverID)
        members.add("eventID", message.id)
        members.add("actions", message.properties.actions)
        members.add("sealed", try seal(message, type: type))
        return SendResult(try await connection.post("v1/event", members).body)
    }

    /// Sends a notification to the pairing's devices, or to one of them; repeating it with the same ID is safe.
    ///
    /// - Parameters:
    ///   - visible: What the relay and Apple can read, and what phones show if they can't open the sealed message. If
    ///     it has no actions, it gets the sealed message's actions, so that the relay can refuse others.
    ///   - sealed: What the phones show; its ``SealedMessage/id`` is the event's ID.
    ///   - eventID: The ID of a notification that isn't sealed; random if absent.
    public func notify(
        _ visible: VisibleNotification, sealed: SealedMessage? = nil, to token: DeviceToken? = nil,
        eventID: String? = nil
    ) async throws(RelayError) -> SendResult {
        var members = [secret]
        members.add("deviceToken", token?.hex)
        members.add("eventID", sealed?.id ?? eventID ?? UUID().uuidString)
        if let sealed { members.add("sealed", try seal(sealed, type: visible.kind ?? Envelope.defaultType)) }
        var visible = visible
        if visible.actions.isEmpty, let sealed { visible.actions = sealed.properties.actions }
        members.append(JSONValue.Member("notification", .object(visible.members)))
        return SendResult(try await connection.post("v1/notify", members).body)
    }

    /// Sends a test notification to one device, or to all of the pairing's devices; sealed if the pairing has a key.
    public func sendTestPush(to token: DeviceToken? = nil) async throws(RelayError) -> SendResult {
        let visible = VisibleNotification(
            title: "Test notification", body: "If you can read this, notifications work.")
        guard pairing.key != nil else { return try await notify(visible, to: token) }
        var message = SealedMessage(
            id: UUID().uuidString, sentAt: Int(Date().timeIntervalSince1970), title: visible.title,
            body: visible.body)
        message.serverID = pairing.serverID
        return try await notify(visible, sealed: message, to: token)
    }

    /// A page of what was sent to the pairing's devices, newest first.
    ///
    /// - Parameter cursor: The previous page's ``HistoryPage/next``.
    public func history(after cursor: String? = nil, limit: Int? = nil) async throws(RelayError)
        -> HistoryPage
    {
        var members = [secret]
        members.add("before", cursor)
        if let limit { members.append(JSONValue.Member("limit", .integer(limit))) }
        return HistoryPage(
            try await connection.post("v1/history/list", members).body, key: pairing.key)
    }

    /// Marks items in the history as read for all devices, and returns how many are unread now.
    ///
    /// - Parameter ids: The items; `nil` for all.
    public func markRead(_ ids: [String]? = nil) async throws(RelayError) -> Int {
        let items = ids.map { JSONValue.Member("ids", .array($0.map { .string($0) })) }
        let (_, body) = try await connection.post(
            "v1/history/read", [secret, items ?? JSONValue.Member("all", .bool(true))])
        return body["unread"]?.integer ?? 0
    }

    /// The member that every request contains.
    var secret: JSONValue.Member { JSONValue.Member("secret", .string(pairing.relaySecret)) }

    /// Seals a message under the pairing's key.
    func seal(_ message: SealedMessage, type: String) throws(RelayError) -> String {
        guard let key = pairing.key?.notificationKey else { throw .noKey }
        do throws(SealingFailure) {
            return try Envelope.seal(message, type: type, with: key)
        } catch {
            throw .unsealable(error)
        }
    }
}
