import HTTPServer
import JSON
import Programs
import Storage

/// Gotify's `POST /message` (https://gotify.net/api-docs): JSON or a form, with an application token.
struct GotifyRoute: DoorRoute {
    let services: LoopServices

    static func message(_ request: Request) throws(APIError) -> DoorMessage {
        let query = FormValues(request.query)
        var message = DoorMessage()
        message.token =
            request.headers["X-Gotify-Key"] ?? query["token"]
            ?? token(authorization: request.headers["Authorization"])
        var object = JSON.Object()
        if let form = FormValues(form: request) {
            for name in ["message", "title"] { object[name] = form[name].map { .string($0) } }
            object["priority"] = form["priority"].flatMap { Int($0) }.map { .int($0) }
        } else {
            object = try Self.object(request.body)
        }
        guard let body = object["message"]?.text, !body.isEmpty else {
            throw APIError(.missingField, hint: "Gotify's message must be a non-empty string.")
        }
        message.body = body
        message.title = object["title"]?.text
        let priority = object["priority"]?.int ?? 5
        // As in Gotify's app: a priority of 0 makes no sound, and one of 8 or more is urgent.
        message.urgency = priority <= 0 ? .quiet : priority >= 8 ? .urgent : .normal
        message.kind = "gotify"
        let click = object["extras"]?["client::notification"]?["click"]?["url"]?.string
        message.data["url"] = click.map { .string($0) }
        message.shown["message"] = .string(body)
        message.shown["title"] = .string(message.title ?? "")
        message.shown["priority"] = .int(priority)
        return message
    }

    static func accepted(_ message: DoorMessage, id: UUIDv7, at now: EpochMilliseconds) -> JSON.Value {
        var answer = JSON.Object()
        // Gotify's IDs are numbers.
        answer["id"] = .int(now)
        answer["appid"] = 1
        for member in message.shown.members { answer[member.name] = member.value }
        answer["date"] = .string(Timestamp(now).text)
        return .object(answer)
    }

    static func refused(_ error: APIError, at _: EpochMilliseconds) -> JSON.Value {
        [
            "error": .string(error.code.rawValue), "errorCode": .int(error.code.status),
            "errorDescription": .string(error.sentence),
        ]
    }
}
