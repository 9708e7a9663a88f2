import Network
import Testing

@Suite(.timeLimit(.minutes(2)))
struct SocketAddressTests {
    @Test(
        "An IP literal round-trips",
        arguments: [
            ("127.0.0.1", "127.0.0.1:80"), ("0.0.0.0", "0.0.0.0:80"), ("::1", "[::1]:80"),
            ("2001:db8::5", "[2001:db8::5]:80"), ("::ffff:10.1.2.3", "10.1.2.3:80"),
        ])
    func literals(text: String, shown: String) throws {
        #expect(try #require(SocketAddress(ip: text, port: 80)).description == shown)
    }

    @Test(
        "Anything but an IP literal is rejected",
        arguments: ["localhost", "", "1.2.3", "1.2.3.4.5", "::g", "[::1]"])
    func refused(text: String) {
        #expect(SocketAddress(ip: text, port: 80) == nil)
    }

    @Test("Loopback is 127.0.0.0/8 and ::1 and nothing else")
    func isLoopback() throws {
        for text in ["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"] {
            #expect(try #require(SocketAddress(ip: text, port: 1)).isLoopback)
        }
        for text in ["128.0.0.1", "126.1.1.1", "::", "::2", "fe80::1"] {
            #expect(try !#require(SocketAddress(ip: text, port: 1)).isLoopback)
        }
    }

    @Test("One client is one IPv4 address or one IPv6 /64 network")
    func clientKey() throws {
        func key(_ text: String) throws -> UInt64 { try #require(SocketAddress(ip: text, port: 9)).clientKey }
        #expect(try key("10.0.0.1") != key("10.0.0.2"))
        #expect(try key("2001:db8::1") == key("2001:db8::ffff:1"))
        #expect(try key("2001:db8::1") != key("2001:db8:0:1::1"))
    }

    @Test("A site is an IPv6 /48 network; IPv4 addresses have none")
    func siteKey() throws {
        func key(_ text: String) throws -> UInt64? { try #require(SocketAddress(ip: text, port: 9)).siteKey }
        #expect(try key("10.0.0.1") == nil)
        #expect(try key("2001:db8:1::1") == key("2001:db8:1:ffff::1"))
        #expect(try key("2001:db8:1::1") != key("2001:db8:2::1"))
    }
}
