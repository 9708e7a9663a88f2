import JSON

/// A request that rang, as stored in the queue's file: without its text.
struct RungRequest: Sendable, Equatable {
    let request: Request
    let eventID: String
    /// Whether the notification let phones answer the request's questions.
    var offersAnswers = false
}

extension RungRequest {
    func write(to writer: inout JSON.Writer) {
        writer.beginObject()
        writer.member("event", eventID)
        writer.member("id", request.id)
        writer.member("session", request.session.text)
        writer.member("kind", request.kind.rawValue)
        writer.member("digest", request.digest)
        if let directory = request.directory { writer.member("directory", directory) }
        if request.api == .second { writer.member("api", 2) }
        if offersAnswers { writer.member("answers", true) }
        writer.endObject()
    }

    /// Reads what ``write(to:)`` wrote.
    init?(_ object: JSON.Value) {
        guard let eventID = object.identifier("event"), let id = object.identifier("id"),
            let session = object.sessionID("session"),
            let kind = object["kind"]?.string.flatMap(Request.Kind.init),
            let digest = object["digest"]?.string
        else { return nil }
        var request = Request(id: id, session: session, kind: kind)
        request.directory = object.identifier("directory")
        request.api = object["api"]?.int == 2 ? .second : nil
        request.digest = digest
        self.init(
            request: request, eventID: eventID, offersAnswers: object["answers"]?.bool == true)
    }
}
