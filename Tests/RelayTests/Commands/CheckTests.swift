import APNs
import JSON
import Network
import Programs
import Storage
import Testing
import WebClient

@testable import Relay

@Suite("relay check: what findings mean and how they look", .timeLimit(.minutes(2)))
struct CheckFindingTests {
    // MARK: Text and JSON

    private static let report = CheckReport(findings: [
        .ok(.configuration, "", "relay serve can start with it"),
        .fault(.keyExposed, .key, "/k.p8", "mode 0644: every user can read it"),
        .fault(.badSetting, .configuration, "", "control \u{1B}[31m character"),
        .skipped(.clock, "", "nobody told the time"),
    ])

    @Test("A finding stands in aligned columns, its advice below, control characters escaped")
    func text() {
        let lines = Self.report.findings.map { CheckText.text($0, .plain) }
        #expect(lines[0] == "ok       configuration  relay serve can start with it\n")
        #expect(lines[1].hasPrefix("warning  key            /k.p8: mode 0644: every user can read it\n"))
        let advice = lines[1].split(separator: "\n").dropFirst()
        #expect(advice.first?.hasPrefix(String(repeating: " ", count: 24) + "> Restrict access") == true)
        #expect(advice.allSatisfy { $0.count <= 110 })
        #expect(!lines[2].contains("\u{1B}"))
        #expect(CheckText.summary(Self.report, .plain) == "\n1 failed, 1 warning, 1 ok, 1 skipped\n")
        #expect(
            CheckText.text(Self.report.findings[0], OutputStyle(isTerminal: true, [:])).contains(
                "\u{1B}[32mok"))
    }

    @Test("JSON has every finding, and is ok when nothing failed")
    func json() throws {
        let body = try JSON.parse(Self.report.body, maxBytes: 65_536)
        #expect(body["ok"]?.bool == false && body["failed"]?.int == 1 && body["warnings"]?.int == 1)
        let key = try #require(body["checks"]?.array?[1])
        #expect(key["check"]?.string == "key" && key["status"]?.string == "warning")
        #expect(key["fault"]?.string == "key_exposed" && key["subject"]?.string == "/k.p8")
        #expect(key["advice"]?.string == CheckFault.keyExposed.advice)
        let good = try JSON.parse(CheckReport(findings: [.ok(.key, "", "fine")]).body, maxBytes: 65_536)
        #expect(good["ok"]?.bool == true)
    }

    @Test("Every fault has advice of its own")
    func advice() {
        let shared: [Set<CheckFault>] = [
            [.diskLow, .diskFull], [.certificateExpired, .certificateExpiring],
        ]
        for fault in CheckFault.allCases {
            let same = Set(CheckFault.allCases.filter { $0.advice == fault.advice })
            #expect(same == [fault] || shared.contains(same), "\(fault)")
        }
    }

    @Test("A board tells parts in their order, whatever order they end in, and names those that don't")
    func board() {
        let told = Lock<[CheckFinding]>([])
        let board = CheckBoard { finding in told.withLock { $0.append(finding) } }
        board.put(.key, [.ok(.key, "", "second")])
        #expect(told.withLock { $0.isEmpty })
        board.put(.configuration, [.ok(.configuration, "", "first")])
        #expect(told.withLock { $0.map(\.text) } == ["first", "second"])
        board.put(.disk, [.ok(.disk, "", "later")])
        let report = board.finish()
        #expect(report.findings == told.withLock { $0 })
        #expect(report.findings.contains { $0.text == "later" })
        #expect(report.findings.contains { $0.fault == .tooSlow && $0.subject == "apns" })
        board.put(.apns, [.ok(.apns, "", "too late")])
        #expect(board.finish() == report)
    }

    // MARK: The way to APNs

    @Test("How a connection ended names its fault")
    func hosts() {
        let cases: [(ChannelCloseReason, ConnectStage, CheckFault)] = [
            (.unresolved("no such name"), .name, .nameNotResolved),
            (.connectTimeout, .name, .nameNotResolved),
            (.connectFailed(errno: 111), .socket, .connectionRefused),
            (.connectFailed(errno: 110), .socket, .connectionTimeout),
            (.connectFailed(errno: 101), .socket, .networkUnreachable),
            (.connectTimeout, .socket, .connectionTimeout), (.connectTimeout, .handshake, .connectionTimeout),
            (.tls("certificate refused: unable to get local issuer certificate"), .handshake, .tlsUntrusted),
            (.tls("certificate refused: hostname mismatch"), .handshake, .tlsWrongName),
            (.tls("tlsv1 alert no application protocol"), .handshake, .noHTTP2),
            (.tls("wrong version number"), .handshake, .notTLS),
            (.tls("decode error"), .handshake, .tlsFailed),
            (.peer, .handshake, .tlsFailed), (.failed(errno: 104), .handshake, .tlsFailed),
        ]
        for (reason, stage, fault) in cases {
            let finding = HostCheck.finding(.ended(reason, stage, address: nil), of: .production, .production)
            #expect(finding.fault == fault && finding.status == .failed, "\(reason)")
        }
        let good = HostCheck.Outcome.connected(address: "17.0.0.1:443", tls: "TLSv1.3", alpn: "h2")
        #expect(HostCheck.finding(good, of: .production, .production).status == .ok)
    }

    @Test("Every documented answer to a push means something, and none is taken for good by chance")
    func pushes() throws {
        let verdict = PushVerdict(
            environment: .production, topic: Topic("com.example.app"), keyID: "KEY1234567")
        for reason in Reason.Documented.allCases {
            let rejection = Rejection(status: reason.status, reason: Reason(reason))
            let finding = verdict.finding(.rejected(rejection))
            #expect((finding.status == .ok) == (reason == .badDeviceToken), "\(reason)")
            #expect(finding.text.contains(reason.name), "\(reason)")
        }
        let unknown = PushVerdict(environment: .production, topic: nil, keyID: "KEY1234567")
        let disallowed = Rejection(status: 400, reason: Reason(.topicDisallowed))
        #expect(unknown.finding(.rejected(disallowed)).status == .ok)
        let proxy = Rejection(status: 407, reason: nil)
        #expect(verdict.finding(.rejected(proxy)).fault == .unexpectedAnswer)
    }

    @Test("A key for one environment is a warning only where the other takes it")
    func keyOfOneEnvironment() {
        let other = CheckFinding.fault(.keyOfOtherEnvironment, .push, "sandbox", "403")
        #expect([other].withKeysOfOneEnvironment().map(\.status) == [.failed])
        let good = CheckFinding.ok(.push, "production", "400 BadDeviceToken")
        #expect([good, other].withKeysOfOneEnvironment().map(\.status) == [.ok, .warning])
    }

    // MARK: The machine

    @Test("Clocks may differ by 30 s before anybody hears of it, and by 5 minutes at most")
    func clocks() {
        func finding(_ skew: EpochMilliseconds) -> CheckFinding? {
            ClockCheck.findings([.init(name: "APNs", server: 1_000_000, local: 1_000_000 + skew)]).first
        }
        for (skew, status) in [
            (EpochMilliseconds(0), CheckStatus.ok), (29_000, .ok), (-29_000, .ok), (31_000, .warning),
            (-31_000, .warning), (300_000, .warning), (301_000, .failed), (-7_200_000, .failed),
        ] { #expect(finding(skew)?.status == status, "\(skew)") }
        #expect(finding(-7_200_000)?.text == "2 h behind APNs's")
        #expect(ClockCheck.findings([]).map(\.status) == [.skipped])
    }

    @Test("The database server's clock may differ by as much as relays that share it allow")
    func databaseClock() {
        func status(_ skew: EpochMilliseconds) -> CheckStatus? {
            let inspection = DatabaseInspection(
                missingSteps: [], hasDevices: nil,
                clock: ClockReading(server: 1_000_000, local: 1_000_000 + skew), write: .done)
            let found = DatabaseCheck.Found(place: "p", engine: .postgres, outcome: .success(inspection))
            return found.clock.flatMap { ClockCheck.findings([$0]).first?.status }
        }
        #expect(status(29_000) == .ok && status(60_000) == .warning)
        #expect(status(60_001) == .failed && status(-60_001) == .failed)
    }

    @Test("A certificate's dates and order")
    func certificates() {
        let day: Int64 = 86_400
        func faults(_ chain: [Certificate]) -> [CheckFault?] {
            CertificateCheck.findings(chain, file: "c.pem", now: 100 * day).map(\.fault)
        }
        func leaf(_ from: Int64, _ to: Int64, issued: Bool? = nil) -> Certificate {
            Certificate(notBefore: from * day, notAfter: to * day, isIssuedByNext: issued)
        }
        #expect(faults([leaf(0, 122)]) == [nil])
        #expect(faults([leaf(0, 120)]) == [.certificateExpiring])
        #expect(faults([leaf(0, 100)]) == [.certificateExpired])
        #expect(faults([leaf(101, 200)]) == [.certificateExpired])
        #expect(faults([leaf(0, 200, issued: true), leaf(0, 110)]) == [.certificateExpiring])
        #expect(faults([leaf(0, 200, issued: false), leaf(0, 200)]) == [.certificateChain])
    }

    @Test("Room on the disk, open files, a key file's mode and name")
    func machine() {
        func disk(_ mebibytes: Int64, inodes: Bool = true) -> CheckFault? {
            DiskCheck.finding(free: mebibytes * 1_048_576, hasInodes: inodes, folder: ".").fault
        }
        #expect(disk(600) == nil && disk(511) == .diskLow && disk(15) == .diskFull)
        #expect(disk(600, inodes: false) == .diskFull)
        #expect(FileLimitCheck.finding(limit: 1_024, connectionsMax: 1_000).fault == .fileLimit)
        #expect(FileLimitCheck.finding(limit: 2_048, connectionsMax: 1_000).status == .ok)
        #expect(FileMode(bits: 0o640).isExposed(at: "/k.p8") == false)
        #expect(FileMode(bits: 0o660).isExposed(at: "/k.p8"))
        #expect(FileMode(bits: 0o644).isExposed(at: "/run/secrets/apns-key") == false)
        #expect(FileMode(bits: 0o600).text == "0600")
        #expect(KeyCheck.keyIDInName(of: "/etc/AuthKey_ABCDE12345.p8") == "ABCDE12345")
        #expect(KeyCheck.keyIDInName(of: "/etc/relay/apns-key.p8") == nil)
    }

    @Test("What `/ready` answers, or something else in its place")
    func relay() {
        func fault(_ status: Int, _ body: String) -> CheckFault? {
            RelayCheck.finding(WebAnswer(status: status, body: Array(body.utf8)), "http://x").fault
        }
        #expect(fault(200, #"{"ok":true,"checks":{"storage":"ok","apns":"ok"}}"#) == nil)
        #expect(fault(503, #"{"ok":false,"checks":{"storage":"unavailable","apns":"ok"}}"#) == .relayNotReady)
        #expect(fault(200, "<html>") == .relayUnknown)
    }

    // MARK: Devices

    @Test("The reason of a device's last push names what to do")
    func reasons() {
        for (reason, fault) in [
            ("Unregistered", CheckFault.deviceUnregistered), ("BadDeviceToken", .deviceTokenBad),
            ("TopicDisallowed", .bundleRefused), ("ServiceUnavailable", .apnsTrouble),
            ("ConnectTimeout", .connectionTimeout), ("UnknownBundle", .deviceAppUnknown),
            ("QueueFull", .noAnswer), ("Something New", .lastPushFailed),
        ] { #expect(PushReason.fault(of: reason) == fault, "\(reason)") }
    }

    @Test("A device that registered anew after its last failure is warned of, one that didn't has failed")
    func devices() throws {
        let hash = SecretHasher().key(of: Secret("a secret of this test")).primary
        func device(updatedAt: EpochMilliseconds) -> Device {
            Device(
                id: "d", secretHash: hash, token: String(repeating: "ab", count: 32),
                bundleID: "com.example.app",
                environment: .production, createdAt: 0, updatedAt: updatedAt)
        }
        let last = Delivery(
            id: "l", secretHash: hash, eventType: "complete", sessionID: "s", status: .failed,
            error: "Unregistered", createdAt: 1_000, deviceID: "d")
        func statuses(_ devices: [Device]) -> [CheckStatus] {
            DeviceCheck.findings(devices, last: [last], newest: last, apps: nil).map(\.status)
        }
        #expect(statuses([device(updatedAt: 500)]) == [.failed])
        #expect(statuses([device(updatedAt: 2_000)]) == [.warning])
        let none = DeviceCheck.findings([], last: [], newest: last, apps: nil)
        #expect(none.map(\.fault) == [.secretWithoutDevices])
        #expect(none[0].text.contains("Unregistered"))
    }

    // MARK: Settings

    @Test("Problems are those of relay serve, and what has none can be used all the same")
    func settings() throws {
        let sources = SettingSources(environment: [
            "PORT": "x", "RELAY_NONSENSE": "1", "DATABASE_URL": "sqlite:a.db",
        ])
        let check = CheckConfiguration(sources)
        let problems = #expect(throws: ConfigurationError.self) { try ServeConfiguration(sources) }
        #expect(check.problems.sorted() == problems?.problems.sorted())
        #expect(check.server == nil && check.apps == nil && check.keyFile == nil)
        #expect(check.database != nil && check.servers != nil)
    }
}

@Suite("relay send: what is sent", .timeLimit(.minutes(2)))
struct SendContentTests {
    @Test("A notification without words has some, an event has its type and session")
    func content() throws {
        func sent(_ options: [(CommandOption, String)]) throws -> JSON.Value {
            var given = CommandOptions()
            for (option, text) in options { try given.add(option, text) }
            let configuration = try SendConfiguration(SettingSources(), given)
            return try JSON.parse(configuration.content.body(secret: "a \"secret\""), maxBytes: 65_536)
        }
        let plain = try sent([])
        #expect(plain["secret"]?.string == "a \"secret\"")
        #expect(plain["notification"]?["title"]?.string == "Test notification")
        let titled = try sent([(.title, "T")])
        #expect(titled["notification"]?["title"]?.string == "T" && titled["notification"]?["body"] == nil)
        let event = try sent([(.eventType, "permission"), (.body, "B")])
        #expect(event["eventType"]?.string == "permission" && event["sessionID"]?.string == "relay-send")
        #expect(event["body"]?.string == "B" && event["notification"] == nil)
    }

    @Test("Without a URL it is this machine's relay, whose certificate is for another name")
    func places() throws {
        let local = try SendConfiguration(SettingSources(environment: ["HOST": "0.0.0.0"]), CommandOptions())
        #expect(local.url == "http://127.0.0.1:8787/v1/notify" && local.isLocal)
        var options = CommandOptions()
        try options.add(.url, "https://relay.example/")
        try options.add(.eventType, "error")
        let remote = try SendConfiguration(SettingSources(environment: ["PORT": "0"]), options)
        #expect(remote.url == "https://relay.example/v1/event" && remote.trust == .system)
    }
}
