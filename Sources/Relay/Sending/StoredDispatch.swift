import APNs
import Instruments
import JSON
import Storage

/// A dispatch that is sent later, stored as the content of a schedule's row.
struct StoredDispatch: Sendable, Equatable {
    let content: StoredContent
    /// The receipt's `eventID`; `nil` if each occurrence has its own.
    private(set) var eventID: String?
    /// The `eventID` by which the repeated event is acknowledged; `nil` if this isn't a repetition.
    private(set) var original: String?
    /// The `eventID` by which the event whose push was deferred is acknowledged; `nil` if it had none.
    private(set) var heldEvent: String?
    /// The `id` of the only recipient's registration; `nil` for all devices.
    var deviceID: String?
    /// The only recipient's token; `nil` for all devices.
    private(set) var token: DeviceToken?
    /// Whether the dispatch is sent after a delay rather than at a given time.
    private(set) var isDelay = false
    /// The trace context of the request that stored the dispatch; `nil` if the request wasn't traced.
    private(set) var origin: TraceContext? = SpanRecorder.current?.place

    /// Creates a dispatch that sends a request's content later.
    init(_ content: StoredContent, to token: DeviceToken? = nil, isDelay: Bool = false) {
        self.content = content
        self.token = token
        self.isDelay = isDelay
    }

    /// Creates the stored form of a dispatch that is sent after its request; `nil` if it can't be stored.
    init?(_ dispatch: Dispatch) {
        guard let content = dispatch.content.stored else { return nil }
        self.init(content, to: dispatch.audience.token)
        if case .registration(let id) = dispatch.audience { deviceID = id }
        eventID = dispatch.origin.receiptID
    }

    /// Creates a dispatch for an event's later pushes.
    init?(_ dispatch: Dispatch, repeating event: String) {
        self.init(dispatch)
        eventID = nil
        original = event
    }

    /// Creates a dispatch for a device's push that waits for the end of the device's quiet hours.
    init?(_ dispatch: Dispatch, waitingFor device: Device) {
        guard let content = dispatch.content.stored else { return nil }
        self.init(content)
        deviceID = device.id
        heldEvent = dispatch.origin.event
        if let event = heldEvent, dispatch.content.collapseID == Repetition.collapseID(of: event) {
            original = event
        }
    }

    // MARK: As JSON

    /// Reads a row's content; `nil` if this relay doesn't understand it.
    init?(json: String) {
        let value = try? JSON.parse(
            Array(json.utf8), maxBytes: StorageLimits.scheduleContentBytes, loneSurrogates: .replaced)
        guard let value, let target = value["route"]?.string.flatMap(StoredContent.Target.init(rawValue:)),
            let body = value["body"]?.object
        else { return nil }
        self.init(
            StoredContent(target: target, body: body),
            to: value["token"]?.string.flatMap(DeviceToken.init), isDelay: value["in"]?.bool ?? false)
        eventID = value["eventID"]?.string
        deviceID = value["device"]?.string
        original = value["of"]?.string
        heldEvent = value["heldOf"]?.string
        origin = value["trace"]?.string.flatMap { TraceContext($0.utf8) }
    }

    /// The row's content.
    var json: String {
        var object = JSON.Object()
        object["route"] = .string(content.target.rawValue)
        object["body"] = .object(content.body)
        if let eventID { object["eventID"] = .string(eventID) }
        if let deviceID { object["device"] = .string(deviceID) }
        if let token { object["token"] = .string(token.text) }
        if isDelay { object["in"] = true }
        if let original { object["of"] = .string(original) }
        if let heldEvent { object["heldOf"] = .string(heldEvent) }
        if let origin { object["trace"] = .string(origin.header) }
        return String(decoding: JSON.Value.object(object).encoded(), as: UTF8.self)
    }

    // MARK: Sending

    /// The `eventID` by which the event is acknowledged; `nil` if the event has none before it is sent.
    var knownEvent: String? { original ?? heldEvent ?? eventID }

    /// The origin of an occurrence, for a schedule of this kind.
    ///
    /// - Parameter receiptID: The `eventID` of the occurrence's own receipt.
    func origin(_ kind: ScheduleKind, receiptID: String) -> Origin {
        switch kind {
        case .schedule: .schedule(receiptID: receiptID)
        case .async: .asynchronous(receiptID: eventID ?? receiptID)
        case .repeat: .repetition(of: original ?? receiptID, receiptID: receiptID)
        case .held: .quietHours(of: original ?? heldEvent, receiptID: receiptID)
        }
    }

    /// The recipients of an occurrence.
    ///
    /// - Parameter zones: The names of the time zones whose devices get the occurrence; `nil` for all devices.
    func audience(in zones: Set<String>?) -> Audience {
        if let deviceID { return .registration(id: deviceID) }
        if let zones { return .zones(zones, only: token) }
        return token.map { .token($0) } ?? .all
    }

    /// The content, after the same checks as in a request.
    ///
    /// - Parameter event: The `eventID` by which the event is acknowledged.
    func checked(_ rules: RequestRules, acknowledgedAs event: String) throws(APIError) -> any PushContent {
        let fields = RequestFields(content.body)
        switch content.target {
        case .event:
            var content = try EventContent(fields)
            content.name(event, isRepeated: original != nil)
            try content.checkSize(sounds: rules.sounds)
            return content
        case .notify:
            var notification = try NotificationContent(body: fields)
            if let original { notification.repeats(original) }
            try notification.checkBadge(rules)
            return notification
        }
    }
}
