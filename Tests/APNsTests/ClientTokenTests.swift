import APNs
import HTTP2
import HTTP2Testing
import Network
import Testing

@Suite("The client and the provider token", .timeLimit(.minutes(5)))
struct ClientTokenTests {
    /// Responds to the first token with 403 and a reason, and to any other with 200; records each connection's tokens.
    private static func refuseFirst(_ reason: String, at server: ScriptedServer) {
        var first: String?
        server.onRequest = { incoming in
            let token = incoming.request.fields.string("authorization") ?? ""
            first = first ?? token
            if token == first { incoming.answer(403, reason: reason) } else { incoming.answer() }
        }
    }

    @Test("an expired token is replaced as soon as allowed, and so is its connection")
    func expired() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            #expect(await fixture.client.send(try ClientFixture.push("before")).kind == .accepted)
            fixture.pass(seconds: 21 * 60)
            Self.refuseFirst("ExpiredProviderToken", at: fixture.server)
            #expect(await fixture.client.send(try ClientFixture.push("refused")).kind == .rejected(403))
            #expect(fixture.events.contains(.replaced(.newToken)))
            #expect(await fixture.client.send(try ClientFixture.push("again")).kind == .accepted)
            #expect(fixture.server.acceptedCount == 2)
            await fixture.end(on: loop)
        }
    }

    @Test("a young token refused as expired stays in use; its connection is replaced with the next token")
    func expiredEarly() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) { $0.tokenCheckInterval = .zero }
            #expect(await fixture.client.send(try ClientFixture.push("before")).kind == .accepted)
            fixture.pass(seconds: 5 * 60)
            Self.refuseFirst("ExpiredProviderToken", at: fixture.server)
            for id in ["one", "two"] {
                #expect(await fixture.client.send(try ClientFixture.push(id)).kind == .rejected(403))
            }
            #expect(fixture.server.acceptedCount == 1)
            #expect(!fixture.events.contains(.replaced(.newToken)))
            fixture.pass(seconds: 16 * 60)
            #expect(await fixture.client.send(try ClientFixture.push("after")).kind == .accepted)
            #expect(fixture.events.contains(.replaced(.newToken)))
            #expect(fixture.server.acceptedCount == 2)
            await fixture.end(on: loop)
        }
    }

    @Test(
        "a refused token dated in the future is replaced immediately and used only on new connections",
        arguments: ["ExpiredProviderToken", "InvalidProviderToken"])
    func datedInTheFuture(reason: String) async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) { $0.connectionsMax = 2 }
            fixture.date += 2_400
            try await fixture.openTwoConnections(on: loop)
            fixture.date -= 2_400
            var first: String?
            var connectionsOfSecond: Set<Int> = []
            fixture.server.onRequest = { incoming in
                let token = incoming.request.fields.string("authorization") ?? ""
                first = first ?? token
                guard token != first else { return incoming.answer(403, reason: reason) }
                connectionsOfSecond.insert(incoming.connectionIndex)
                incoming.answer()
            }
            #expect(await fixture.client.send(try ClientFixture.push("refused")).kind == .rejected(403))
            #expect(await fixture.client.send(try ClientFixture.push("again")).kind == .accepted)
            #expect(connectionsOfSecond == [2])
            #expect(await fixture.server.watch.wait(on: loop) { fixture.server.connections.count == 1 })
            await fixture.end(on: loop)
        }
    }

    @Test("after TooManyProviderTokenUpdates the token and the connection stay in use")
    func tooManyUpdates() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            var tokens: Set<String> = []
            fixture.server.onRequest = { incoming in
                tokens.insert(incoming.request.fields.string("authorization") ?? "")
                if incoming.id == "refused" {
                    incoming.answer(429, reason: "TooManyProviderTokenUpdates")
                } else {
                    incoming.answer()
                }
            }
            for (id, kind) in [("a", Outcome.Kind.accepted), ("refused", .rejected(429)), ("b", .accepted)] {
                fixture.pass(seconds: 4 * 60)
                #expect(await fixture.client.send(try ClientFixture.push(id)).kind == kind)
            }
            #expect(tokens.count == 1)
            #expect(fixture.server.acceptedCount == 1)
            await fixture.end(on: loop)
        }
    }

    @Test("a server that announces its shutdown gets no further push")
    func shutdown() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            fixture.server.onRequest = { incoming in
                if incoming.connectionIndex == 0 {
                    incoming.answer(503, reason: "Shutdown")
                } else {
                    incoming.answer()
                }
            }
            #expect(await fixture.client.send(try ClientFixture.push("one")).kind == .rejected(503))
            #expect(await fixture.client.send(try ClientFixture.push("two")).kind == .accepted)
            await fixture.end(on: loop)
        }
    }
}

extension ClientFixture {
    /// Opens two connections, each with one answered push.
    fileprivate func openTwoConnections(on loop: isolated EventLoop) async throws {
        var held: [ScriptedServer.Incoming] = []
        server.onConnection = { $0.setMaxConcurrentStreams(1) }
        server.onRequest = { incoming in
            held.append(incoming)
            guard held.count == 2 else { return }
            for incoming in held { incoming.answer() }
        }
        try send(2)
        await settle(on: loop)
        #expect(server.acceptedCount == 2)
        server.onRequest = { $0.answer() }
    }
}
