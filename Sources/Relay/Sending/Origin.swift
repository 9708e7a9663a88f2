/// Where a dispatch comes from, which determines how it is treated.
enum Origin: Sendable, Equatable {
    /// A request whose caller is waiting for the result.
    case request(eventID: String?, Repetition? = nil)
    /// A request whose caller gets the response before the event is sent.
    case asynchronous(receiptID: String)
    /// An occurrence of a schedule.
    case schedule(receiptID: String)
    /// A later push for an event that nobody has acknowledged yet.
    case repetition(of: String, receiptID: String)
    /// The end of a device's quiet hours, for which an event's push was waiting.
    case quietHours(of: String?, receiptID: String)
    /// The acknowledgement of an event, whose notification apps then remove.
    case acknowledgement(receiptID: String)

    /// The `eventID` under which the dispatch is sent only once; `nil` if the sender gave none.
    var receiptID: String? {
        switch self {
        case .request(let eventID, _): eventID
        case .asynchronous(let id), .schedule(let id), .repetition(_, let id), .quietHours(_, let id),
            .acknowledgement(let id):
            id
        }
    }

    /// The `eventID` by which the event is acknowledged; `nil` if it can't be.
    var event: String? {
        switch self {
        case .repetition(let event, _), .quietHours(let event?, _): event
        case .request, .asynchronous, .schedule, .quietHours: receiptID
        case .acknowledgement: nil
        }
    }

    /// How the event is repeated until it is acknowledged.
    var repetition: Repetition? {
        if case .request(_, let repetition) = self { repetition } else { nil }
    }

    /// Whether the event is new to the tenant's history and to Live Activities.
    var isNew: Bool {
        switch self {
        case .request, .asynchronous, .schedule: true
        case .repetition, .quietHours, .acknowledgement: false
        }
    }

    /// Whether the dispatch counts as one of its tenant's events when it is sent; other dispatches were counted before.
    var isCounted: Bool {
        switch self {
        case .schedule, .repetition: true
        case .request, .asynchronous, .quietHours, .acknowledgement: false
        }
    }

    /// Whether the dispatch is retried if no push was accepted or stored, because no caller would learn of the failure.
    var isTriedAgain: Bool {
        switch self {
        case .asynchronous, .schedule, .repetition, .quietHours: true
        case .request, .acknowledgement: false
        }
    }
}
