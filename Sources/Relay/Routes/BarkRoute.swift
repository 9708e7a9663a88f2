import HTTPServer
import JSON
import Programs
import Storage

/// Bark's `/push` and `/:key/…` (https://bark.day.app/#/en-us/tutorial): JSON, a form, or the path and its query.
///
/// The key is an access token. The relay never logs a key in a path, but a proxy may.
struct BarkRoute: DoorRoute {
    let services: LoopServices

    static func message(_ request: Request) throws(APIError) -> DoorMessage {
        let path = request.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
            PercentEscapes.decode($0) ?? ""
        }
        var values: [FormValues] = [FormValues(request.query)]
        var object = JSON.Object()
        if let form = FormValues(form: request) {
            values.append(form)
        } else if !request.body.isEmpty {
            object = try Self.object(request.body)
        }
        func value(_ name: String) -> String? {
            if let number = object[name]?.int { return String(number) }
            if let text = object[name]?.text { return text.isEmpty ? nil : text }
            return values.lazy.compactMap { $0[name.lowercased()] }.first
        }
        var message = DoorMessage()
        message.token = value("device_key") ?? object["device_keys"]?.array?.first?.string
        if let keys = object["device_keys"]?.array, keys.count > 1 {
            throw APIError(.invalidField, hint: "A token notifies all phones of its secret, so send one key.")
        }
        (message.title, message.subtitle) = (value("title"), value("subtitle"))
        message.body = value("body") ?? ""
        if path.first != "push" {
            message.token = path.first
            let texts = path.dropFirst().filter { !$0.isEmpty }
            switch texts.count {
            case 0: break
            case 1: message.body = texts[0]
            case 2: (message.title, message.body) = (texts[0], texts[1])
            default: (message.title, message.subtitle, message.body) = (texts[0], texts[1], texts[2])
            }
        }
        if object["ciphertext"] != nil || value("ciphertext") != nil {
            throw APIError(.invalidField, hint: "Bark's encrypted pushes can only be opened by Bark's app.")
        }
        if message.body.isEmpty, message.title == nil, message.subtitle == nil {
            message.body = "Empty Message"
        }
        switch value("level") {
        case "passive": message.urgency = .quiet
        case "timeSensitive", "critical": message.urgency = .urgent
        default: break
        }
        message.sound = value("sound").map { $0.contains(".") ? $0 : $0 + ".caf" }
        message.badge = value("badge").flatMap { Int($0) }
        message.kind = "bark"
        message.thread = value("group")
        message.collapseID = value("id")
        for name in ["url", "icon", "copy"] { message.data[name] = value(name).map { .string($0) } }
        return message
    }

    static func accepted(_: DoorMessage, id _: UUIDv7, at now: EpochMilliseconds) -> JSON.Value {
        ["code": 200, "message": "success", "timestamp": .int(now / 1_000)]
    }

    static func refused(_ error: APIError, at now: EpochMilliseconds) -> JSON.Value {
        [
            "code": .int(error.code.status), "message": .string(error.sentence),
            "timestamp": .int(now / 1_000),
        ]
    }
}
