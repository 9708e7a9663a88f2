import HTTPServer
import Network
import Storage
import Testing

@testable import Relay

@Suite("Who may ask the admin listener", .timeLimit(.minutes(2)))
struct AdminGuardTests {
    private func refusal(
        host: String? = "127.0.0.1:8788", _ headers: [(String, String)] = [], hosts: Set<String> = [],
        token: String? = nil, isOpen: Bool = false, changesData: Bool = false
    ) -> AdminGuard.Refusal? {
        let access = AdminGuard(hosts: hosts, token: token.map { Secret($0) })
        let all = (host.map { [("Host", $0)] } ?? []) + headers
        let request = Request(
            method: changesData ? .post : .get, target: "/metrics",
            headers: all.map { (name: $0.0, value: $0.1) })
        return access.refusal(of: request, isOpen: isOpen, changesData: changesData)
    }

    @Test("A domain that a stranger may own is no host, unless the settings list it")
    func hosts() {
        for host in ["127.0.0.1:8788", "[::1]:8788", "localhost", "LOCALHOST:8788", "relay:8788", "10.0.0.7"]
        {
            #expect(refusal(host: host) == nil, "\(host)")
        }
        #expect(refusal(host: nil) == nil)
        for host in [
            "evil.example", "evil.example:8788", "127.0.0.1.evil.example", "localhost.evil.example.",
        ] {
            #expect(refusal(host: host) == .host, "\(host)")
            #expect(refusal(host: host, isOpen: true) == .host, "\(host)")
        }
        #expect(refusal(host: "Relay.Example:8788", hosts: ["relay.example"]) == nil)
        #expect(refusal(host: "relay.example.", hosts: ["relay.example"]) == nil)
        #expect(refusal(host: "other.example", hosts: ["relay.example"]) == .host)
    }

    @Test("With a token set, all but the probes need it")
    func token() {
        let token = "0123456789abcdef"
        #expect(refusal([("Authorization", "Bearer \(token)")], token: token) == nil)
        #expect(refusal([("Authorization", "bearer \(token)")], token: token) == nil)
        #expect(refusal(token: token) == .token)
        for value in [
            token, "Bearer", "Bearer ", "Bearer \(token)x", "Basic \(token)", "Bearer 0123456789abcdeF",
        ] {
            #expect(refusal([("Authorization", value)], token: token) == .token, "\(value)")
        }
        #expect(refusal(token: token, isOpen: true) == nil)
    }

    @Test("The console may change data, at a name that nobody else can have in the browser")
    func console() {
        let json = ("Content-Type", "application/json")
        func change(_ host: String, _ origin: String, hosts: Set<String> = []) -> AdminGuard.Refusal? {
            refusal(host: host, [json, ("Origin", origin)], hosts: hosts, changesData: true)
        }
        for host in ["127.0.0.1:8788", "[::1]:8788", "localhost:8788", "localhost", "10.0.0.7"] {
            #expect(change(host, "http://" + host) == nil, "\(host)")
            #expect(change(host, "https://" + host) == nil, "\(host)")
            #expect(change(host, "http://evil.example") == .origin)
            #expect(change(host, host) == .origin)
        }
        #expect(change("127.0.0.1:8788", "http://127.0.0.1:8787") == .origin)
        #expect(change("127.0.0.1:8788", "http://127.0.0.1:8788.evil.example") == .origin)
        #expect(change("LOCALHOST:8788", "http://localhost:8788") == nil)
        // A name without a dot may belong to another machine tomorrow.
        #expect(change("relay:8788", "http://relay:8788") == .origin)
        #expect(change("relay:8788", "http://relay:8788", hosts: ["relay"]) == nil)
        #expect(change("relay.example", "https://relay.example", hosts: ["relay.example"]) == nil)
        #expect(change("evil.example", "https://evil.example") == .host)
    }

    @Test("Another web page can change nothing")
    func pages() {
        let json = ("Content-Type", "application/json; charset=utf-8")
        #expect(refusal([json], changesData: true) == nil)
        #expect(refusal([json, ("Origin", "https://evil.example")], changesData: true) == .origin)
        #expect(refusal([json, ("Origin", "null")], changesData: true) == .origin)
        #expect(refusal(changesData: true) == .contentType)
        #expect(refusal([("Content-Type", "text/plain")], changesData: true) == .contentType)
        #expect(refusal([("Content-Type", "application/jsonx")], changesData: true) == .contentType)
    }

    @Test("Changes beyond 60 a minute are refused, and refused ones don't count")
    func rate() {
        let changes = AdminChanges(AdminGuard(hosts: [], token: nil))
        let page = Request(method: .post, target: "/v1/block", headers: [(name: "Origin", value: "null")])
        let change = Request(
            method: .post, target: "/v1/block", headers: [(name: "Content-Type", value: "application/json")])
        let now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        for _ in 0..<100 { #expect(changes.refusal(of: page, at: now) == .origin) }
        for _ in 0..<60 { #expect(changes.refusal(of: change, at: now) == nil) }
        for _ in 0..<100 {
            #expect(changes.refusal(of: change, at: now) == .rate(wait: .seconds(1)))
        }
        #expect(AdminGuard.Refusal.rate(wait: .seconds(1)).response.status == 429)
        #expect(AdminGuard.Refusal.rate(wait: .seconds(1)).response.headers["Retry-After"] != nil)
        #expect(changes.refusal(of: change, at: now + .seconds(1)) == nil)
        #expect(changes.refusal(of: change, at: now + .seconds(1)) != nil)
    }

    @Test("Of a long X-Forwarded-For only the last 32 addresses are read")
    func forwarded() {
        let many = (0..<10_000).map { "10.0.\($0 / 250).\($0 % 250)" }
        let read = ForwardedAddresses.xForwardedFor([
            many.joined(separator: ","), "192.0.2.1, 192.0.2.2:80",
        ])
        #expect(read.count == Bounds.forwardedAddressesMax)
        #expect(read.suffix(2).map { $0?.host } == ["192.0.2.1", "192.0.2.2"])
        #expect(read.first??.host == many[many.count - 30])
        let elements = ForwardedAddresses.forwarded([many.map { "for=\($0)" }.joined(separator: ", ")])
        #expect(elements.count == Bounds.forwardedAddressesMax)
        #expect(elements.last??.host == many.last)
    }
}
