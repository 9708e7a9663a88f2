import HTTP2
import HTTP2Testing
import Network
import Testing

@testable import WebPush

/// Runs the sender against an HTTP/2 server that handles each request as a test says.
@Suite("The sender over HTTP/2", .timeLimit(.minutes(2)))
struct SenderHTTP2Tests {
    /// A server and a sender on one loop.
    private struct Pair {
        let server: ScriptedServer
        let sender: Sender

        init(
            on loop: EventLoop, limits: ServerLimits = ServerLimits(),
            _ change: (inout SenderSettings) -> Void = { _ in }
        ) throws {
            let files = try CertificateFiles()
            server = try ScriptedServer(on: loop, certificate: files, limits: { limits })
            server.onRequest = { Self.answer($0) }
            var settings = SenderSettings()
            settings.caFile = files.certificate
            settings.pushTimeout = .seconds(60)
            settings.connectTimeout = .seconds(30)
            change(&settings)
            let port = server.endpoint.port
            sender = Sender(
                tokens: VAPIDTokenSource(subject: try VAPIDSubject("mailto:push@example.com")),
                hosts: try HostRule(more: ["localhost:\(port)", "127.0.0.1:\(port)"]), on: loop,
                settings: settings, random: { 0.5 })
        }

        func push(_ host: String = "127.0.0.1") throws -> Push {
            try Service.push(to: "https://\(host):\(server.endpoint.port)/push")
        }

        /// Sends the given number of pushes and returns whether all were accepted.
        func accepts(_ count: Int, on loop: isolated EventLoop) async throws -> Bool {
            let outcomes = await sender.send(Array(repeating: try push(), count: count), on: loop)
            return outcomes.allSatisfy { $0 == .accepted }
        }

        static func answer(_ request: ScriptedServer.Incoming) {
            request.connection.respond(to: request.stream, HeaderFields(status: 201))
        }

        func stop() async {
            await sender.stop(deadline: .seconds(5))
            server.close()
        }
    }

    @Test("no answer costs a RST_STREAM, for which servers close connections")
    func resets() async throws {
        try await withLoop { loop in
            var limits = ServerLimits()
            limits.resetBurst = 1
            limits.resetsPerSecond = 1
            let pair = try Pair(on: loop, limits: limits)
            #expect(try await pair.accepts(300, on: loop))
            #expect(pair.server.acceptedCount == 1)
            await pair.stop()
        }
    }

    @Test("pushes that a GOAWAY or REFUSED_STREAM leaves unprocessed are sent again, and no others")
    func moves() async throws {
        try await withLoop { loop in
            let pair = try Pair(on: loop)
            var received = 0
            var answered = 0
            var last: StreamID?
            pair.server.onRequest = { request in
                received += 1
                // Requests after the first connection's last stream may have been read together with it.
                if let last, request.connectionIndex == 0, request.stream > last { return }
                switch received {
                case 10:
                    last = StreamID(rawValue: request.stream.rawValue - 2)
                    request.connection.goAway(.noError, lastStreamID: last)
                case 30...40: request.refuse()
                default:
                    answered += 1
                    Pair.answer(request)
                }
            }
            #expect(try await pair.accepts(200, on: loop))
            #expect(answered == 200)
            #expect(received > 200)
            await pair.stop()
        }
    }

    @Test("a push that is always refused fails, unsent, after some attempts")
    func alwaysRefused() async throws {
        try await withLoop { loop in
            let pair = try Pair(on: loop)
            var received = 0
            pair.server.onRequest = {
                received += 1
                $0.refuse()
            }
            #expect(await pair.sender.send(try pair.push()) == .unreachable(.notSent, .connectionClosed))
            // A connection may be opened before the last connection that refused has closed.
            let settings = pair.sender.settings
            #expect((settings.failuresBeforeRefusing...settings.movesMax + 1).contains(received))
            await pair.stop()
        }
    }

    @Test("a limit of one stream is kept", arguments: [1, 3])
    func limit(_ streams: UInt32) async throws {
        try await withLoop { loop in
            var limits = ServerLimits()
            limits.concurrentStreams = streams
            let pair = try Pair(on: loop, limits: limits) { $0.connectionsPerHostMax = 2 }
            var refused = 0
            pair.server.onEvent = { _, event in if case .aborted = event { refused += 1 } }
            #expect(try await pair.accepts(50, on: loop))
            #expect(refused == 0)
            #expect(pair.server.acceptedCount == 2)
            await pair.stop()
        }
    }

    @Test("pushes wait while a service allows no streams, and start when it does")
    func noStreams() async throws {
        try await withLoop { loop in
            var limits = ServerLimits()
            limits.concurrentStreams = 0
            let pair = try Pair(on: loop, limits: limits) { $0.connectionsPerHostMax = 1 }
            var opened = false
            pair.server.onEvent = { connection, event in
                guard event == .settingsAcknowledged, !opened else { return }
                opened = true
                connection.setMaxConcurrentStreams(5)
            }
            #expect(try await pair.accepts(20, on: loop))
            #expect(opened)
            await pair.stop()
        }
    }

    @Test("a connection that has died is left before its pushes time out")
    func dead() async throws {
        try await withLoop { loop in
            let pair = try Pair(on: loop) {
                $0.silenceBeforePing = .milliseconds(100)
                $0.silenceMax = .milliseconds(300)
                $0.checkInterval = .milliseconds(20)
            }
            #expect(await pair.sender.send(try pair.push()) == .accepted)
            pair.server.connections.first?.stall()
            #expect(await pair.sender.send(try pair.push()) == .unreachable(.unknown, .connectionClosed))
            #expect(await pair.sender.send(try pair.push()) == .accepted)
            #expect(pair.server.acceptedCount == 2)
            await pair.stop()
        }
    }

    @Test("a service that is slow but answers PINGs keeps its connection")
    func slow() async throws {
        try await withLoop { loop in
            let pair = try Pair(on: loop) {
                $0.silenceBeforePing = .milliseconds(50)
                $0.silenceMax = .milliseconds(5_000)
                $0.checkInterval = .milliseconds(10)
            }
            var timer: Timer?
            pair.server.onRequest = { request in
                timer = Timer(on: loop) { Pair.answer(request) }
                timer?.schedule(after: .milliseconds(500))
            }
            #expect(await pair.sender.send(try pair.push()) == .accepted)
            #expect(timer != nil)
            #expect(pair.server.acceptedCount == 1)
            await pair.stop()
        }
    }

    @Test("an idle connection is closed after a while")
    func idle() async throws {
        try await withLoop { loop in
            let pair = try Pair(on: loop) {
                $0.idleMax = .milliseconds(50)
                $0.checkInterval = .milliseconds(10)
            }
            #expect(await pair.sender.send(try pair.push()) == .accepted)
            #expect(await pair.server.watch.wait(on: loop) { pair.server.connections.isEmpty })
            #expect(await pair.sender.send(try pair.push()) == .accepted)
            #expect(pair.server.acceptedCount == 2)
            await pair.stop()
        }
    }

    @Test("a host that stalls with all its connections and pushes delays no other host")
    func stalling() async throws {
        try await withLoop { loop in
            let pair = try Pair(on: loop) { $0.streamsPerConnectionMax = 10 }
            pair.server.onRequest = { request in
                if request.request.fields.string(":authority")?.hasPrefix("localhost") == true { return }
                Pair.answer(request)
            }
            var stalled: [Outcome] = []
            for _ in 0..<200 { pair.sender.send(try pair.push("localhost")) { stalled.append($0) } }
            #expect(try await pair.accepts(100, on: loop))
            #expect(stalled.isEmpty)
            await pair.sender.stop(deadline: .milliseconds(50))
            #expect(stalled.count == 200)
            pair.server.close()
        }
    }
}
