import Glibc
import HTTP2Testing
import JSON
import Network
import Testing
import WebPush

/// A push service in a separate process (`push-service.mjs`), and the requests that it received.
struct Service {
    let port: UInt16
    let caFile: String
    private let program: RunningProgram

    init(_ mode: String, _ files: CertificateFiles) throws {
        caFile = files.certificate
        let folder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        program = try ExternalProgram.node.start([
            folder + "/push-service.mjs", files.certificate, files.key, mode,
        ])
        port = try #require(UInt16(program.readLine()))
    }

    /// Ends the service and returns what it received.
    @discardableResult
    func stop() throws -> JSON.Value { try JSON.parse(Array(program.stop().utf8), maxBytes: 100_000) }

    func url(_ path: String) -> String { "https://localhost:\(port)\(path)" }

    /// A sender that may send to the service.
    func sender(
        on loop: EventLoop, hosts: [String] = [], _ change: (inout SenderSettings) -> Void = { _ in }
    ) throws -> Sender {
        var settings = SenderSettings()
        settings.caFile = caFile
        // The machine may be slow; tests for deadlines set a shorter timeout.
        settings.pushTimeout = .seconds(60)
        settings.connectTimeout = .seconds(30)
        change(&settings)
        return Sender(
            tokens: VAPIDTokenSource(subject: try VAPIDSubject("mailto:push@example.com")),
            hosts: try HostRule(more: ["localhost:\(port)"] + hosts), on: loop, settings: settings,
            random: { 0.5 })
    }

    func push(_ path: String, _ text: String = "hello", topic: Topic? = nil) throws -> Push {
        try Self.push(to: url(path), text, topic: topic)
    }

    static func push(to url: String, _ text: String = "hello", topic: Topic? = nil) throws -> Push {
        Push(
            Message(
                payload: Array(text.utf8), handling: Handling(timeToLive: 60, urgency: .high, topic: topic)),
            to: Subscription(endpoint: try PushEndpoint(url), keys: try Fixture.keys()), key: key)
    }

    static let key = VAPIDKey()
}

extension Outcome {
    static func unreachable(_ processed: Unreachable.Processed, _ cause: Unreachable.Cause) -> Outcome {
        .unreachable(Unreachable(processed: processed, cause: cause))
    }
}

extension Sender {
    /// Sends pushes at once and waits for all outcomes.
    func send(_ pushes: [Push], on loop: isolated EventLoop) async -> [Outcome] {
        var outcomes: [Outcome] = []
        let watch = Watch(on: loop)
        for push in pushes {
            send(push) {
                outcomes.append($0)
                watch.changed()
            }
        }
        #expect(
            await watch.wait(on: loop, limit: .seconds(90)) { outcomes.count == pushes.count },
            "\(pushes.count - outcomes.count) pushes have no outcome")
        return outcomes
    }
}
