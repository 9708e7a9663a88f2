import Network
import Testing

@Suite(.timeLimit(.minutes(2)))
struct InterfaceAddressTests {
    @Test("The loopback interface and its address are among this machine's")
    func loopback() throws {
        let loopback = InterfaceAddress(
            interface: "lo", address: try #require(SocketAddress(ip: "127.0.0.1", port: 0)))
        #expect(InterfaceAddress.all().contains(loopback))
    }
}
