import Network
import Testing

@testable import AgentBridge

@Suite("The server's addresses for phones", .timeLimit(.minutes(2)))
struct ServerHostsTests {
    private func urls(
        _ interfaces: [(String, String)], of server: String = "http://127.0.0.1:4096",
        advertised: [String] = [], reported: [String] = []
    ) throws -> [String] {
        ServerHosts.urls(
            of: try WebAddress(server), advertised: advertised,
            reported: try reported.map { try WebAddress($0) },
            interfaces: try interfaces.map {
                InterfaceAddress(interface: $0.0, address: try #require(SocketAddress(ip: $0.1, port: 0)))
            })
    }

    @Test("addresses of the LAN and of Tailscale are used, those inside this machine aren't")
    func found() throws {
        let interfaces = [
            ("lo", "127.0.0.1"), ("lo", "::1"), ("eth0", "192.168.1.20"), ("eth0", "fe80::1"),
            ("eth0", "2001:db8::20"), ("eth1", "169.254.3.4"), ("eth2", "fd00::7"), ("br-lan", "10.1.0.1"),
            ("docker0", "172.17.0.1"), ("br-0123456789ab", "172.18.0.1"), ("veth1", "172.17.0.9"),
            ("virbr0", "192.168.122.1"), ("tailscale0", "100.101.102.103"),
            ("tailscale0", "fd7a:115c:a1e0::5"), ("eth0", "192.168.1.20"),
        ]
        #expect(
            try urls(interfaces) == [
                "http://100.101.102.103:4096", "http://[fd7a:115c:a1e0::5]:4096",
                "http://192.168.1.20:4096", "http://[fd00::7]:4096", "http://10.1.0.1:4096",
            ])
        #expect(try urls([("utun3", "100.64.0.9")]) == ["http://100.64.0.9:4096"])
        #expect(try urls([("eth0", "10.0.0.2")], of: "https://localhost") == ["https://10.0.0.2:443"])
        #expect(try urls([("eth0", "10.0.0.2")], of: "http://0.0.0.0:5000") == ["http://10.0.0.2:5000"])
    }

    @Test("a code has at least one address and not too many")
    func bounds() throws {
        #expect(try urls([("lo", "127.0.0.1")]) == ["http://127.0.0.1:4096"])
        let many = (1...40).map { ("eth\($0)", "10.0.0.\($0)") }
        #expect(try urls(many).count == Bounds.serverHostsMax)
    }

    @Test("a server on another machine is paired with the address that the bridge uses")
    func remote() throws {
        #expect(try urls([("eth0", "10.0.0.2")], of: "http://10.0.0.9:4096") == ["http://10.0.0.9:4096"])
    }

    @Test(
        "a server's own addresses replace those found: its tunnel's first, without those inside this machine")
    func reported() throws {
        let interfaces = [
            ("lo", "127.0.0.1"), ("eth0", "192.168.1.20"), ("docker0", "172.17.0.1"),
            ("tailscale0", "100.101.102.103"),
        ]
        let named = [
            "http://127.0.0.1:4096", "http://localhost:4096", "http://192.168.1.20:4096",
            "http://172.17.0.1:4096",
            "http://100.101.102.103:4096", "https://ada.tunnel.example/", "http://192.168.1.20:4096",
            "http://169.254.7.7:4096",
        ]
        #expect(
            try urls(interfaces, reported: named) == [
                "https://ada.tunnel.example", "http://100.101.102.103:4096", "http://192.168.1.20:4096",
            ])
        #expect(
            try urls(
                interfaces, of: "https://box.example",
                reported: ["http://10.0.0.9:4096", "https://box.example"])
                == ["https://box.example", "http://10.0.0.9:4096"], "the address that works here comes first")
        #expect(try urls(interfaces, advertised: ["box"], reported: named) == ["http://box:4096"])
        #expect(
            try urls([("eth0", "10.0.0.2")], reported: ["http://127.0.0.1:4096"]) == ["http://10.0.0.2:4096"])
        #expect(
            try urls([], reported: (1...40).map { "http://10.0.0.\($0):1" }).count == Bounds.serverHostsMax)
    }

    @Test("configured addresses replace those found, with the server's port if they have none")
    func advertised() throws {
        let given = ["box", "10.0.0.1:99", "fd00::1", "[fd00::2]", "[fd00::3]:7", "https://x.example/"]
        #expect(
            try urls([("eth0", "10.0.0.2")], of: "http://127.0.0.1:5000", advertised: given) == [
                "http://box:5000", "http://10.0.0.1:99", "http://[fd00::1]:5000", "http://[fd00::2]:5000",
                "http://[fd00::3]:7", "https://x.example",
            ])
    }
}
