import Foundation
import PushSealing
import Testing

@testable import RelayClient

@Suite("Keeping tokens current", .timeLimit(.minutes(1)))
struct TokenKeeperTests {
    private final class Memory: TokenStore, @unchecked Sendable {
        private let lock = NSLock()
        private var tokens: [KeptToken] = []

        func load() -> [KeptToken] { lock.withLock { tokens } }

        func save(_ tokens: [KeptToken]) { lock.withLock { self.tokens = tokens } }
    }

    private let memory = Memory()
    private let first: Pairing
    private let second: Pairing

    init() throws {
        first = try Pairing(relayURL: "https://one.example", hosts: ["h"])
        second = try Pairing(relayURL: "https://two.example", hosts: ["h"])
    }

    private func keeper(_ transport: FakeTransport) -> TokenKeeper {
        TokenKeeper(store: memory) { Relay($0, transport: transport, policy: .never) }
    }

    private func registration(_ hex: String) throws -> Registration {
        Registration(token: try #require(DeviceToken(hex: hex)))
    }

    private func calls(_ transport: FakeTransport) async -> [String] {
        await transport.requests.map { request in
            let parts = request.url.split(separator: "/")
            return "\(parts[1].prefix(3)) \(parts.last ?? "") \(request.body["deviceToken"]?.string ?? "")"
        }
    }

    @Test("Each start registers; a new token is registered before the old one goes")
    func change() async throws {
        let transport = FakeTransport()
        let keeper = keeper(transport)
        #expect(
            await keeper.update(try registration("AA01"), for: [first, second]) == [
                .success(.registered), .success(.registered),
            ])
        _ = await keeper.update(try registration("aa01"), for: [first, second])
        _ = await keeper.update(try registration("bb02"), for: [first])
        #expect(
            await calls(transport) == [
                "one register aa01", "two register aa01", "one register aa01", "two register aa01",
                "one register bb02", "one unregister aa01",
            ])
        #expect(Set(memory.load().map(\.token)) == ["aa01", "bb02"])
        try await keeper.forget(first)
        #expect(await calls(transport).last == "one unregister bb02")
        #expect(memory.load().map(\.pairingID) == [second.id])
        #expect(first.id.count == 16 && first.id != second.id && !first.id.contains(first.relaySecret))
    }

    @Test("What fails doesn't keep the others from being registered, and is made good later")
    func failure() async throws {
        let down = FakeTransport.Answer(failure: .cannotConnectToHost)
        let transport = FakeTransport([.init(), down, .init(), .init(), .init(), down])
        let keeper = keeper(transport)
        let results = await keeper.update(try registration("aa01"), for: [first, second])
        #expect(results[0] == .success(.registered))
        #expect(throws: RelayError.self) { try results[1].get() }
        // In the second pair of responses, removing the old token fails.
        _ = await keeper.update(try registration("bb02"), for: [second, first])
        #expect(memory.load().count == 3)
        _ = await keeper.update(try registration("bb02"), for: [first])
        #expect(Set(memory.load().map(\.token)) == ["bb02"] && memory.load().count == 2)
    }

    @Test("What couldn't be unregistered while the relay was away is unregistered by the next update")
    func forgottenLater() async throws {
        let down = FakeTransport.Answer(failure: .cannotConnectToHost)
        let transport = FakeTransport([.init(), .init(), down, down, .init(), .init()])
        let keeper = keeper(transport)
        _ = await keeper.update(try registration("aa01"), for: [first, second])
        await #expect(throws: RelayError.self) { try await keeper.forget(first) }
        // The app has removed the pairing, so it no longer passes it to `update`.
        _ = await keeper.update(try registration("aa01"), for: [])
        _ = await keeper.update(try registration("aa01"), for: [second])
        #expect(
            await calls(transport).dropFirst(2) == [
                "one unregister aa01", "one unregister aa01", "two register aa01", "one unregister aa01",
            ])
        #expect(memory.load().map(\.pairingID) == [second.id])
        _ = await keeper.update(try registration("aa01"), for: [second])
        #expect(await transport.requests.count == 7)
    }

    @Test("A token whose registration had no answer is unregistered later, since it may have taken effect")
    func unanswered() async throws {
        let lost = FakeTransport.Answer(failure: .timedOut)
        let transport = FakeTransport([lost, .init(), .init(), lost])
        let keeper = keeper(transport)
        #expect(await keeper.update(try registration("aa01"), for: [first]) == [.failure(.timedOut)])
        _ = await keeper.update(try registration("bb02"), for: [first])
        #expect(memory.load().map(\.token) == ["bb02"])
        _ = await keeper.update(try registration("cc03"), for: [first])
        try await keeper.forget(first)
        #expect(
            await calls(transport) == [
                "one register aa01", "one register bb02", "one unregister aa01", "one register cc03",
                "one unregister bb02", "one unregister cc03",
            ])
        #expect(memory.load().isEmpty)
    }

    @Test("A token that the relay refused isn't remembered, and those that had no answer are bounded")
    func refusedToken() async throws {
        let refused = FakeTransport.Answer(
            status: 400, body: #"{"ok":false,"error":"Refused.","code":"device_refused"}"#)
        _ = await keeper(FakeTransport([refused])).update(try registration("aa01"), for: [first])
        #expect(memory.load().isEmpty)
        let lost = FakeTransport.Answer(failure: .networkConnectionLost)
        let keeper = keeper(FakeTransport(Array(repeating: lost, count: 20)))
        for number in 10..<30 { _ = await keeper.update(try registration("\(number)"), for: [first]) }
        #expect(memory.load().map(\.token) == (22..<30).map { "\($0)" })
    }

    @Test("A device that has to answer a challenge isn't kept yet")
    func challenged() async throws {
        let body = #"{"ok":true,"registered":false,"challengeID":"1","expiresIn":600}"#
        let transport = FakeTransport([.init(status: 202, body: body)])
        let results = await keeper(transport).update(try registration("aa01"), for: [first])
        #expect(results == [.success(.challenged(id: "1", expiresIn: 600))] && memory.load().isEmpty)
    }

    @Test("Calls at the same time take turns")
    func turns() async throws {
        let transport = FakeTransport()
        let keeper = keeper(transport)
        let registrations = try (0..<20).map { try registration($0 < 10 ? "a\($0)" : "\($0)") }
        await withTaskGroup { group in
            for registration in registrations {
                group.addTask { _ = await keeper.update(registration, for: [first]) }
            }
        }
        // Only the token of the last call is left.
        #expect(memory.load().count == 1)
        #expect(await transport.requests.count == 39)
    }
}
