import HTTPServer
import Network
import Testing

@testable import Relay

@Suite("Clients behind proxies", .timeLimit(.minutes(2)))
struct TrustedProxiesTests {
    private let trusted = TrustedProxies(["10.0.0.0/8", "::1", "fd00::/8"].compactMap(AddressRange.init))

    private func client(
        _ peer: String, xForwardedFor: [String] = [], forwarded: [String] = []
    ) throws -> String {
        let peer = try #require(SocketAddress(ip: peer, port: 5000))
        return trusted.client(of: peer, forwarded: forwarded, xForwardedFor: xForwardedFor).host
    }

    @Test("Nobody's word counts but a trusted proxy's")
    func untrusted() throws {
        #expect(try client("192.0.2.1", xForwardedFor: ["198.51.100.1"]) == "192.0.2.1")
        #expect(try client("192.0.2.1", forwarded: ["for=198.51.100.1"]) == "192.0.2.1")
        #expect(try client("10.0.0.1", xForwardedFor: ["198.51.100.1"]) == "198.51.100.1")
    }

    @Test("The headers are read from the right, as far as each word is a trusted proxy's")
    func fromTheRight() throws {
        // Addresses from the client itself are to the left of the one that the first trusted proxy added.
        #expect(try client("10.0.0.1", xForwardedFor: ["203.0.113.9, 198.51.100.1"]) == "198.51.100.1")
        #expect(
            try client("10.0.0.1", xForwardedFor: ["203.0.113.9", "198.51.100.1,10.0.0.2"]) == "198.51.100.1")
        #expect(
            try client("10.0.0.1", forwarded: ["for=203.0.113.9, for=198.51.100.1;by=10.0.0.2,for=10.0.0.2"])
                == "198.51.100.1")
        // Only proxies: the outermost one counts.
        #expect(try client("10.0.0.1", xForwardedFor: ["10.0.0.3, 10.0.0.2"]) == "10.0.0.3")
        #expect(try client("10.0.0.1") == "10.0.0.1")
    }

    @Test(
        "Addresses come with and without port and brackets",
        arguments: [
            ("198.51.100.1", "198.51.100.1"), ("198.51.100.1:4711", "198.51.100.1"),
            ("2001:db8::7", "2001:db8::7"), ("[2001:db8::7]", "2001:db8::7"),
            ("[2001:db8::7]:443", "2001:db8::7"), (" 198.51.100.1\t", "198.51.100.1"),
            ("::ffff:198.51.100.1", "198.51.100.1"),
        ])
    func forms(text: String, host: String) throws {
        #expect(try client("10.0.0.1", xForwardedFor: [text]) == host)
        #expect(try client("10.0.0.1", forwarded: ["proto=https;For=\"\(text.dropSpaces)\""]) == host)
    }

    @Test(
        "An entry without address ends the search at the proxy that wrote it",
        arguments: [
            "unknown", "_hidden", "", "198.51.100.1.example", "[::1", "[198.51.100.1]", "for=1.2.3.4",
        ])
    func withoutAddress(text: String) throws {
        #expect(try client("10.0.0.1", xForwardedFor: ["203.0.113.9, \(text), 10.0.0.2"]) == "10.0.0.2")
        #expect(
            try client("10.0.0.1", forwarded: ["for=203.0.113.9, for=\"\(text)\", for=10.0.0.2"])
                == "10.0.0.2")
    }

    @Test(
        "A header that can't be cut into elements names nobody, and neither does an element with two clients")
    func malformed() throws {
        #expect(try client("10.0.0.1", forwarded: ["for=\"198.51.100.1"]) == "10.0.0.1")
        #expect(try client("10.0.0.1", forwarded: ["for=198.51.100.1;for=198.51.100.2"]) == "10.0.0.1")
        #expect(try client("10.0.0.1", forwarded: ["proto=https"]) == "10.0.0.1")
        // A comma in a quoted string isn't a separator.
        #expect(
            try client("10.0.0.1", forwarded: ["for=198.51.100.1;ext=\"a,for=203.0.113.9;\\\"b\""])
                == "198.51.100.1")
    }

    @Test("Two headers that disagree are not believed: a proxy writes one and passes on the client's other")
    func disagreement() throws {
        #expect(
            try client("10.0.0.1", xForwardedFor: ["198.51.100.1"], forwarded: ["for=203.0.113.9"])
                == "10.0.0.1")
        #expect(
            try client("10.0.0.1", xForwardedFor: ["198.51.100.1"], forwarded: ["for=198.51.100.1"])
                == "198.51.100.1")
    }

    @Test("A long header costs no more than a short one")
    func bounded() throws {
        let long = String(repeating: "10.0.0.2,", count: 1000) + "10.0.0.2"
        #expect(try client("10.0.0.1", xForwardedFor: ["198.51.100.1,\(long)"]) == "10.0.0.2")
    }

    @Test("Clients of one IPv6 network are one client, IPv4 clients are each their own")
    func networks() throws {
        func key(_ text: String) throws -> UInt64 { try #require(SocketAddress(ip: text, port: 1)).clientKey }
        #expect(try key("2001:db8:1:2::1") == key("2001:db8:1:2:ffff::"))
        #expect(try key("2001:db8:1:2::1") != key("2001:db8:1:3::1"))
        #expect(try key("192.0.2.1") != key("192.0.2.2"))
        #expect(try key("192.0.2.1") == key("::ffff:192.0.2.1"))
    }
}

extension String {
    fileprivate var dropSpaces: String { filter { $0 != " " && $0 != "\t" } }
}
