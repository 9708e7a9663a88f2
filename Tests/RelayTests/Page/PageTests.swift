import HTTPServer
import JSON
import PageFiles
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Web page", .timeLimit(.minutes(1)))
struct PageTests {
    private static let page = Page()
    /// The files that clients/web/src/files.js lists.
    private static let names: [String] = {
        let parts = Documents.read("../clients/web/src/files.js").split(
            separator: "\"", omittingEmptySubsequences: false)
        return parts.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
    }()
    private static let gzip = [("Accept-Encoding", "gzip, deflate, br")]
    private static let types = [
        "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "png": "image/png", "svg": "image/svg+xml",
        "webmanifest": "application/manifest+json",
    ]

    /// Sends a request to a relay that serves the page.
    private func ask(
        _ target: String, _ headers: [(String, String)] = [], method: Method = .get
    ) async throws -> Response {
        try await Self.withPage { relay in
            await relay.answer(Request(method: method, target: target, headers: headers))
        }
    }

    private static func withPage<Result: Sendable>(
        _ body: (RelayFixture) async throws -> Result
    ) async throws -> Result {
        var options = RelayFixture.Options()
        options.page = page
        return try await RelayFixture.with(options, body)
    }

    private func bytes(_ name: String) throws -> [UInt8] {
        try SettingFile.read(Documents.path("../clients/web/" + name)).get()
    }

    @Test("Every file of the page is served as it is in the repository, with its type")
    func files() async throws {
        #expect(Self.names.count > 50 && Self.names == PageFile.all().map(\.path))
        try await Self.withPage { relay in
            for name in Self.names {
                let response = await relay.answer(Request(target: "/app/" + name))
                #expect(response.status == 200)
                let whole = try bytes(name)
                let isSame = response.body == whole
                #expect(isSame, "\(name)")
                let type = name.split(separator: ".").last.flatMap { Self.types[String($0)] }
                #expect(type != nil && response.headers["Content-Type"] == type, "\(name)")
                #expect(response.headers["Content-Encoding"] == nil)
            }
        }
    }

    @Test("The folder is the page itself, and its path without a slash leads there")
    func folder() async throws {
        let response = try await ask("/app/?source=home")
        #expect(response.status == 200)
        #expect(try response.body == bytes("index.html"))
        let redirect = try await ask("/app")
        // Relative to the path that the client asked for.
        #expect(redirect.status == 308 && redirect.headers["Location"] == "app/")
    }

    @Test("All files together have at most 150 kB as browsers get them, and their compressed form is gzip's")
    func compressed() async throws {
        let sent = try await Self.withPage { relay in
            var sent = 0
            for name in Self.names {
                let response = await relay.answer(Request(target: "/app/" + name, headers: Self.gzip))
                sent += response.body.count
                if response.headers["Content-Encoding"] == "gzip" {
                    let whole = try bytes(name)
                    #expect(response.body.count < whole.count)
                    // RFC 1952, sections 2.3 and 2.3.1: the magic number, and the length at the end.
                    #expect(response.body.prefix(3) == [0x1f, 0x8b, 8])
                    let length = response.body.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
                    #expect(length == whole.count)
                } else {
                    #expect(name.hasSuffix(".png"), "\(name)")
                }
            }
            return sent
        }
        #expect(sent <= 150_000)
    }

    @Test(
        "A client that doesn't accept gzip gets plain bytes",
        arguments: [
            ("gzip", true), ("br, GZIP;q=0.5", true), ("gzip ; q=1", true), ("gzip;q=0", false),
            ("gzip; q=0.000, br", false), ("identity", false), ("gzipped", false), ("*;q=0", false),
            ("", false),
        ])
    func coding(_ accepted: String, _ isCompressed: Bool) async throws {
        let response = try await ask("/app/worker.js", [("Accept-Encoding", accepted)])
        #expect((response.headers["Content-Encoding"] == "gzip") == isCompressed)
        #expect(response.headers.values(of: "Vary") == ["Accept-Encoding", "Origin"])
    }

    @Test("Tags are strong, are the SHA-256 of the file, and differ between the two forms")
    func tags() async throws {
        let digest = Digest256(of: try bytes("worker.js")).hex
        #expect(try await ask("/app/worker.js").headers["ETag"] == "\"\(digest)\"")
        #expect(try await ask("/app/worker.js", Self.gzip).headers["ETag"] == "\"\(digest)-gzip\"")
    }

    @Test("A file that the client has isn't sent again")
    func unchanged() async throws {
        for coding in [[], Self.gzip] {
            let tag = try #require(try await ask("/app/", coding).headers["ETag"])
            for known in [tag, "W/" + tag, "*", "\"other\", \(tag)"] {
                let response = try await ask("/app/", coding + [("If-None-Match", known)])
                #expect(response.status == 304 && response.body.isEmpty)
                #expect(response.headers["ETag"] == tag)
                #expect(response.headers["Cache-Control"] == "no-cache")
                #expect(response.headers.values(of: "Vary").first == "Accept-Encoding")
                #expect(response.headers["Content-Encoding"] == nil)
            }
            #expect(try await ask("/app/", coding + [("If-None-Match", "\"other\"")]).status == 200)
        }
        // The uncompressed form's tag doesn't match the compressed form.
        let plain = try #require(try await ask("/app/").headers["ETag"])
        #expect(try await ask("/app/", Self.gzip + [("If-None-Match", plain)]).status == 200)
    }

    @Test("Every file forbids what the page doesn't need", arguments: ["", "worker.js", "icons/icon.svg"])
    func headers(_ name: String) async throws {
        let headers = try await ask("/app/" + name).headers
        #expect(headers["Cache-Control"] == "no-cache")
        #expect(headers["X-Content-Type-Options"] == "nosniff")
        #expect(headers["Referrer-Policy"] == "no-referrer")
        #expect(headers["Permissions-Policy"] == "camera=(self)")
        let policy = try #require(headers["Content-Security-Policy"]).split(separator: "; ")
        #expect(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains { $0.contains("unsafe") || $0.contains("*") || $0.contains("http") })
        #expect(headers["X-Request-ID"]?.isEmpty == false)
    }

    @Test("HEAD is answered like GET, and other methods are refused")
    func methods() async throws {
        #expect(try await ask("/app/worker.js", method: .head).status == 200)
        let refused = try await ask("/app/worker.js", method: .post)
        #expect(refused.status == 405 && refused.headers["Allow"] == nil)
        #expect(refused.json["code"] == "method_not_allowed")
    }

    @Test(
        "Paths that no file of the page has are unknown",
        arguments: [
            "/app/nothing.js", "/app/../Package.swift", "/app/%2e%2e/health", "/app/..%2fhealth", "/app//",
            "/app/./worker.js", "/app/src", "/app/src/", "/app/worker.js/", "/app/worker.js%00", "/APP/",
            "/app/tests/setup.js", "/app/js/src/relay.js", "/app/icons/make", "/app/%77orker.js",
            "/application",
        ])
    func unknown(_ path: String) async throws {
        let response = try await ask(path)
        #expect(response.status == 404 && response.json["code"] == "not_found")
    }

    @Test("A relay that doesn't serve the page doesn't have its paths")
    func off() async throws {
        try await RelayFixture.with { relay in
            for path in ["/app", "/app/", "/app/worker.js"] {
                #expect(await relay.answer(Request(target: path)).status == 404)
            }
        }
        for (value, isServed) in [(nil, true), ("on", true), ("off", false)] {
            var environment = [
                "APNS_TEAM_ID": "ABCDE12345", "APNS_KEY_ID": "KEY1234567", "APNS_PRIVATE_KEY": TestKey.pem,
            ]
            environment["RELAY_PAGE"] = value
            let configuration = try ServeConfiguration(SettingSources(environment: environment))
            #expect(configuration.server.servesPage == isServed)
        }
    }

    @Test("Its requests are counted as one route and logged for debugging")
    func counts() async throws {
        try await Self.withPage { relay in
            let tag = await relay.answer(Request(target: "/app/")).headers["ETag"] ?? ""
            _ = await relay.answer(Request(target: "/app/", headers: [("If-None-Match", tag)]))
            _ = await relay.answer(Request(target: "/app"))
            var snapshot = MetricsSnapshot()
            snapshot.loops.counts = await relay.onLoop { $0.services.counts }
            let text = String(decoding: Exposition.text(Metrics.table, of: snapshot), as: UTF8.self)
            for status in ["200", "304", "308"] {
                #expect(
                    text.contains("relay_http_requests_total{route=\"GET /app/\",status=\"\(status)\"} 1\n"))
            }
            let lines = try await relay.lines.closed().filter { $0["route"] == "GET /app/" }
            #expect(lines.count == 3 && lines.allSatisfy { $0["level"] == "debug" })
        }
    }
}
