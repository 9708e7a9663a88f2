import Testing

@testable import PushSealing

@Suite("Requests in sealed texts, and answers to them", .timeLimit(.minutes(1)))
struct RequestTests {
    private let secret = PairingSecret()

    private func message(_ members: String) throws -> SealedMessage {
        let request = try #require(JSONValue(parsing: Array(members.utf8)))
        return try SealedMessage(
            content: Array(#"{"i":"e","at":1,"t":"T","q":\#(request.text)}"#.utf8))
    }

    @Test("a request and its questions are read as they were written")
    func roundTrip() throws {
        var message = SealedMessage(id: "e", sentAt: 1, title: "T")
        var question = SealedMessage.Question(
            "Q?", heading: "H", options: [.init("a", detail: "x"), .init("b")])
        (question.isMultiple, question.allowsText, question.isOptional) = (true, true, true)
        var request = SealedMessage.Request()
        (request.end, request.isCut, request.questions) = (9, true, [question])
        message.request = request
        let sealed = try Envelope.seal(message, type: "permission", with: secret.notificationKey)
        #expect(try Envelope.open(sealed, type: "permission", with: [secret.notificationKey]) == message)
        let key = SealedReply.Key(secret)
        let reply = SealedReply(action: "answer", answers: [["a", "own"], []], sentAt: 1)
        #expect(
            try SealedReply(opening: try reply.sealed(for: "e", with: key), for: "e", with: [key]) == reply)
    }

    @Test("questions that can't be read aren't offered, and the text stays readable")
    func unreadable() throws {
        #expect(try message(#"{"f":[{"t":"Q?","w":true}]}"#).request?.questions.count == 1)
        for questions in [
            #"{}"#, #"[{"t":""}]"#, #"[{"t":"Q?"}]"#, #"[{"t":"Q?","w":true},1]"#,
            #"[{"t":"Q?","o":[{"l":""}]}]"#, #"[{"t":"Q?","o":[{"l":"a"},{"l":"a"}]}]"#,
        ] {
            let read = try message(#"{"end":5,"f":\#(questions)}"#)
            #expect(read.request?.questions == [] && read.request?.end == 5)
        }
        #expect(throws: Refusal.badContent) { try message("[]") }
    }
}
