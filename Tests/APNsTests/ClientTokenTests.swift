import APNs
import HTTP2
import HTTP2Testing
import Network
import Testing

@Suite("The client and the provider token", .timeLimit(.minutes(5)))
struct ClientTokenTests {
    /// Answers 403 with a reason to the first token that came, and 200 to any other; notes which connection had which.
    private static func refuseFirst(_ reason: String, at server: ScriptedServer) {
        var first: String?
        server.onRequest = { incoming in
            let token = incoming.request.fields.string("authorization") ?? ""
            first = first ?? token
            if token == first { incoming.answer(403, reason: reason) } else { incoming.answer() }
        }
    }

    @Test("an expired token is replaced when that is allowed, and so is its connection")
    func expired() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            #expect(await fixture.client.send(try ClientFixture.push("before")).kind == .accepted)
            fixture.date += 21 * 60
            Self.refuseFirst("ExpiredProviderToken", at: fixture.server)
            #expect(await fixture.client.send(try ClientFixture.push("refused")).kind == .rejected(403))
            #expect(fixture.events.contains(.replaced(.expiredToken)))
            #expect(await fixture.client.send(try ClientFixture.push("again")).kind == .accepted)
            #expect(fixture.server.acceptedCount == 2)
            await fixture.end(on: loop)
        }
    }

    @Test("a young token that is called expired stays in use; its connection goes when the next token comes")
    func expiredEarly() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop) { $0.tokenCheckInterval = .zero }
            #expect(await fixture.client.send(try ClientFixture.push("before")).kind == .accepted)
            fixture.date += 5 * 60
            Self.refuseFirst("ExpiredProviderToken", at: fixture.server)
            for id in ["one", "two"] {
                #expect(await fixture.client.send(try ClientFixture.push(id)).kind == .rejected(403))
            }
            #expect(fixture.server.acceptedCount == 1)
            #expect(!fixture.events.contains(.replaced(.expiredToken)))
            fixture.date += 16 * 60
            #expect(await fixture.client.send(try ClientFixture.push("after")).kind == .accepted)
            #expect(fixture.events.contains(.replaced(.expiredToken)))
            #expect(fixture.server.acceptedCount == 2)
            await fixture.end(on: loop)
        }
    }

    @Test("after TooManyProviderTokenUpdates token and connection stay")
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
                fixture.date += 4 * 60
                #expect(await fixture.client.send(try ClientFixture.push(id)).kind == kind)
            }
            #expect(tokens.count == 1)
            #expect(fixture.server.acceptedCount == 1)
            await fixture.end(on: loop)
        }
    }

    @Test("a server that says it shuts down gets no further push")
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
