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

    @Test("Names that wait for a few threads are all resolved")
    func threads() async throws {
        let loop = EventLoop(label: "resolver")
        let resolver = Resolver(threadsMax: 3)
        let endpoint = Endpoint(host: "localhost", port: 443)
        for _ in 0..<3 {
            let found = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        await withCheckedContinuation { continuation in
                            resolver.resolve(endpoint, on: loop) { result in
                                continuation.resume(
                                    returning: (try? result.get())?.contains { $0.isLoopback } == true)
                            }
                        }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(found == 20)
        }
        await loop.stop()
    }
}
