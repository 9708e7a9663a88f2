import APNs
import HTTP2
import HTTP2Testing
import Network
import Testing

/// Failures between client and server: no push may be lost, and none accepted twice.
@Suite("The client with failing servers", .timeLimit(.minutes(5)))
struct ClientTroubleTests {
    @Test("the stream limit rises from 1 to 1000 under load")
    func raised() async throws {
        try await withLoop { loop in
            var limits = ServerLimits()
            limits.concurrentStreams = 1
            let fixture = try ClientFixture(on: loop, limits: limits) { $0.connectionsMax = 1 }
            var held: [ScriptedServer.Incoming] = []
            var answered = 0
            fixture.server.onRequest = { incoming in
                guard answered >= 20 else {
                    answered += 1
                    incoming.answer()
                    if answered == 20 { incoming.connection.setMaxConcurrentStreams(1000) }
                    return
                }
                held.append(incoming)
                guard held.count == 300 else { return }
                for incoming in held { incoming.answer() }
                fixture.server.onRequest = { $0.answer() }
            }
            try fixture.send(2000)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 2000])
            #expect(fixture.server.received.values.allSatisfy { $0 == 1 })
            #expect(fixture.server.acceptedCount == 1)
            await fixture.end(on: loop)
        }
    }

    @Test("the stream limit is lowered under load")
    func lowered() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) {
                $0.connectionsMax = 1
                $0.streamsPerConnectionMax = 100
            }
            var open = 0
            var hasLowered = false
            var isLow = false
            var mostAfterwards = 0
            fixture.server.onEvent = { _, event in
                if event == .settingsAcknowledged, hasLowered { isLow = true }
            }
            fixture.server.onRequest = { incoming in
                open += 1
                if isLow { mostAfterwards = max(mostAfterwards, open) }
                if fixture.server.received.count == 100 {
                    hasLowered = true
                    incoming.connection.setMaxConcurrentStreams(2)
                }
                loop.atTurnEnd {
                    open -= 1
                    incoming.answer()
                }
            }
            try fixture.send(1000)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 1000])
            #expect(mostAfterwards >= 1 && mostAfterwards <= 2)
            await fixture.end(on: loop)
        }
    }

    @Test("a limit lowered together with answers costs no connection")
    func loweredWithAnswers() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) {
                $0.connectionsMax = 1
                $0.streamsPerConnectionMax = 40
            }
            var limit: UInt32 = 40
            var held: [ScriptedServer.Incoming] = []
            fixture.server.onRequest = { incoming in
                held.append(incoming)
                guard held.count == limit || fixture.server.handled.isEmpty else { return }
                limit = limit == 40 ? 7 : 40
                incoming.connection.setMaxConcurrentStreams(limit)
                for incoming in held { incoming.answer() }
                held = []
            }
            // Each answer triggers the next push before the rest of the received bytes is processed.
            func sendOn(_ fixture: ClientFixture, _ outcome: Outcome) {
                if fixture.sent < 2000 { try? fixture.send(1, then: sendOn) }
            }
            try fixture.send(40, then: sendOn)
            #expect(await fixture.watch.wait(on: loop) { fixture.client.statistics.accepted > 500 })
            fixture.server.onRequest = { $0.answer() }
            for incoming in held { incoming.answer() }
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: fixture.sent])
            #expect(fixture.server.acceptedCount == 1)
            await fixture.end(on: loop)
        }
    }

    @Test("streams not processed because of GOAWAY are sent again on another connection")
    func goAway() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) { $0.failuresBeforeRefusing = 100 }
            let reason = Array(#"{"reason":"Shutdown"}"#.utf8)
            var inConnection: [Int: [ScriptedServer.Incoming]] = [:]
            fixture.server.onRequest = { incoming in
                var held = inConnection[incoming.connectionIndex] ?? []
                held.append(incoming)
                inConnection[incoming.connectionIndex] = held
                // The first three connections send GOAWAY after 30 requests, of which they have served 20.
                guard incoming.connectionIndex < 3 else { return incoming.answer() }
                if held.count <= 20 { incoming.answer() }
                if held.count == 30 {
                    incoming.connection.goAway(.noError, lastStreamID: held[19].stream, debugData: reason)
                }
            }
            try fixture.send(600)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 600])
            #expect(fixture.server.received.values.contains { $0 > 1 }, "nothing had to go again")
            #expect(fixture.client.statistics.goAways == ["Shutdown": 3])
            #expect(fixture.client.statistics.moved >= 30)
            #expect(fixture.events.contains(.goAway(.noError, reason: Reason(.shutdown))))
            await fixture.end(on: loop)
        }
    }

    @Test("no push is lost when a server announces its shutdown")
    func gracefulShutdown() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) {
                $0.connectionsMax = 1
                $0.streamsPerConnectionMax = 100
            }
            fixture.server.onRequest = { incoming in
                incoming.answer()
                if fixture.server.handled.count == 200 { incoming.connection.shutDown(deadline: .seconds(5)) }
            }
            try fixture.send(1000)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 1000])
            #expect(fixture.server.acceptedCount == 2)
            await fixture.end(on: loop)
        }
    }

    @Test("refused streams are sent again a limited number of times")
    func refused() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            fixture.server.onRequest = { incoming in
                let times = fixture.server.received[incoming.id] ?? 0
                if incoming.id == "push-7" || (times == 1 && incoming.id.hasSuffix("3")) {
                    incoming.refuse()
                } else {
                    incoming.answer()
                }
            }
            try fixture.send(300)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 299, .notSent(.streamRefused): 1])
            #expect(fixture.server.received["push-7"] == 1 + fixture.client.settings.movesMax)
            await fixture.end(on: loop)
        }
    }

    @Test("a push whose stream is reset may have been processed and is not sent again")
    func reset() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            fixture.server.onRequest = { incoming in
                guard incoming.id.hasSuffix("5") else { return incoming.answer() }
                incoming.swallow()
                incoming.connection.reset(incoming.stream, .internalError)
            }
            try fixture.send(200)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 180, .unknown(.streamReset): 20])
            #expect(fixture.server.received.values.allSatisfy { $0 == 1 })
            await fixture.end(on: loop)
        }
    }

    @Test(
        "a black-holed connection delays only its own pushes, by one timeout; others use another connection")
    func blackHole() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) {
                $0.silenceBeforePing = .milliseconds(500)
                $0.silenceMax = .seconds(2)
                $0.failuresBeforeRefusing = 1000
            }
            fixture.server.onRequest = { incoming in
                if incoming.connectionIndex == 0, fixture.server.handled.count == 50 {
                    incoming.swallow()
                    incoming.connection.stall()
                } else {
                    incoming.answer()
                }
            }
            // Ten at a time, so that most are still unsent when the connection goes dark.
            func sendOn(_ fixture: ClientFixture, _ outcome: Outcome) {
                if fixture.sent < 600 { try? fixture.send(1, then: sendOn) }
            }
            try fixture.send(10, then: sendOn)
            // Load that doesn't wait for responses continues while the connection is silent.
            _ = await fixture.watch.wait(on: loop) { fixture.sent >= 60 }
            try fixture.send(100)
            _ = await fixture.watch.wait(on: loop) { fixture.sent >= 600 }
            await fixture.settle(on: loop)
            fixture.expectSound()
            let lost = fixture.tally[.unknown(.connectionClosed)] ?? 0
            #expect(lost >= 1)
            #expect(fixture.tally[.accepted] == fixture.sent - lost)
            #expect(fixture.events.contains { if case .replaced(.silent) = $0 { true } else { false } })
            await fixture.end(on: loop)
        }
    }

    @Test(
        "a black-holed connection is replaced even if it is the only one allowed, and queued pushes continue")
    func blackHoleAlone() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) {
                $0.connectionsMax = 1
                $0.streamsPerConnectionMax = 10
                $0.silenceBeforePing = .milliseconds(500)
                $0.silenceMax = .seconds(2)
                $0.failuresBeforeRefusing = 1000
            }
            var requests: [Int: Int] = [:]
            var stalled: Int?
            fixture.server.onRequest = { incoming in
                let index = incoming.connectionIndex
                requests[index, default: 0] += 1
                if stalled == nil, requests[index] == 6 {
                    stalled = index
                    incoming.connection.stall()
                }
                if index != stalled { incoming.answer() }
            }
            try fixture.send(100)
            await fixture.settle(on: loop)
            fixture.expectSound()
            let lost = fixture.tally[.unknown(.connectionClosed)] ?? 0
            let unanswered = fixture.events.compactMap { event -> Int? in
                if case .replaced(.silent(let count)) = event { count } else { nil }
            }
            // On a slow machine, a connection that isn't stalled may seem silent, too.
            #expect(unanswered.contains(10))
            #expect(lost == unanswered.reduce(0, +))
            #expect(fixture.tally[.accepted] == 100 - lost)
            await fixture.end(on: loop)
        }
    }

    @Test("only pushes on the connection fail when it breaks")
    func cut() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) {
                $0.connectionsMax = 1
                $0.streamsPerConnectionMax = 20
            }
            fixture.server.onRequest = { incoming in
                if fixture.server.handled.count == 100 {
                    incoming.swallow()
                    incoming.connection.close()
                } else if incoming.connection.channel?.isClosed == false {
                    incoming.answer()
                }
            }
            try fixture.send(500)
            await fixture.settle(on: loop)
            fixture.expectSound()
            let lost = fixture.tally[.unknown(.connectionClosed)] ?? 0
            #expect(lost >= 1 && lost <= 20)
            #expect(fixture.tally[.accepted] == 500 - lost)
            #expect(fixture.server.acceptedCount == 2)
            await fixture.end(on: loop)
        }
    }

    @Test("an unanswered push times out, and its connection stays in use")
    func timeout() async throws {
        try await withLoop { loop in
            // A simultaneous PING would keep the next push off this connection until it is acknowledged.
            let fixture = try ClientFixture(on: loop) {
                $0.pushTimeout = .seconds(7)
                $0.silenceBeforePing = .seconds(30)
                $0.silenceMax = .seconds(60)
            }
            fixture.server.onRequest = { incoming in
                if incoming.id.hasSuffix("9") { incoming.swallow() } else { incoming.answer() }
            }
            try fixture.send(100)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 90, .unknown(.timeout): 10])
            try fixture.send(1)
            await fixture.settle(on: loop)
            #expect(fixture.tally[.accepted] == 91)
            #expect(fixture.server.acceptedCount == 1)
            #expect(fixture.client.statistics.pushesUnderWay == 0)
            await fixture.end(on: loop)
        }
    }

    @Test("without a listener, pushes soon fail with the reason; they succeed once a server listens")
    func nobodyListens() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            fixture.server.stopListening()
            try fixture.send(20)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.notSent(.connectFailed): 20])
            #expect(fixture.client.statistics.connectionsFailed == 3)
            await fixture.end(on: loop)
        }
    }

    @Test(
        "an untrusted server and one without HTTP/2 get no push",
        arguments: [true, false])
    func wrongServer(isUntrusted: Bool) async throws {
        try await withLoop { loop in
            let files = try CertificateFiles()
            let server = try ScriptedServer(
                on: loop, certificate: files, alpn: isUntrusted ? ["h2"] : ["http/1.1"])
            let trusted = isUntrusted ? try CertificateFiles() : files
            var settings = ClientSettings()
            settings.backoffBase = .milliseconds(1)
            let client = Client(
                endpoint: server.endpoint,
                tls: try TLSClientContext(
                    caFile: trusted.certificate, alpn: isUntrusted ? ["h2"] : ["h2", "http/1.1"]),
                tokens: ProviderTokenSource(
                    try ProviderCredentials(
                        teamID: "TEAM567890", keyID: "KEY4567890",
                        key: KeyText(try SelfSignedCertificate().privateKey))),
                on: loop, settings: settings)
            let outcome = await client.send(try ClientFixture.push("one"))
            #expect(outcome.kind == .notSent(isUntrusted ? .tlsFailed : .http2NotOffered))
            #expect(server.received.isEmpty)
            await client.stop(deadline: .seconds(1))
            server.close()
        }
    }
}
