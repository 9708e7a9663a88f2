import Cryptography
import Testing
import WebPush

@Suite("Subscriptions", .timeLimit(.minutes(1)))
struct SubscriptionTests {
    private static func refusal(_ endpoint: String) -> SubscriptionRefusal? {
        do throws(SubscriptionRefusal) {
            _ = try PushEndpoint(endpoint)
            return nil
        } catch { return error }
    }

    @Test("an endpoint keeps its URL and knows host, port and origin")
    func endpoint() throws {
        let endpoint = try PushEndpoint("https://WNS2-par02p.notify.Windows.com/w/?token=BQYAAAD%2f%3d")
        #expect(endpoint.url == "https://WNS2-par02p.notify.Windows.com/w/?token=BQYAAAD%2f%3d")
        #expect(endpoint.host == "wns2-par02p.notify.windows.com")
        #expect(endpoint.port == 443)
        #expect(endpoint.origin == "https://wns2-par02p.notify.windows.com")
        #expect(try PushEndpoint("https://ntfy.example:8443/up").origin == "https://ntfy.example:8443")
        #expect(try PushEndpoint("https://ntfy.example:443/up").origin == "https://ntfy.example")
        let literal = try PushEndpoint("https://[2001:DB8:0::1]:8443/up")
        #expect(literal.host == "2001:db8::1")
        #expect(literal.origin == "https://[2001:db8::1]:8443")
    }

    @Test(
        "an endpoint is refused for its first fault",
        arguments: [
            ("http://fcm.googleapis.com/x", .notHTTPS), ("HTTPS://fcm.googleapis.com/x", .notHTTPS),
            ("", .notHTTPS), ("//fcm.googleapis.com/x", .notHTTPS),
            (" https://fcm.googleapis.com/x", .notHTTPS),
            ("https://fcm.googleapis.com", .endpointFormat),
            ("https://fcm.googleapis.com?x", .endpointFormat),
            ("https://fcm.googleapis.com\\@evil.example/", .endpointFormat),
            ("https://fcm.googleapis.com/a b", .endpointFormat),
            ("https://fcm.googleapis.com/\r\nX: y", .endpointFormat),
            ("https://fcm.googleapis.com/ä", .endpointFormat),
            ("https://fcm.google\u{0}apis.com/", .endpointFormat),
            ("https://user@fcm.googleapis.com/x", .userInfo), ("https://u:p@fcm.googleapis.com/x", .userInfo),
            ("https://fcm.googleapis.com/x#", .fragment),
            ("https://fcm.googleapis.com#@evil.example/", .fragment),
            ("https:///x", .host), ("https://:443/x", .host), ("https://a..b/x", .host),
            ("https://a.b./x", .host),
            ("https://-a.example/x", .host), ("https://%61.example/x", .host), ("https://[::1/x", .host),
            ("https://[::1]x/x", .host), ("https://[fe80::1%25eth0]/x", .host),
            ("https://127.1/x", .host), ("https://2130706433/x", .host), ("https://0x7f000001/x", .host),
            ("https://0x7f.1/x", .host), ("https://0177.0.0.01/x", .host), ("https://1.2.3.4.5/x", .host),
            ("https://a.example:/x", .port), ("https://a.example:0/x", .port),
            ("https://a.example:65536/x", .port),
            ("https://a.example:+443/x", .port), ("https://a.example:443:443/x", .port),
        ] as [(String, SubscriptionRefusal)])
    func endpointRefusals(_ endpoint: String, _ expected: SubscriptionRefusal) {
        #expect(Self.refusal(endpoint) == expected)
        #expect(expected.field == .endpoint)
    }

    @Test("an endpoint may have 2,048 bytes and no more")
    func endpointLength() {
        let start = "https://fcm.googleapis.com/"
        let longest = start + String(repeating: "a", count: 2_048 - start.count)
        #expect(Self.refusal(longest) == nil)
        #expect(Self.refusal(longest + "a") == .endpointTooLong)
    }

    @Test("an identity is the endpoint's SHA-256, and nothing that is printed shows the endpoint")
    func identity() throws {
        let subscription = Subscription(
            endpoint: try PushEndpoint(Fixture.endpoint), keys: try Fixture.keys())
        let identity = subscription.endpoint.identity
        #expect(identity.count == 64)
        #expect(identity == SHA256.digest(Array(Fixture.endpoint.utf8)).map { Self.hex($0) }.joined())
        #expect("\(subscription)" == "updates.push.services.mozilla.com#\(identity.prefix(8))")
        var dumped = ""
        dump(subscription, to: &dumped)
        for text in ["\(subscription)", String(reflecting: subscription), dumped, "\(subscription.keys)"] {
            #expect(!text.contains("wpush"))
            #expect(!text.contains("37, 113"), "the public key's first bytes")
        }
    }

    private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    @Test("keys are refused with the field that is wrong")
    func keys() {
        func refusal(_ p256dh: String, _ auth: String = Fixture.auth) -> SubscriptionRefusal? {
            do throws(SubscriptionRefusal) {
                _ = try SubscriptionKeys(p256dh: p256dh, auth: auth)
                return nil
            } catch { return error }
        }
        let point = Fixture.bytes(Fixture.agentPublic)
        func text(_ change: (inout [UInt8]) -> Void) -> String {
            var bytes = point
            change(&bytes)
            return Base64.urlText(bytes)
        }
        #expect(refusal(Fixture.agentPublic) == nil)
        #expect(refusal(Fixture.agentPublic + "=") == nil)
        #expect(refusal(String(Fixture.agentPublic.map { $0 == "_" ? "/" : $0 == "-" ? "+" : $0 })) == nil)
        #expect(refusal("") == .publicKeyFormat)
        #expect(refusal("!") == .publicKeyFormat)
        #expect(refusal(text { $0.removeLast() }) == .publicKeyFormat)
        #expect(refusal(text { $0[0] = 2 }) == .publicKeyFormat)
        #expect(refusal(text { $0[64] ^= 1 }) == .publicKeyNotOnCurve)
        #expect(refusal(text { $0 = [4] + [UInt8](repeating: 0, count: 64) }) == .publicKeyNotOnCurve)
        #expect(refusal(Fixture.agentPublic, "") == .authSize)
        #expect(refusal(Fixture.agentPublic, "AAAA") == .authSize)
        #expect(refusal(Fixture.agentPublic, "ä") == .authSize)
        #expect(SubscriptionRefusal.publicKeyNotOnCurve.field.rawValue == "keys.p256dh")
        #expect(SubscriptionRefusal.authSize.field.rawValue == "keys.auth")
    }

    @Test("every refusal has its own message")
    func messages() {
        #expect(
            Set(SubscriptionRefusal.allCases.map(\.description)).count == SubscriptionRefusal.allCases.count)
    }
}

@Suite("Which hosts are allowed", .timeLimit(.minutes(1)))
struct HostRuleTests {
    private static func permission(_ url: String, _ more: [String] = []) throws -> HostRule.Permission? {
        try HostRule(more: more).permission(for: PushEndpoint(url))
    }

    @Test("the known services at port 443, and nothing that looks like them")
    func known() throws {
        for host in [
            "fcm.googleapis.com", "jmt17.google.com", "updates.push.services.mozilla.com",
            "web.push.apple.com",
            "wns2-par02p.notify.windows.com", "FCM.googleapis.com", "fcm.googleapis.com:443",
        ] {
            #expect(try Self.permission("https://\(host)/x") == .publicAddresses, "\(host)")
        }
        for host in [
            "fcm.googleapis.com:8443", "fcm.googleapis.com.evil.example", "evil-fcm.googleapis.com",
            "notify.windows.com", "evilnotify.windows.com", "permanently-removed.invalid", "127.0.0.1",
            "[::1]",
            "127.0.0.1:443", "web.push.apple.com.",
        ] {
            #expect((try? Self.permission("https://\(host)/x")) ?? nil == nil, "\(host)")
        }
        #expect(try Self.permission("https://127.0.0.1/fcm.googleapis.com/x") == nil)
    }

    @Test("names and suffixes mean port 443 at public addresses; a named host and port may be private")
    func more() throws {
        let more = [
            "ntfy.example", "*.push.example", "cloud.internal:8443", "10.0.0.7:443", "[fd00::7]:8443",
        ]
        #expect(try Self.permission("https://ntfy.example/up", more) == .publicAddresses)
        #expect(try Self.permission("https://ntfy.example:8443/up", more) == nil)
        #expect(try Self.permission("https://a.b.push.example/up", more) == .publicAddresses)
        #expect(try Self.permission("https://push.example/up", more) == nil)
        #expect(try Self.permission("https://cloud.internal:8443/up", more) == .anyAddress)
        #expect(try Self.permission("https://cloud.internal/up", more) == nil)
        #expect(try Self.permission("https://10.0.0.7/up", more) == .anyAddress)
        #expect(try Self.permission("https://[FD00:0::7]:8443/up", more) == .anyAddress)
        #expect(try Self.permission("https://fcm.googleapis.com/x", more) == .publicAddresses)
        #expect(try Self.permission("https://other.example/x", more) == nil)
    }

    @Test("any: every name and public address, at port 443")
    func any() throws {
        #expect(try Self.permission("https://ntfy.example/up", ["any"]) == .publicAddresses)
        #expect(try Self.permission("https://8.8.8.8/up", ["any"]) == .publicAddresses)
        #expect(try Self.permission("https://[2606:4700::1]/up", ["any"]) == .publicAddresses)
        for host in [
            "127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "[fe80::1]", "a.example:8443",
        ] {
            #expect(try Self.permission("https://\(host)/up", ["any"]) == nil, "\(host)")
        }
    }

    @Test(
        "an entry that isn't a host is refused by name",
        arguments: [
            "", "https://ntfy.example", "ntfy.example/", "*", "*.", "*.127.0.0.1", "a b", "a:b",
            "*.a.example:443",
        ])
    func badEntries(_ entry: String) {
        let error = #expect(throws: HostRuleError.self) { try HostRule(more: ["ntfy.example", entry]) }
        #expect(error?.entry == entry)
    }

    @Test("services are told by their hosts")
    func services() {
        #expect(PushService(host: "web.push.apple.com") == .apple)
        #expect(PushService(host: "jmt17.google.com") == .google)
        #expect(PushService(host: "updates.push.services.mozilla.com") == .mozilla)
        #expect(PushService(host: "wns2-par02p.notify.windows.com") == .microsoft)
        #expect(PushService(host: "ntfy.sh") == .other)
    }
}
