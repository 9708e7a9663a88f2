import HTTP2Testing
import JSON
import Network
import Testing
import WebPush

/// The example in the module's documentation, line by line.
@Suite("Example of WebPush", .timeLimit(.minutes(2)))
struct ExampleTests {
    @Test("a sender sends a push")
    func sender() async throws {
        try await withLoop { loop in
            let service = try Service("h2", try CertificateFiles())
            let hosts = try HostRule(more: ["localhost:\(service.port)"])
            var settings = SenderSettings()
            settings.caFile = service.caFile
            settings.pushTimeout = .seconds(60)
            let subscription = try service.push("/ok").subscription
            let key = VAPIDKey()

            let tokens = VAPIDTokenSource(subject: try VAPIDSubject("mailto:push@example.com"))
            let sender = Sender(tokens: tokens, hosts: hosts, on: loop, settings: settings)
            let message = Message(
                payload: Array("Build finished".utf8), handling: Handling(timeToLive: 3_600, urgency: .high))
            let outcome = await sender.send(Push(message, to: subscription, key: key))
            switch outcome {
            case .accepted: break
            case .rejected(let rejection): print("Refused: \(rejection.name)")
            case .unreachable(let unreachable): print("No answer: \(unreachable.cause.rawValue)")
            }
            await sender.stop(deadline: .seconds(5))

            #expect(outcome == .accepted)
            #expect(try service.stop()["requests"]?.int == 1)
        }
    }
}
