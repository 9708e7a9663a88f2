package import HTTPServer
import JSON

/// Encodes responses to Web Pushes as a vendor does.
package enum WebPushWriter {
    /// Mozilla's errno for errors that have no errno of their own.
    private static let mozillaUnknown = 999

    /// The HTTP response.
    ///
    /// - Parameters:
    ///   - vendor: `nil` if the path belongs to no vendor.
    ///   - id: Identifies the stored message.
    ///   - timeToLive: The push's `TTL`, if it is valid.
    package static func response(
        _ answer: ScriptedAnswer, by vendor: WebPushVendor?, id: MessageID, timeToLive: Int?, origin: String
    ) -> Response {
        var response = Response(status: Status(rawValue: answer.status))
        if answer.status == 201 {
            response.headers.append("Location", "\(origin)/m/\(id)")
            let applied = min(timeToLive ?? 0, WebPushVendor.timeToLiveMax)
            response.headers.append("TTL", String(applied))
        }
        if let seconds = answer.retryAfter { response.headers.append("Retry-After", String(seconds)) }
        switch vendor {
        case .apple: response.headers.append("apns-id", id.description)
        case .microsoft:
            response.headers.append("X-WNS-MSG-ID", id.description)
            response.headers.append("X-WNS-STATUS", microsoftStatus(answer.status))
            if answer.body == .reason, let reason = answer.reason {
                response.headers.append("X-WNS-ERROR-DESCRIPTION", reason)
            }
        case .google, .mozilla, .unifiedpush, nil: break
        }
        let (type, body) = content(of: answer, by: vendor, id: id)
        if !body.isEmpty { response.headers.append("Content-Type", type) }
        response.body = body
        return response
    }

    private static func microsoftStatus(_ status: Int) -> String {
        switch status {
        case 200..<300: "received"
        case 406, 429: "channelthrottled"
        default: "dropped"
        }
    }

    private static func content(
        of answer: ScriptedAnswer, by vendor: WebPushVendor?, id: MessageID
    ) -> (type: String, body: [UInt8]) {
        let json = "application/json"
        let plain = "text/plain; charset=utf-8"
        switch answer.body {
        case .none: return (plain, [])
        case .text(let text): return (plain, Array(text.utf8))
        case .reason: break
        }
        switch vendor {
        case .apple: return (json, AnswerWriter.body(of: answer))
        case .google, nil: return (plain, answer.reason.map { Array(($0 + "\n").utf8) } ?? [])
        case .mozilla: return (json, answer.reason.map { mozilla($0, answer.status) } ?? [])
        case .microsoft: return (plain, [])
        case .unifiedpush: return (json, ntfy(answer, id))
        }
    }

    /// Source: autopush-rs, autoendpoint/src/error.rs.
    ///
    /// - Parameter reason: The errno and the message, or one of them.
    private static func mozilla(_ reason: String, _ status: Int) -> [UInt8] {
        let parts = reason.split(separator: " ", maxSplits: 1)
        let number = parts.first.flatMap { Int($0) }
        let message = number == nil ? reason : parts.count == 2 ? String(parts[1]) : ""
        let value: JSON.Value = [
            "code": .int(status), "errno": .int(number ?? mozillaUnknown),
            "error": .string(Status(rawValue: status).reason),
            "message": .string(message),
            "more_info": "http://autopush.readthedocs.io/en/latest/http.html#error-codes",
        ]
        return value.encoded()
    }

    private static func ntfy(_ answer: ScriptedAnswer, _ id: MessageID) -> [UInt8] {
        guard answer.status >= 300 || answer.reason != nil else {
            let value: JSON.Value = ["id": .string(id.description), "event": "message"]
            return value.encoded()
        }
        let value: JSON.Value = [
            "code": .int(answer.status * 100 + 1), "http": .int(answer.status),
            "error": .string(answer.reason ?? Status(rawValue: answer.status).reason),
        ]
        return value.encoded()
    }
}
