import Testing

@testable import Network

@Suite("Name resolution", .timeLimit(.minutes(2)))
struct ResolverTests {
    private func first(_ ips: [String], _ turns: Int) throws -> [String] {
        let addresses = try ips.map { try #require(SocketAddress(ip: $0, port: 443)) }
        return Resolver.rotated(addresses, by: turns).map(\.description)
    }

    @Test("Successive connections begin at different addresses of the preferred family")
    func rotation() throws {
        let ips = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "10.0.0.1", "10.0.0.2"]
        let (one, two, three) = ("[2001:db8::1]:443", "[2001:db8::2]:443", "[2001:db8::3]:443")
        let others = ["10.0.0.1:443", "10.0.0.2:443"]
        #expect(try first(ips, 0) == [one, two, three] + others)
        #expect(try first(ips, 1) == [two, three, one] + others)
        #expect(try first(ips, 5) == [three, one, two] + others)
    }

    @Test("One address, none, and families in turn stay as they are")
    func short() throws {
        #expect(try first([], 7) == [])
        #expect(try first(["10.0.0.1"], 7) == ["10.0.0.1:443"])
        #expect(try first(["::1", "10.0.0.1", "::2"], 7) == ["[::1]:443", "10.0.0.1:443", "[::2]:443"])
    }
}
