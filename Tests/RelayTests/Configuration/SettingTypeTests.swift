import Storage
import Testing

@testable import Relay

@Suite("Types of settings")
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

    @Test("A database URL's scheme decides; engines without a driver are known by name")
    func databases() {
        #expect(
            DatabaseURL.parse("sqlite:relay.db", drivers: [.sqlite]) == .success(.sqlite(path: "relay.db")))
        #expect(
            DatabaseURL.parse("postgres://u:p@h/d", drivers: [.sqlite])
                == .failure(
                    .because("Postgres comes with the next version; this one has drivers for sqlite:")))
        #expect(
            DatabaseURL.parse("mariadb://u:p@h/d", drivers: [.sqlite])
                == .failure(.because("MySQL comes with the next version; this one has drivers for sqlite:")))
        #expect(
            DatabaseURL.parse("relay.db", drivers: [.sqlite])
                == .failure(.because("it has no scheme; it must start with one of sqlite:")))
        #expect(
            DatabaseURL.parse("oracle:x", drivers: DatabaseEngine.allCases)
                == .failure(
                    .because(
                        "its scheme is unknown; it must start with one of "
                            + "sqlite:, postgres:, postgresql:, mysql:, mariadb:")))
        #expect(
            DatabaseURL.parse("sqlite:", drivers: [.sqlite])
                == .failure(.because("nothing follows its scheme")))
        #expect(
            (try? DatabaseURL.parse("mysql://h/d", drivers: DatabaseEngine.allCases).get())?.engine == .mysql)
    }
}

@Suite("Private key text")
struct PrivateKeyTextTests {
    private let body =
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2OF/2NxApJCzGCEDdfSp6VQO30hyh"
    private var lines: [String] {
        [
            "-----BEGIN PRIVATE KEY-----", String(body.prefix(64)), String(body.dropFirst(64)),
            "-----END PRIVATE KEY-----",
        ]
    }
    private var pem: String { lines.joined(separator: "\n") + "\n" }

    @Test("Every way to write a key gives the same PEM text")
    func forms() {
        // `base64 -w0` of the file, as it is often put into a variable.
        let file = encode(Array(pem.utf8))
        for text in [
            pem, lines.joined(separator: "\\n"), lines.joined(separator: "\\r\\n"),
            lines.joined(separator: "\r\n"),
            lines.joined(separator: " "), "\n  " + lines.joined(separator: "\n  "), body, file, file + "\n",
        ] {
            #expect(PrivateKeyText.normalise(text) == .success(Secret(pem)), "\(text)")
        }
    }

    @Test("What is no private key is refused with a reason that shows nothing of it")
    func refused() {
        for text in [
            "secretsecret!", "c2VjcmV0c2VjcmV0",
            "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----",
            lines.dropLast().joined(separator: "\n"),
            "-----BEGIN PRIVATE KEY-----\n\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nse*cret\n-----END PRIVATE KEY-----",
            "-----END PRIVATE KEY----- -----BEGIN PRIVATE KEY-----",
        ] {
            guard case .failure(.because(let reason)) = PrivateKeyText.normalise(text) else {
                Issue.record("accepted: \(text)")
                continue
            }
            #expect(!reason.contains("secret") && !reason.contains("AAAA"))
        }
    }

    @Test("Base64 is read with either alphabet, blanks and missing padding")
    func base64() {
        #expect(Base64.decode(Array("Zm9vYg==".utf8)) == Array("foob".utf8))
        #expect(Base64.decode(Array("Zm9v\n YmE".utf8)) == Array("fooba".utf8))
        #expect(Base64.decode(Array("-_-_".utf8)) == Base64.decode(Array("+/+/".utf8)))
        #expect(Base64.decode(Array("Zm9vY".utf8)) == nil)
        #expect(Base64.decode(Array("Zm=9v".utf8)) == nil)
        #expect(Base64.decode(Array("Zm9*".utf8)) == nil)
    }

    private func encode(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = Array(bytes[start..<min(start + 3, bytes.count)])
            let padded = group + [UInt8](repeating: 0, count: 3 - group.count)
            let bits = padded.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            for index in 0..<4 {
                text +=
                    index <= group.count ? String(alphabet[Int(bits >> UInt32(18 - 6 * index)) & 63]) : "="
            }
        }
        return text
    }
}

@Suite("Near names")
struct EditDistanceTests {
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
