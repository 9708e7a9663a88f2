import Testing

@testable import Network

@Suite("Address ranges", .timeLimit(.minutes(2)))
struct AddressRangeTests {
    private func holds(_ range: String, _ address: String) throws -> Bool {
        let address = try #require(SocketAddress(ip: address, port: 443))
        return try #require(AddressRange(range)).contains(address)
    }

    @Test(
        "A range contains its first and last address and nothing outside",
        arguments: [
            ("10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"),
            ("192.0.2.64/26", "192.0.2.64", "192.0.2.127", "192.0.2.63", "192.0.2.128"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.6", "192.0.2.8"),
            ("2001:db8::/32", "2001:db8::", "2001:db8:ffff:ffff::1", "2001:db7:ffff::", "2001:db9::"),
            ("fd00::/8", "fd00::", "fdff::", "fcff::", "fe00::"),
            ("2001:db8::40/122", "2001:db8::40", "2001:db8::7f", "2001:db8::3f", "2001:db8::80"),
            ("::1", "::1", "::1", "::", "::2"),
            ("0.0.0.0/0", "0.0.0.0", "255.255.255.255", "::1", "2001:db8::"),
            ("::/0", "::1", "ffff::", "127.0.0.1", "10.0.0.1"),
        ])
    func bounds(range: String, first: String, last: String, before: String, after: String) throws {
        #expect(try holds(range, first))
        #expect(try holds(range, last))
        #expect(try !holds(range, before))
        #expect(try !holds(range, after))
    }

    @Test("An IPv4-mapped address equals the IPv4 address, in ranges and clients")
    func mapped() throws {
        #expect(try holds("10.0.0.0/8", "::ffff:10.1.2.3"))
        #expect(try holds("::ffff:10.0.0.0/104", "10.1.2.3"))
        #expect(AddressRange("::ffff:10.0.0.0/104") == AddressRange("10.0.0.0/8"))
    }

    @Test(
        "Malformed ranges and ranges with host bits set are rejected",
        arguments: [
            "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08x",
            "::/129", "10.0.0/8", "proxy.example.org", "10.0.0.1/8", "2001:db8::1/32", "[::1]/128",
            "10.0.0.0/8/8", " 10.0.0.0/8",
        ])
    func refused(text: String) {
        #expect(AddressRange(text) == nil)
    }

    @Test("A range describes itself as it is written", arguments: ["10.0.0.0/8", "192.0.2.7/32", "fd00::/8"])
    func text(text: String) throws {
        #expect(try #require(AddressRange(text)).description == text)
    }
}
