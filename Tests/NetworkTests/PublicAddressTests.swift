import Network
import Testing

@Suite("Public addresses", .timeLimit(.minutes(1)))
struct PublicAddressTests {
    @Test(
        "addresses of machines on the internet",
        arguments: [
            "8.8.8.8", "17.0.0.1", "172.15.255.255", "172.32.0.0", "192.0.1.1", "223.255.255.255",
            "::ffff:8.8.8.8",
            "2606:4700::1", "2a00:1450:4001::1", "64:ff9b::8.8.8.8",
        ])
    func isPublic(_ text: String) throws {
        #expect(try #require(SocketAddress(ip: text, port: 443)).isPublic)
    }

    @Test(
        "addresses of this machine, of private networks and of special purposes",
        arguments: [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8", "fc00::1", "fd12::1", "fe80::1", "ff02::1", "2001::1", "2001:db8::1",
            "2002:7f00:1::", "3fff::1", "4000::1",
        ])
    func isNotPublic(_ text: String) throws {
        #expect(!(try #require(SocketAddress(ip: text, port: 443)).isPublic))
    }
}
