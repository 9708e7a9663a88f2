import Programs
import Spelling
import Storage
import Testing

@testable import Relay

@Suite("Types of settings", .timeLimit(.minutes(2)))
struct SettingTypeTests {
    @Test(
        "Durations are a whole number and a unit",
        arguments: [
            ("500ms", 500), ("10s", 10_000), ("5m", 300_000), ("24h", 86_400_000), ("30d", 2_592_000_000),
            ("0s", 0),
        ])
    func durations(text: String, milliseconds: Int64) {
        #expect(DurationText.parse(text) == .milliseconds(milliseconds))
    }

    @Test(
        "Nothing else is a duration",
        arguments: [
            "", "10", "s", "1.5s", "-1s", "+1s", " 1s", "1s ", "1 s", "1S", "1w", "99999999999999999999s",
            "9223372036854775807d", "١s",
        ])
    func noDurations(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test(
        "A rendered duration is read as the same",
        arguments: [0, 1, 999, 1000, 1500, 60_000, 86_400_000, 172_800_000])
    func rendered(milliseconds: Int64) {
        let duration = Duration.milliseconds(milliseconds)
        #expect(DurationText.parse(DurationText.render(duration)) == duration)
    }

    @Test("A day is shown in hours, two days as days")
    func days() {
        #expect(DurationText.render(.seconds(86_400)) == "24h")
        #expect(DurationText.render(.seconds(30 * 86_400)) == "30d")
        #expect(DurationText.render(.milliseconds(1500)) == "1500ms")
    }

    @Test(
        "Whole numbers are digits in the range, no more",
        arguments: [
            "", "+1", "-1", "1.0", "0x1", " 1", "1 ", "11", "1e1", "٣", "99999999999999999999",
        ])
    func noIntegers(text: String) {
        #expect(SettingType.integer(0...10).parse(text) == .failure(.notAccepted))
    }

    @Test(
        "An address to listen on has a port, and IPv6 stands in brackets",
        arguments: [
            ("127.0.0.1:8788", "127.0.0.1:8788"), ("0.0.0.0:0", "0.0.0.0:0"), ("[::1]:65535", "[::1]:65535"),
            ("[0:0::1]:80", "[::1]:80"), ("off", "off"),
        ])
    func listenAddress(text: String, rendered: String) throws {
        let type = SettingType.listenAddress
        let address = try type.parse(text).get()
        #expect(type.render(address) == rendered)
        #expect(try type.parse(type.render(address)).get() == address)
    }

    @Test(
        "Nothing else is an address to listen on",
        arguments: [
            "", "8788", ":8788", "localhost:8788", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
            "127.0.0.1:+1",
            "::1:8788", "[127.0.0.1]:8788", "[::1]", "[::1]8788", "127.0.0.1:8788 ", "OFF", "on",
        ])
    func noListenAddress(text: String) {
        #expect(SettingType.listenAddress.parse(text) == .failure(.notAccepted))
    }

    @Test("Origins are https URLs of a host and a port")
    func origins() {
        #expect(APNsOrigin(url: "https://127.0.0.1:8443")?.description == "https://127.0.0.1:8443")
        #expect(APNsOrigin(url: "https://[::1]:8443/")?.host == "::1")
        #expect(APNsOrigin(url: "https://[::1]:8443/")?.description == "https://[::1]:8443")
        #expect(APNsOrigin(url: "https://[::1]")?.port == 443)
        #expect(APNsOrigin(url: "https://api.push.apple.com:2197")?.isApple == true)
        #expect(APNsOrigin(url: "https://api.push.apple.com.example.org")?.isApple == false)
        #expect(APNsOrigin(url: "https://notpush.apple.com")?.isApple == false)
    }

    @Test(
        "Nothing else is an origin",
        arguments: [
            "", "https://", "http://a", "a", "a:443", "https://a:", "https://a:0", "https://a:65536",
            "https://a/b",
            "https://a?b", "https://u@a", "https://a b", "https://[::1", "https://[::1]x", "https://[x]",
            "https://a:4a",
            "https://a:+443",
        ])
    func noOrigins(text: String) {
        #expect(APNsOrigin(url: text) == nil)
    }

    @Test("Addresses are IPv4 or IPv6, names are not")
    func addresses() {
        for text in ["127.0.0.1", "0.0.0.0", "::", "::1", "2001:db8::1"] {
            #expect(SettingType<String>.address.parse(text) == .success(text))
        }
        for text in ["", "1.2.3", "[::1]", "127.0.0.1:80", "example.org"] {
            #expect(SettingType<String>.address.parse(text) == .failure(.notAccepted))
        }
    }

    @Test("A database URL's scheme decides, and its driver reads the rest")
    func databases() {
        #expect(DatabaseURL.parse("sqlite:relay.db") == .success(.sqlite(path: "relay.db")))
        let known = "sqlite:, postgres:, postgresql:, mysql:, mariadb:"
        #expect(
            DatabaseURL.parse("relay.db")
                == .failure(.because("it has no scheme; it must start with one of \(known)")))
        #expect(
            DatabaseURL.parse("oracle:x")
                == .failure(.because("its scheme is unknown; it must start with one of \(known)")))
        #expect(
            DatabaseURL.parse("sqlite:")
                == .failure(.because("The SQLite database has no file name: sqlite:relay.db")))
        #expect(
            DatabaseURL.parse("postgres://u:p@h/d?sslmod=require")
                == .failure(.because("The Postgres URL has an unknown key \"sslmod\"; did you mean sslmode?"))
        )
        for (text, engine) in [
            ("postgres://u:p@h/d", DatabaseEngine.postgres), ("postgresql://h/d", .postgres),
            ("mysql://u:p@h/d", .mysql), ("mariadb://u:p@h/d", .mysql),
        ] {
            #expect((try? DatabaseURL.parse(text).get())?.engine == engine, "\(text)")
        }
    }

    @Test("A swap of neighbours counts as one step")
    func distances() {
        #expect(EditDistance.between("", "") == 0)
        #expect(EditDistance.between("abc", "") == 3)
        #expect(EditDistance.between("kitten", "sitting") == 3)
        #expect(EditDistance.between("TEMA", "TEAM") == 1)
    }

    @Test("Only a near name is suggested")
    func nearest() {
        #expect(EditDistance.nearest(to: "--prot", among: ["--host", "--port"]) == "--port")
        #expect(EditDistance.nearest(to: "--xyzzy", among: ["--host", "--port"]) == nil)
        #expect(EditDistance.nearest(to: "a", among: []) == nil)
    }
}
