import APNs
import HTTP2
import HTTP2Testing
import Network
import Testing

@Suite("The client against a server over TLS on loopback", .timeLimit(.minutes(1)))
struct ClientTests {
    @Test("pushes are accepted, each sent once, all over one connection")
    func accepted() async throws {
        try await withLoop { loop in
            let fixture = try ClientFixture(on: loop)
            try fixture.send(500)
            await fixture.settle(on: loop)
            fixture.expectSound()
            #expect(fixture.tally == [.accepted: 500])
            #expect(fixture.server.acceptedCount == 1)
            #expect(fixture.client.statistics.accepted == 500)
            await fixture.end(on: loop)
        }
    }
}
