import APNs
import JSON

extension NotificationContent {
    /// Checks the fields of a request's body.
    init(body fields: RequestFields) throws(APIError) {
        let notification = try fields.notification()
        try self.init(
            notification, sealed: try fields.sealed(), isShortened: try fields.flag(.shorten) ?? true)
    }
}

extension RequestFields {
    /// The notification's fields, including texts that senders unable to write nested objects put next to the object.
    fileprivate func notification() throws(APIError) -> RequestFields {
        let nested = try optional(.notification, \.object)
        var members = nested ?? JSON.Object()
        var hasText = false
        for field in [RequestField.title, .subtitle, .body] {
            guard let text = try shownText(field) else { continue }
            hasText = true
            if let other = members[field.rawValue], other != "" {
                throw APIError(
                    .invalidField, field: field,
                    hint: "Send \(field.rawValue) either inside notification or next to it, not both.")
            }
            members[field.rawValue] = .string(text)
        }
        guard nested != nil || hasText else {
            throw APIError(
                .missingField, field: .notification,
                hint: "Send a notification object, or a title, subtitle or body.")
        }
        return RequestFields(members, within: .notification)
    }
}

extension APS.Sound {
    /// Reads a sound's name or Apple's dictionary; `nil` for anything else.
    init?(_ value: JSON.Value) {
        guard let name = value.string ?? value["name"]?.string,
            (1...Bounds.identifierBytesMax).contains(name.utf8.count), !name.utf8.contains(0)
        else { return nil }
        guard value.object != nil else {
            self.init(name: name)
            return
        }
        var isCritical: Bool?
        if let critical = value["critical"] {
            guard let critical = critical.bool else { return nil }
            isCritical = critical
        }
        var volume: JSON.Number?
        if let given = value["volume"] {
            guard let number = given.number, let size = number.double, (0...1).contains(size) else {
                return nil
            }
            volume = number
        }
        self.init(name: name, isCritical: isCritical, volume: volume)
    }
}
