import APNs
import Foundation
import HTTPServer
import JSON
import Network
import PageFiles
import Programs
import Storage
import Testing

@testable import Relay

@Suite("The operator's console", .timeLimit(.minutes(2)))
struct ConsoleTests {
    private func snapshot(sent: Int = 0, at time: EpochMilliseconds = 1_000_000) -> MetricsSnapshot {
        var snapshot = MetricsSnapshot()
        snapshot.time = time
        for _ in 0..<sent {
            snapshot.loops.counts.request(.event, status: 200, took: 3_000_000)
            snapshot.loops.counts.request(.notify, status: 429, took: 1_000_000)
            snapshot.loops.counts.request(.ready, status: 200, took: 1_000_000)
        }
        snapshot.queue.waiting = 7
        snapshot.queue.oldestDue = time - 4_000
        return snapshot
    }

    @Test("The page is the files of clients/console, with a policy that allows nothing else")
    func page() async throws {
        let router = ConsoleFixture.router(nil, token: "0123456789abcdef")
        let files = PageFile.console()
        let folder = Documents.path("../clients/console")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder).filter {
            $0 == "index.html" || $0 == "icon.svg" || $0 == "style.css"
                || $0.hasSuffix(".js") && $0.hasPrefix("src/")
        }
        #expect(files.map(\.path).sorted() == names.sorted())
        for file in files {
            let whole = try SettingFile.read(Documents.path("../clients/console/" + file.path)).get()
            let response = try await ConsoleFixture.answer("/" + file.path, of: router)
            let isSame = response.body == whole
            #expect(response.status == 200 && isSame, "\(file.path)")
            let policy = try #require(response.headers["Content-Security-Policy"])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
            let tag = try #require(response.headers["ETag"])
            #expect(
                try await ConsoleFixture.answer("/" + file.path, [("If-None-Match", tag)], of: router).status
                    == 304)
        }
        let index = try await ConsoleFixture.answer("/index.html", of: router)
        #expect(try await ConsoleFixture.answer("/", of: router).body == index.body)
        #expect(try await ConsoleFixture.answer("/", [("Host", "evil.example")], of: router).status == 421)
        #expect(try await ConsoleFixture.answer("/src/../../relay", of: router).status == 404)
    }

    @Test("The JSON needs the token and a known host, and isn't kept by browsers")
    func access() async throws {
        let token = "0123456789abcdef"
        let queries = [Console.Path.tenant: "?secret=" + String(repeating: "a", count: 64), .push: "?id=e1"]
        let router = ConsoleFixture.router(snapshot(), token: token)
        for path in Console.Path.allCases.map({ $0.rawValue + (queries[$0] ?? "") }) {
            #expect(try await ConsoleFixture.answer(path, of: router).status == 401)
            #expect(
                try await ConsoleFixture.answer(path, [("Authorization", "Bearer wrong")], of: router).status
                    == 401)
            let bearer = ("Authorization", "Bearer " + token)
            #expect(
                try await ConsoleFixture.answer(path, [bearer, ("Host", "evil.example")], of: router).status
                    == 421)
            let response = try await ConsoleFixture.answer(path, [bearer, ("Host", "localhost")], of: router)
            #expect(response.status == 200 && response.headers["Cache-Control"] == "no-store")
            #expect(throws: Never.self) { try ConsoleFixture.json(response) }
        }
    }

    @Test("Each sample has what was counted in its interval, and only new samples are sent")
    func samples() async throws {
        let router = ConsoleFixture.router(
            snapshot(sent: 9, at: 40_000),
            history: [
                snapshot(sent: 2, at: 10_000), snapshot(sent: 5, at: 20_000), snapshot(sent: 9, at: 30_000),
            ])
        let overview = try ConsoleFixture.json(
            try await ConsoleFixture.answer("/v1/admin/overview", of: router))
        #expect(overview["totals"]?["events"]?.array?.compactMap(\.int) == [9, 9, 0])
        let samples = try #require(overview["samples"]?.array)
        #expect(samples.compactMap { $0["number"]?.int } == [1, 2])
        #expect(samples.map { $0["events"]?.array?.compactMap(\.int) } == [[3, 3, 0], [4, 4, 0]])
        let responses = try #require(samples.first?["responses"]?.array).compactMap(\.int)
        #expect(responses.count == overview["bounds"]?.array.map { $0.count + 1 })
        #expect(responses.reduce(0, +) == 6)
        #expect(samples.last?["attempts"]?.array?.isEmpty == true)
        #expect(samples.last?["waiting"]?.int == 7 && samples.last?["oldestDueAge"]?.int == 4_000)
        let newer = try ConsoleFixture.json(
            try await ConsoleFixture.answer("/v1/admin/overview?after=1", of: router))
        #expect(newer["samples"]?.array?.compactMap { $0["number"]?.int } == [2])
        let none = try ConsoleFixture.json(
            try await ConsoleFixture.answer("/v1/admin/overview?after=2", of: router))
        #expect(none["samples"]?.array?.isEmpty == true)
    }

    @Test("An hour of samples is kept, and no more")
    func bound() {
        let history = ConsoleHistory()
        for place in 0...(Bounds.consoleSamplesMax + 5) {
            history.record(snapshot(at: EpochMilliseconds(place) * 10_000))
        }
        let samples = history.samples(after: 0)
        #expect(samples.count == Bounds.consoleSamplesMax)
        #expect(samples.first?.number == 6 && samples.last?.number == Bounds.consoleSamplesMax + 5)
    }

    @Test("Faults are named, and a loop that doesn't respond gives an error")
    func faults() async throws {
        var broken = snapshot()
        broken.readiness.storage = Readiness.unavailable
        let router = ConsoleFixture.router(broken)
        let checks = try ConsoleFixture.json(
            try await ConsoleFixture.answer("/v1/admin/overview", of: router))["checks"]?.array
        #expect(checks?.first?["fault"]?.string == "unavailable" && checks?.last?["fault"] == nil)
        let silent = ConsoleFixture.router(nil)
        #expect(try await ConsoleFixture.answer("/v1/admin/overview", of: silent).status == 503)
        #expect(try await ConsoleFixture.answer("/v1/admin/apps", of: silent).status == 503)
        #expect(try await ConsoleFixture.answer("/v1/admin/settings", of: silent).status == 200)
    }

    @Test("Texts from outside are escaped, and keys are named by their identifiers only")
    func texts() async throws {
        var snapshot = snapshot()
        snapshot.certificateExpiry = 2_000_000_000
        snapshot.apnsStandings = [
            APNsHealth.Standing(
                bundleID: ConsoleFixture.hostile, environment: .production, fault: ConsoleFixture.hostile)
        ]
        let router = ConsoleFixture.router(snapshot)
        let apps = try await ConsoleFixture.answer("/v1/admin/apps", of: router)
        let shown = try ConsoleFixture.json(apps)
        #expect(shown["webPushKey"]?.string == ConsoleFixture.hostile)
        #expect(shown["certificateExpiry"]?.int == 2_000_000_000_000)
        #expect(shown["keys"]?.array?.count == 2)
        #expect(shown["acceptsAny"]?.bool == true && shown["defaultApp"]?.string == "com.example.app")
        #expect(!String(decoding: apps.body, as: UTF8.self).contains("PRIVATE"))
        let overview = try ConsoleFixture.json(
            try await ConsoleFixture.answer("/v1/admin/overview", of: router))
        #expect(overview["apps"]?.array?.first?["fault"]?.string == ConsoleFixture.hostile)
    }

    @Test("The configuration names where a setting was given, and shows of a secret only that it is set")
    func settings() async throws {
        let secret = "hidden-0123456789abcdef"
        let environment = [
            "APNS_TEAM_ID": "TEAM123456", "APNS_KEY_ID": "KEY1234567", "APNS_PRIVATE_KEY": TestKey.pem,
            "RELAY_ADMIN_TOKEN": secret, "RELAY_SECRET_PEPPER": secret + secret,
            "DATABASE_URL": "postgresql://relay:\(secret)@db.example.com/relay", "RELAY_QUEUE_MAX": "5",
            "HTTPS_PROXY": "http://user:\(secret)@proxy.example.com:3128",
        ]
        let configuration = try ServeConfiguration(
            SettingSources(flags: ["PORT": "9000"], environment: environment))
        let router = ConsoleFixture.router(nil, settings: configuration.inForce)
        let response = try await ConsoleFixture.answer("/v1/admin/settings", of: router)
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(!text.contains("hidden") && !text.contains("PRIVATE KEY"))
        let rows = try #require(try ConsoleFixture.json(response)["settings"]?.array)
        #expect(rows.compactMap { $0["name"]?.string } == Settings.served.map(\.name))
        func row(_ name: String) -> JSON.Value? { rows.first { $0["name"]?.string == name } }
        #expect(row("PORT")?["value"]?.string == "9000" && row("PORT")?["place"]?.string == "--port")
        #expect(row("RELAY_QUEUE_MAX")?["value"]?.string == "5")
        #expect(row("RELAY_QUEUE_MAX")?["default"]?.string == "200000")
        #expect(row("HOST")?["value"] == nil && row("HOST")?["place"] == nil)
        #expect(row("DATABASE_URL")?["value"]?.string == "sqlite: relay.db")
        for name in ["RELAY_ADMIN_TOKEN", "RELAY_SECRET_PEPPER", "HTTPS_PROXY", "APNS_PRIVATE_KEY"] {
            #expect(row(name)?["value"] == nil && row(name)?["isSecret"]?.bool == true, "\(name)")
            #expect(row(name)?["place"]?.string == name)
        }
    }
}
