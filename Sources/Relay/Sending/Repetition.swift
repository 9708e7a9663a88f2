import APNs
import Storage

/// How a push is repeated until someone acknowledges its event.
struct Repetition: Sendable, Equatable {
    /// The number of seconds between two pushes.
    let every: Int
    /// How long the push is repeated, in seconds from the first push.
    let total: Int

    /// The text that represents the repetition in the event's digest.
    var text: String { "repeat \(every) \(total)" }

    /// The rule of the schedule that sends the repetitions.
    var rule: String { #"{"seconds":\#(every)}"# }

    /// The collapse ID that makes a repeated push replace the earlier ones on the device.
    static func collapseID(of eventID: String) -> CollapseID? {
        CollapseID("repeat-" + Digest256(of: Array(eventID.utf8)).hex.prefix(40))
    }
}

extension RequestFields {
    /// Reads the optional repetition of an event with this ID.
    func repetition(eventID: String?) throws(APIError) -> Repetition? {
        guard let fields = try object(.repeat) else { return nil }
        guard let every = try fields.integer(.repeatEvery, in: Bounds.repeatSeconds) else {
            throw APIError(.missingField, field: .repeatEvery)
        }
        guard let total = try fields.integer(.repeatFor, in: Bounds.repeatTotalSeconds) else {
            throw APIError(.missingField, field: .repeatFor)
        }
        guard total >= every else {
            throw APIError(.invalidField, field: .repeatFor, hint: "It must not be shorter than every.")
        }
        guard eventID != nil else {
            throw APIError(
                .missingField, field: .eventID, hint: "repeat needs an eventID, by which it is acknowledged.")
        }
        guard try flag(.async) != true else {
            throw APIError(.invalidField, field: .repeat, hint: "An async event can't be repeated.")
        }
        return Repetition(every: every, total: total)
    }
}
