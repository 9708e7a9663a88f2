import Testing

@testable import PushSealing

@Suite(.timeLimit(.minutes(1)))
struct PairingTests {
    private static let stock =
        #"{"v":1,"serverID":"9f2c1a0b3d4e5f60","relayURL":"https://relay.example.org","relaySecret":"s3cret","hosts":["http://100.64.0.7:4096","http://192.168.1.20:4096"]}"#

    @Test("OpenCode's pairing is read as JSON and as a link, and a key isn't required")
    func stock() throws {
        let pairing = try Pairing(parsing: Self.stock)
        #expect(pairing.relayURL == "https://relay.example.org" && pairing.relaySecret == "s3cret")
        #expect(pairing.hosts == ["http://100.64.0.7:4096", "http://192.168.1.20:4096"])
        #expect(pairing.serverID == "9f2c1a0b3d4e5f60" && pairing.key == nil)
        #expect(pairing.json == Self.stock)
        let link = pairing.link()
        #expect(link.hasPrefix("mobilevoice:///?pair=%7B%22v%22%3A1%2C"))
        for text in [
            link, link + "\n", "https://x.example/a?b=c&payload=" + link.split(separator: "=")[1] + "#f",
            pairing.pageLink, "https://x.example/a?b=c#d=e&payload=" + link.split(separator: "=")[1],
        ] {
            #expect(try Pairing(parsing: text) == pairing)
        }
        #expect(try Pairing(parsing: " \n" + Self.stock + "\n") == pairing)
    }

    @Test("A pairing without a relay means nobody's, so that no third party gets its secret")
    func relayURL() throws {
        for text in [
            #"{"relaySecret":"s","hosts":["h"]}"#, #"{"relayURL":"","relaySecret":"s","hosts":["h",1]}"#,
        ] {
            #expect(throws: PairingFailure.missing("relayURL")) { try Pairing(parsing: text) }
        }
        #expect(
            try Pairing(parsing: #"{"relayURL":"10.0.0.1:8787/","relaySecret":"s","hosts":["h"]}"#).relayURL
                == "http://10.0.0.1:8787")
    }

    @Test("A new pairing can be read again, with its key and the secret derived from it")
    func made() throws {
        let pairing = try Pairing(
            relayURL: "HTTPS://relay.example/push/", hosts: ["http://h:1"], serverID: "ünï & co?")
        let key = try #require(pairing.key)
        #expect(pairing.relayURL == "https://relay.example/push" && pairing.relaySecret == key.relaySecret)
        #expect(try Pairing(parsing: pairing.json) == pairing)
        #expect(try Pairing(parsing: pairing.link(scheme: "my-app")) == pairing)
        #expect(pairing.link(scheme: "my-app").hasPrefix("my-app:///?pair="))
        #expect(try Pairing(relayURL: "https://r", hosts: ["h"]).key != key)
    }

    @Test(
        "What looks like a key but isn't exactly one is refused, and never taken for a pairing without a key")
    func damagedKey() throws {
        let pairing = try Pairing(relayURL: "https://r", hosts: ["h"])
        let key = try #require(pairing.key?.base64URL)
        func parse(_ members: String) throws -> Pairing {
            try Pairing(
                parsing:
                    #"{"relayURL":"https://r","relaySecret":"\#(pairing.relaySecret)","hosts":["h"],\#(members)}"#
            )
        }
        #expect(try parse(#""key":"\#(key)","later":{"k":1}"#) == pairing)
        for name in [
            "Key", "KEY", "key ", " key", "kye", "ey", "keys", "k\u{0435}y", "“key”", "pairingKey", "secret",
            "x",
        ] {
            #expect(throws: PairingFailure.self, "\(name)") { try parse(#""\#(name)":"\#(key)""#) }
            guard name != "secret" && name != "x" && name != "ey" && name != "kye" else { continue }
            #expect(throws: PairingFailure.self, "\(name)") { try parse(#""\#(name)":"damaged""#) }
        }
        for value in ["“\(key)”", key + "=", " " + key, String(key.dropLast()), "", key + key] {
            #expect(throws: PairingFailure.invalid("key"), "\(value)") { try parse(#""key":"\#(value)""#) }
        }
        for text in [
            #"{“relaySecret”:“s”,“hosts”:[“h”]}"#,
            #"{"relayURL":"https://r","relaySecret":"s","hosts":["h"]} key"#,
        ] {
            #expect(throws: PairingFailure.notAPairing) { try Pairing(parsing: text) }
        }
        for name in ["relayUrl", "relayurl", "RelayURL", "Hosts", "relaysecret", "serverId"] {
            let text =
                #"{"relayURL":"https://r","relaySecret":"s","hosts":["h"],"serverID":"x","\#(name)":"y"}"#
            #expect(throws: PairingFailure.self, "\(name)") { try Pairing(parsing: text) }
        }
    }

    @Test("A one-time code opens the server at each of its addresses, and isn't in the JSON that apps store")
    func code() throws {
        let text =
            #"{"relayURL":"https://r","relaySecret":"s","hosts":["https://t.example/","box:1","a b"],"code":"#
        let pairing = try Pairing(parsing: text + #""Ab3_-xYz0123456789abcd"}"#)
        #expect(
            pairing.connectURLs == [
                "https://t.example/auth/connect/Ab3_-xYz0123456789abcd",
                "http://box:1/auth/connect/Ab3_-xYz0123456789abcd",
            ])
        #expect(!pairing.json.contains("code"))
        for link in [pairing.link(), pairing.pageLink] { #expect(try Pairing(parsing: link) == pairing) }
        let key = PairingSecret().base64URL
        #expect(try Pairing(parsing: text + "\"\(key)\"}").code == key, "a code as long as a key")
        let long = String(repeating: "x", count: 129)
        for wrong in ["null", "5", "\"\"", "\"../x\"", "\"a b\"", "\"\(long)\""] {
            let plain = try Pairing(parsing: text + wrong + "}")
            #expect(plain.code == nil && plain.connectURLs.isEmpty, "\(wrong)")
        }
    }

    @Test("A secret that doesn't belong to the key is refused")
    func mismatch() throws {
        let pairing = try Pairing(relayURL: "https://relay.example", hosts: ["h"])
        let changed = pairing.json.replacing(pairing.relaySecret, with: PairingSecret().relaySecret)
        #expect(throws: PairingFailure.secretMismatch) { try Pairing(parsing: changed) }
    }

    @Test(
        "What isn't a pairing is refused for its reason",
        arguments: [
            ("", PairingFailure.notAPairing), ("hello", .notAPairing), ("[]", .notAPairing),
            ("mobilevoice:///", .notAPairing), ("mobilevoice:///?pair=", .notAPairing),
            ("mobilevoice:///?pair=%7", .notAPairing), ("https://r/app/#pair=%7", .notAPairing),
            ("mobilevoice:///?pear=%7B%7D", .notAPairing),
            (#"{"relaySecret":"s","hosts":["h"]"#, .notAPairing),
            (#"{"relaySecret":"s","relaySecret":"s","hosts":["h"]}"#, .notAPairing),
            ("{}", .missing("relaySecret")),
            (#"{"relayURL":"https://r","relaySecret":"","hosts":["h"]}"#, .missing("relaySecret")),
            (#"{"relaySecret":1,"hosts":["h"]}"#, .invalid("relaySecret")),
            (#"{"relaySecret":"s"}"#, .missing("hosts")),
            (#"{"relayURL":"https://r","relaySecret":"s","hosts":[]}"#, .missing("hosts")),
            (#"{"relayURL":"https://r","relaySecret":"s","hosts":[1]}"#, .missing("hosts")),
            (#"{"v":2,"relaySecret":"s","hosts":["h"]}"#, .unsupportedVersion),
            (#"{"relayURL":"ftp://r","relaySecret":"s","hosts":["h"]}"#, .invalid("relayURL")),
            (#"{"relayURL":"https://","relaySecret":"s","hosts":["h"]}"#, .invalid("relayURL")),
            (#"{"relayURL":"https://u:p@r","relaySecret":"s","hosts":["h"]}"#, .invalid("relayURL")),
            (#"{"relayURL":"https://r","relaySecret":"s","hosts":["h"],"key":"short"}"#, .invalid("key")),
            (
                #"{"relayURL":"https://r","relaySecret":"s","hosts":["h"],"serverID":null}"#,
                .invalid("serverID")
            ),
        ])
    func refused(text: String, failure: PairingFailure) {
        #expect(throws: failure) { try Pairing(parsing: text) }
        #expect(!failure.description.isEmpty)
    }
}
