import CSQLite
import ChildProcess
import Foundation
import JSON
import Network
import Testing

/// `relay check` on set-ups with one fault each: it reports that fault and nothing else.
@Suite("relay check", .timeLimit(.minutes(3)))
struct CheckTests {
    @Test("finds no fault in a correct setup, and says so in text as well")
    func good() async throws {
        try await CheckStand.run { stand in
            let result = try await stand.check()
            #expect(result.status == 0 && result.failed.isEmpty && result.warned.isEmpty, "\(result)")
            #expect(result.text("apns").contains("HTTP/2"), "\(result)")
            #expect(result.text("push").contains("400 BadDeviceToken"), "\(result)")
            #expect(!FileManager.default.fileExists(atPath: stand.directory.file("relay.db")))

            let program = try Program("relay", ["check"], environment: stand.environment)
            #expect(try await program.ended() == 0)
            #expect(program.lines.contains { $0.hasPrefix("ok       key") }, "\(program.output)")
            #expect(program.lines.last == "10 ok, 3 skipped", "\(program.output)")
            #expect(!program.output.contains("\u{1B}"))
        }
    }

    @Test("prints results while it waits for the rest, and ends at Ctrl-C")
    func interrupted() async throws {
        try await CheckStand.run { stand in
            let silent = try await FakeServer(on: stand.loop)
            let changes = [
                "APNS_PRODUCTION_URL": "https://localhost:\(silent.port)", "APNS_CONNECT_TIMEOUT": "60s",
            ]
            let program = try Program(
                "relay", ["check"], environment: stand.environment.merging(changes) { $1 })
            _ = try await program.line("it knows the key") { $0.hasPrefix("ok       key") }
            let began = ContinuousClock.now
            program.signal(SIGINT)
            #expect(try await program.ended() == 130)
            // A single step would have taken 10 s.
            #expect(ContinuousClock.now - began < .seconds(8))
        }
    }

    // MARK: Settings and keys

    @Test("an unknown setting")
    func unknownSetting() async throws {
        try await CheckStand.run { stand in
            let result = try await stand.check(["RELAY_QEUE_MAX": "1"])
            #expect(result.status == 1 && result.failed == ["bad_setting"], "\(result)")
            #expect(result.text("bad_setting").contains("did you mean RELAY_QUEUE_MAX?"), "\(result)")
            // The other checks still run.
            #expect(result.text("push").contains("400 BadDeviceToken"), "\(result)")
        }
    }

    @Test("a key file that is missing, of another kind, damaged or encrypted")
    func badKeys() async throws {
        try await CheckStand.run { stand in
            let missing = try await stand.check(["APNS_PRIVATE_KEY_FILE": stand.directory.file("none.p8")])
            #expect(missing.failed == ["bad_setting", "key_unreadable"], "\(missing)")
            #expect(missing.text("key_unreadable").contains("No such file"), "\(missing)")
            let cases = [
                (BadKeys.rsa, "not an elliptic-curve key"), (BadKeys.p384, "another curve"),
                ("garbage\n", "neither the text"),
                (BadKeys.encrypted, "encrypted with a password"),
            ]
            for (index, (key, words)) in cases.enumerated() {
                let path = try stand.write(key, to: "bad-\(index).p8")
                let result = try await stand.check(["APNS_PRIVATE_KEY_FILE": path])
                #expect(result.failed == ["bad_setting", "key_unusable"], "\(result)")
                #expect(result.text("key_unusable").contains(words), "\(result)")
                #expect(!Self.shows(result.output, linesOf: key))
            }
        }
    }

    @Test("a key file that every user can read, or that is named after another key")
    func exposedKey() async throws {
        try await CheckStand.run { stand in
            let key = try String(contentsOfFile: stand.directory.file("key.p8"), encoding: .utf8)
            let path = try stand.write(key, to: "AuthKey_OTHERKEY12.p8", mode: 0o666)
            let result = try await stand.check(["APNS_PRIVATE_KEY_FILE": path])
            #expect(result.status == 0 && result.failed.isEmpty, "\(result)")
            #expect(result.warned == ["key_exposed", "key_name_differs"], "\(result)")
            #expect(!Self.shows(result.output, linesOf: key))
        }
    }

    // MARK: The way to APNs

    @Test("a name without an address, a refusing port, a silent port, and no TLS")
    func unreachable() async throws {
        try await CheckStand.run { stand in
            let silent = try await FakeServer(on: stand.loop)
            let web = try await FakeServer(on: stand.loop, says: "HTTP/1.1 400 Bad Request\r\n\r\n")
            let cases = [
                ("https://apns.invalid", "name_not_resolved"), ("https://localhost:1", "connection_refused"),
                ("https://localhost:\(silent.port)", "connection_timeout"),
                ("https://localhost:\(web.port)", "not_tls"),
            ]
            for (url, fault) in cases {
                // The sandbox has to answer in this time as well, so only the case that waits for its end shortens it.
                let time = fault == "connection_timeout" ? "5s" : "10s"
                let result = try await stand.check(["APNS_PRODUCTION_URL": url, "APNS_CONNECT_TIMEOUT": time])
                #expect(result.status == 1 && result.failed == [fault], "\(url) \(result)")
                // The other environment is still tried.
                #expect(result.text("push").contains("400 BadDeviceToken"), "\(result)")
            }
        }
    }

    @Test("an untrusted certificate, one for another name, an expired one, a file without any")
    func trust() async throws {
        try await CheckStand.run { stand in
            let untrusted = try await stand.check(["APNS_CA_FILE": ""])
            #expect(untrusted.failed == ["tls_untrusted"], "\(untrusted)")
            let noFile = try await stand.check(["APNS_CA_FILE": try stand.write("nothing", to: "ca.pem")])
            #expect(noFile.failed == ["ca_file_unusable"], "\(noFile)")
            let cases: [(certificate: SelfSignedCertificate, fault: String)] = [
                (try SelfSignedCertificate(names: ["other.test"], addresses: []), "tls_wrong_name"),
                (try SelfSignedCertificate(validFor: -7_200...(-3_600)), "tls_untrusted"),
            ]
            for (index, (certificate, fault)) in cases.enumerated() {
                let (server, file) = try await self.server(stand, certificate, "\(index)", alpn: ["h2"])
                let url = "https://localhost:\(server.port)"
                let result = try await stand.check([
                    "APNS_PRODUCTION_URL": url, "APNS_SANDBOX_URL": url, "APNS_CA_FILE": file,
                ])
                #expect(result.status == 1 && result.failed == [fault], "\(result)")
            }
        }
    }

    @Test("a server with TLS but without HTTP/2", arguments: [["http/1.1"], []])
    func noHTTP2(alpn: [String]) async throws {
        try await CheckStand.run { stand in
            let (server, file) = try await self.server(
                stand, try SelfSignedCertificate(), "server", alpn: alpn)
            let url = "https://localhost:\(server.port)"
            let result = try await stand.check([
                "APNS_PRODUCTION_URL": url, "APNS_SANDBOX_URL": url, "APNS_CA_FILE": file,
            ])
            #expect(result.status == 1 && result.failed == ["no_http2"], "\(result)")
        }
    }

    // MARK: What APNs answers

    @Test("a wrong team, and a wrong key identifier")
    func wrongCredentials() async throws {
        try await CheckStand.run { stand in
            for change in [["APNS_TEAM_ID": "OTHERTEAM1"], ["APNS_KEY_ID": "OTHERKEY12"]] {
                let result = try await stand.check(change)
                #expect(result.status == 1 && result.failed == ["provider_token_refused"], "\(result)")
                #expect(
                    result.text("provider_token_refused").contains("403 InvalidProviderToken"), "\(result)")
            }
        }
    }

    @Test("a key for only one environment is a warning, for neither a failure")
    func keyOfOneEnvironment() async throws {
        try await CheckStand.run(simulator: ["--key-environment", "production"]) { stand in
            let one = try await stand.check()
            #expect(one.status == 0 && one.warned == ["key_of_other_environment"], "\(one)")
            let url = try #require(stand.environment["APNS_SANDBOX_URL"])
            let none = try await stand.check(["APNS_PRODUCTION_URL": url])
            #expect(none.status == 1 && none.failed == ["key_of_other_environment"], "\(none)")
        }
    }

    @Test(
        "a refused bundle ID, APNs in trouble, too many requests",
        arguments: [
            ("TopicDisallowed", 400, "bundle_refused"), ("BadTopic", 400, "bundle_refused"),
            ("DeviceTokenNotForTopic", 400, "bundle_refused"), ("ServiceUnavailable", 503, "apns_trouble"),
            ("InternalServerError", 500, "apns_trouble"),
            ("TooManyProviderTokenUpdates", 429, "tokens_renewed_too_often"),
        ])
    func answers(reason: String, status: Int, fault: String) async throws {
        try await CheckStand.run { stand in
            try await stand.apns.control.put("/rules", ["reason": .string(reason)])
            let result = try await stand.check()
            #expect(result.status == 1 && result.failed == [fault], "\(result)")
            #expect(result.text(fault).contains("\(status) \(reason)"), "\(result)")
        }
    }

    @Test("too many requests are a warning, a missing answer is a failure")
    func noAnswer() async throws {
        try await CheckStand.run { stand in
            try await stand.apns.control.put("/rules", ["reason": "TooManyRequests"])
            let many = try await stand.check()
            #expect(many.status == 0 && many.warned == ["too_many_requests"], "\(many)")
            try await stand.apns.control.put("/rules", ["rules": [["action": "stall"]]])
            let silent = try await stand.check(["APNS_PUSH_TIMEOUT": "1s"])
            #expect(silent.status == 1 && silent.failed == ["no_answer"], "\(silent)")
        }
    }

    @Test("a bundle ID of another team, for each of several apps separately")
    func apps() async throws {
        try await CheckStand.run(simulator: ["--topic", Stack.bundleID]) { stand in
            let key = try #require(stand.environment["APNS_PRIVATE_KEY_FILE"])
            let app = { (id: String, environments: JSON.Value) -> JSON.Value in
                [
                    "bundleIDs": [.string(id)], "teamID": .string(Stack.teamID),
                    "keyID": .string(Stack.keyID),
                    "privateKeyFile": .string(key), "environments": environments,
                ]
            }
            let file: JSON.Value = [
                "apps": [app(Stack.bundleID, ["production"]), app("com.example.wrong", ["production"])]
            ]
            let path = try stand.write(file.encoded(), to: "apps.json")
            let changes = [
                "APNS_APPS_FILE": path, "APNS_TEAM_ID": "", "APNS_KEY_ID": "", "APNS_PRIVATE_KEY_FILE": "",
                "APNS_DEFAULT_BUNDLE_ID": "", "APNS_SANDBOX_URL": "https://localhost:1",
            ]
            let result = try await stand.check(changes)
            // No app is pushed to in the sandbox, so the sandbox server isn't needed.
            #expect(result.status == 1 && result.failed == ["bundle_refused"], "\(result)")
            #expect(result.text("bundle_refused").contains("com.example.wrong"), "\(result)")
            #expect(!result.text("bundle_refused").contains(Stack.bundleID), "\(result)")
        }
    }

    @Test("a clock that is off by a little, by much, and so much that APNs refuses the token")
    func clock() async throws {
        try await CheckStand.run { stand in
            try await stand.apns.control.put("/limits", ["clockOffset": 0])
            // A pause between the answer and its reading also looks like a wrong clock.
            _ = try await eventually {
                try await stand.check()
            } until: {
                $0.text("clock").contains("as APNs production's")
            }
            try await stand.apns.control.put("/limits", ["clockOffset": 60])
            let little = try await stand.check()
            #expect(little.status == 0 && little.warned == ["clock_off"], "\(little)")
            // A provider token may be up to 50 minutes old; ten more, and APNs may refuse it.
            try await stand.apns.control.put("/limits", ["clockOffset": 480])
            let far = try await stand.check()
            #expect(far.status == 1 && far.failed == ["clock_off"], "\(far)")
            #expect(far.text("clock_off").contains("min behind APNs production's"), "\(far)")
            try await stand.apns.control.put("/limits", ["clockOffset": 7_300])
            let refused = try await stand.check()
            #expect(refused.failed == ["clock_off", "provider_token_expired"], "\(refused)")
        }
    }

    // MARK: The relay's own certificate

    @Test("a certificate that has expired, expires soon, or doesn't match its key")
    func certificate() async throws {
        try await CheckStand.run { stand in
            let day = 86_400
            let expired = try SelfSignedCertificate(validFor: (-2 * day)...(-day))
            let soon = try SelfSignedCertificate(validFor: -day...(20 * day))
            let good = try SelfSignedCertificate()
            let cases = [
                (expired.certificate, expired.privateKey, ["certificate_expired"], [String]()),
                (soon.certificate, soon.privateKey, [], ["certificate_expiring"]),
                (good.certificate, soon.privateKey, ["certificate_unusable"], []),
                (good.certificate, good.privateKey, [], []),
            ]
            for (index, (certificate, key, failed, warned)) in cases.enumerated() {
                let result = try await stand.check([
                    "RELAY_TLS_CERT_FILE": try stand.write(certificate, to: "\(index).pem"),
                    "RELAY_TLS_KEY_FILE": try stand.write(key, to: "\(index).key"),
                ])
                #expect(result.failed == failed && result.warned == warned, "\(result)")
                #expect(!Self.shows(result.output, linesOf: String(decoding: key, as: UTF8.self)))
            }
        }
    }

    // MARK: Helpers

    private func server(
        _ stand: CheckStand, _ certificate: SelfSignedCertificate, _ name: String, alpn: [String]
    ) async throws -> (FakeServer, certificateFile: String) {
        let file = try stand.write(certificate.certificate, to: name + "-server.pem")
        let key = try stand.write(certificate.privateKey, to: name + "-server.key")
        let tls = try TLSServerContext(certificateFile: file, keyFile: key, alpn: alpn)
        return (try await FakeServer(on: stand.loop, tls: tls), file)
    }

    private static func shows(_ output: String, linesOf key: String) -> Bool {
        key.split(separator: "\n").contains {
            !$0.hasPrefix("-----") && $0 != "garbage" && output.contains($0)
        }
    }
}
