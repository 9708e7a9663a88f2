internal import Foundation
public import PushSealing

/// A relay, as one pairing uses it.
///
/// Calls repeat requests that the relay refuses for now (status 429 and 503), and end with a result or a
/// ``RelayError`` within the policy's deadline and one request's timeout.
public struct Relay: Sendable {
    let connection: RelayConnection
    private let pairing: Pairing

    /// The relay of a pairing.
    ///
    /// - Returns: `nil` if its URL isn't one for Foundation.
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

    /// Registers a device, or tells the relay what is new about it.
    ///
    /// - Parameter registrationKey: For relays that require one.
    public func register(
        _ registration: Registration, registrationKey: String? = nil
    ) async throws(RelayError) -> Registration.Outcome {
        let members = registration.members(opens: pairing.key != nil)
        let (status, body) = try await connection.post(
            "v1/device/register", [secret] + members, bearer: registrationKey)
        guard status == 202 else { return .registered }
        return .challenged(id: body["challengeID"]?.string ?? "", expiresIn: body["expiresIn"]?.integer ?? 0)
    }

    /// Removes a device; also succeeds if it isn't registered.
    public func unregister(_ token: DeviceToken) async throws(RelayError) {
        _ = try await connection.post(
            "v1/device/unregister", [secret, JSONValue.Member("deviceToken", .string(token.hex))])
    }

    /// The devices under the pairing's secret, oldest first.
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

    /// Sends an event to the pairing's devices, sealed; repeating it with the same message is safe.
    ///
    /// - Parameters:
    ///   - type: `complete`, `permission` or `error`.
    ///   - sessionID: What the relay and Apple see; see ``PairingSecret/privateSessionID(of:)``.
    public func send(
        _ message: SealedMessage, eventType type: String, sessionID: String
    ) async throws(RelayError) -> SendResult {
        var members = [secret]
        members.add("eventType", type)
        members.add("sessionID", sessionID)
        members.add("serverID", pairing.serverID)
        members.add("eventID", message.id)
        members.add("sealed", try seal(message, type: type))
        return SendResult(try await connection.post("v1/event", members).body)
    }

    /// Sends a test notification to one device, or to all of the pairing; sealed if the pairing has a key.
    public func sendTestPush(to token: DeviceToken? = nil) async throws(RelayError) -> SendResult {
        let (title, text) = ("Test notification", "If you can read this, notifications work.")
        var notification: [JSONValue.Member] = []
        notification.add("title", title)
        notification.add("body", text)
        notification.add("sound", "default")
        var members = [secret]
        members.add("deviceToken", token?.hex)
        let id = UUID().uuidString
        members.add("eventID", id)
        if pairing.key != nil {
            var message = SealedMessage(
                id: id, sentAt: Int(Date().timeIntervalSince1970), title: title, body: text)
            message.serverID = pairing.serverID
            members.add("sealed", try seal(message, type: Envelope.defaultType))
        }
        members.append(JSONValue.Member("notification", .object(notification)))
        return SendResult(try await connection.post("v1/notify", members).body)
    }

    /// A page of what was sent to the pairing's devices, newest first.
    ///
    /// - Parameter cursor: The page before's ``HistoryPage/next``.
    public func history(after cursor: String? = nil, limit: Int? = nil) async throws(RelayError)
        -> HistoryPage
    {
        var members = [secret]
        members.add("before", cursor)
        if let limit { members.append(JSONValue.Member("limit", .integer(limit))) }
        return HistoryPage(try await connection.post("v1/history/list", members).body)
    }

    /// Marks items of the history as read for all devices, and returns how many are unread now.
    ///
    /// - Parameter ids: The items; `nil` for all.
    public func markRead(_ ids: [String]? = nil) async throws(RelayError) -> Int {
        let items = ids.map { JSONValue.Member("ids", .array($0.map { .string($0) })) }
        let (_, body) = try await connection.post(
            "v1/history/read", [secret, items ?? JSONValue.Member("all", .bool(true))])
        return body["unread"]?.integer ?? 0
    }

    /// Tells the sender of an event that somebody has seen it.
    public func acknowledge(_ eventID: String) async throws(RelayError) {
        var members = [secret]
        members.add("eventID", eventID)
        _ = try await connection.post("v1/ack", members)
    }

    /// Replies to an event; sealed if the pairing has a key.
    ///
    /// - Parameter eventID: A sealed event's own ``SealedMessage/id``, or ``PushPayload/eventID``.
    /// - Throws: ``RelayError``, with the code `already_replied` if another reply came first.
    public func reply(_ reply: SealedReply, to eventID: String) async throws(RelayError) {
        var members = [secret]
        members.add("eventID", eventID)
        if let key = pairing.key {
            do throws(SealingFailure) {
                members.add("sealed", try reply.sealed(for: eventID, with: SealedReply.Key(key)))
            } catch {
                throw .unsealable(error)
            }
        } else {
            members.add("action", reply.action)
            members.add("text", reply.text)
        }
        _ = try await connection.post("v1/reply", members)
    }

    /// The member that every request has.
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
