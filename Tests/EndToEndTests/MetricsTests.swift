import ChildProcess
import Foundation
import Glibc
import JSON
import Network
import PrometheusText
import Testing

/// What Prometheus scrapes from the admin listener of a running relay.
@Suite(.timeLimit(.minutes(3)))
struct MetricsTests {
    private static let secret = "a secret of the test"

    @Test("Traffic with mixed outcomes changes exactly the right counters, on every loop")
    func outcomes() async throws {
        let settings = ["RELAY_RETRY_DELAY_MAX": "300ms", "RELAY_DEVICES_PER_SECRET_MAX": "5"]
        try await Stack.run(settings) { stack in
            let before = try await scrape(stack)
            #expect(before.sum("relay_http_requests_total") == 0 && before.sum("relay_pushes_total") == 0)
            #expect(before.value("relay_ready") == 1)
            for number in 1...5 { try await stack.register(Self.secret, token(number)) }
            #expect(try await post(stack, "/v1/device/register", token: token(6)) == 409)
            // Of the tokens, one is gone, one in the other environment, one refused, one has to wait, and one is valid.
            let gone: JSON.Value = [
                "token": .string(token(2)), "state": "unregistered", "since": 4_000_000_000_000,
            ]
            try await stack.control.put("/tokens", gone)
            try await stack.control.put("/tokens", ["token": .string(token(3)), "environment": "sandbox"])
            try await stack.control.put(
                "/rules", ["id": "a", "match": ["token": .string(token(4))], "reason": "BadPriority"])
            let busy: JSON.Value = [
                "id": "b", "match": ["token": .string(token(5))], "reason": "ServiceUnavailable", "count": 2,
            ]
            try await stack.control.put("/rules", busy)
            let result = try await stack.event(Self.secret)
            #expect(result.sent == 2 && result.failed == 2 && result.queued == 1)
            #expect(try await stack.http.get("/nothing").status == 404)
            #expect(try await post(stack, "/v1/event", token: nil) == 400)

            _ = try await eventually {
                try await scrape(stack)
            } until: {
                // Waiting pushes are counted again every few seconds, so the count may predate the end.
                $0.sum("relay_queue_settled_total", ["result": "sent"]) == 1
                    && $0.value("relay_queue_pushes") == 0
            }
            // A scrape reads the loops before the queue, so only the next scrape is sure to include everything.
            let read = try await scrape(stack)
            expectRequests(read)
            func pushes(_ result: String, _ reason: String = "none") -> Double {
                read.sum(
                    "relay_pushes_total",
                    ["app": Stack.bundleID, "environment": "production", "result": result, "reason": reason])
            }
            #expect(pushes("sent") == 2 && pushes("failed", "Unregistered") == 1)
            #expect(pushes("failed", "BadPriority") == 1 && pushes("queued", "ServiceUnavailable") == 1)
            #expect(read.sum("relay_pushes_total") == 5)
            func attempts(_ environment: String, _ outcome: String, _ reason: String = "none") -> Double {
                read.sum(
                    "relay_push_attempts_total",
                    [
                        "app": Stack.bundleID, "environment": environment, "outcome": outcome,
                        "reason": reason,
                    ])
            }
            #expect(attempts("production", "accepted") == 2 && attempts("sandbox", "accepted") == 1)
            #expect(attempts("production", "rejected", "BadDeviceToken") == 1)
            #expect(attempts("production", "rejected", "Unregistered") == 1)
            #expect(attempts("production", "rejected", "BadPriority") == 1)
            #expect(attempts("production", "rejected", "ServiceUnavailable") == 2)
            #expect(read.sum("relay_push_attempts_total") == 8)
            #expect(read.sum("relay_push_attempt_duration_seconds_count") == 8)
            let app = ["environment": "production", "app": Stack.bundleID]
            #expect(read.value("relay_devices_removed_total", app) == 1)
            #expect(read.sum("relay_devices_removed_total") == 1)
            #expect(read.value("relay_device_environments_healed_total") == 1)
            #expect(read.value("relay_queue_retries_total") == 2)
            #expect(read.sum("relay_queue_settled_total", ["result": "again"]) == 1)
            #expect(read.value("relay_pushes_in_flight") == 0)
            #expect(read.value("relay_limits_hit_total", ["limit": "devices"]) == 1)
            #expect(read.sum("relay_limits_hit_total") == 1)
            expectConnections(read, try await stack.control.stats("production"))
        }
    }

    private func expectRequests(_ read: PrometheusText) {
        func requests(_ route: String, _ status: Int) -> Double? {
            read.value("relay_http_requests_total", ["route": route, "status": "\(status)"])
        }
        #expect(requests("POST /v1/device/register", 200) == 5)
        #expect(requests("POST /v1/device/register", 409) == 1)
        #expect(requests("POST /v1/event", 200) == 1 && requests("POST /v1/event", 400) == 1)
        #expect(requests("other", 404) == 1)
        #expect(read.sum("relay_http_requests_total") == 9)
        #expect(
            read.value("relay_http_request_duration_seconds_count", ["route": "POST /v1/event"]) == 2)
    }

    private func expectConnections(_ read: PrometheusText, _ stats: JSON.Value) {
        let group = ["environment": "production", "team": Stack.teamID, "key": Stack.keyID]
        let opened = stats["connections"]?["opened"]?.double
        #expect(read.value("relay_apns_connections_opened_total", group) == opened)
        #expect(read.sum("relay_apns_connections", group.merging(["state": "open"]) { $1 }) >= 1)
        #expect(read.value("relay_apns_streams", group) == 0)
        // Registrations and queued pushes went through the writer.
        #expect(read.value("relay_database_call_duration_seconds_count") ?? 0 >= 5)
    }

    @Test("GOAWAYs are counted by reason, and unknown reasons as other")
    func goAways() async throws {
        try await Stack.run(["RELAY_LOOPS": "1"]) { stack in
            try await stack.register(Self.secret, token(1))
            for reason in ["Shutdown", "SomethingThatNobodyKnows"] {
                #expect(try await stack.event(Self.secret).sent == 1)
                try await stack.control.post("/goaway", ["reason": .string(reason)])
            }
            let read = try await eventually {
                try await scrape(stack)
            } until: {
                $0.sum("relay_apns_goaways_total") == 2
            }
            #expect(read.sum("relay_apns_goaways_total", ["reason": "Shutdown"]) == 1)
            #expect(read.sum("relay_apns_goaways_total", ["reason": "other"]) == 1)
        }
    }

    @Test("Labels contain no secret, token, path or foreign bundle ID, whatever is sent")
    func hostile() async throws {
        let hostile = [
            "com.example.stranger", "secret-in-a-path-of-this-test", "secret-in-a-header", "\"} 1 of ours",
        ]
        try await Stack.run { stack in
            try await stack.register(Self.secret, token(1))
            try await stack.register(Self.secret, token(2), bundleID: hostile[0])
            try await stack.control.put(
                "/rules", ["match": ["topic": .string(hostile[0])], "reason": "BadTopic"])
            _ = try await stack.event(Self.secret, ["sessionID": .string(hostile[3])])
            for method in ["GET", "POST", "BREW"] {
                _ = try await stack.http.send(
                    method, "/\(hostile[1])?secret=\(Self.secret.replacingOccurrences(of: " ", with: "+"))",
                    headers: ["X-Request-ID: \(hostile[2])", "User-Agent: \(hostile[3])"])
            }
            _ = try await stack.http.exchange(
                Array("GET /\(hostile[1]) HTTP/1.1\r\nbad header \(hostile[2])\r\n\r\n".utf8))
            let answer = try await stack.admin.get("/metrics")
            let read = try PrometheusText(answer.text)
            #expect(read.sum("relay_pushes_total", ["app": "other"]) == 1)
            // The POST isn't among them: its path is that of ntfy's topics, which is a separate route.
            #expect(read.sum("relay_http_requests_total", ["route": "other"]) == 3)
            for hidden in hostile + [Self.secret, token(1), token(2), String(token(1).suffix(8))] {
                #expect(!answer.text.contains(hidden), "\(hidden)")
            }
        }
    }

    @Test("The admin listener serves metrics and probes, which the public one doesn't, and nothing else")
    func listeners() async throws {
        try await Stack.run { stack in
            let admin = try await stack.admin
            let metrics = try await admin.get("/metrics")
            #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(try await admin.get("/health").status == 200)
            #expect(try await admin.get("/ready").text == stack.http.get("/ready").text)
            #expect(try await admin.post("/v1/event", "{}").status == 404)
            #expect(try await admin.post("/metrics", "").status == 405)
            #expect(try await stack.http.get("/metrics").status == 404)
            #expect(try await stack.http.post("/v1/secret/revoke", "{}").status == 404)
            let read = try PrometheusText(metrics.text)
            #expect(read.value("relay_build_info", ["version": "1.0.0", "database": "SQLite"]) == 1)
            #expect(read.value("process_resident_memory_bytes") ?? 0 > 1_000_000)
            #expect(read.value("process_open_fds") ?? 0 > 10)
            #expect(read.value("relay_tls_certificate_expiry_timestamp_seconds") == nil)
        }
    }

    @Test("The admin listener has its own connection limit, at which it closes the longest idle one")
    func connections() async throws {
        try await Stack.run { stack in
            let admin = try await stack.admin
            var held: [HeldConnection] = []
            // A few connections that got a response, and many whose request never ends.
            for number in 0..<100 {
                let connection = try await HeldConnection(admin)
                if number.isMultiple(of: 10) {
                    #expect(try await connection.get("/health").hasPrefix("HTTP/1.1 200"), "\(number)")
                } else {
                    await connection.send("GET /metrics HTTP/1.1\r\nHost:")
                }
                held.append(connection)
            }
            for connection in held.prefix(68) { await connection.closed() }
            #expect(try await admin.get("/metrics").status == 200)
            #expect(try await stack.http.get("/health").status == 200)
            for connection in held { await connection.close() }
        }
    }

    @Test("A port in use is reported with its setting and ends with 69; off disables the listener")
    func port() async throws {
        try await Stack.run(["RELAY_LOOPS": "1"]) { stack in
            var environment = stack.environment
            environment["DATABASE_URL"] = "sqlite:" + stack.directory.file("other.db")
            let taken = try await stack.admin.endpoint.port
            environment["RELAY_ADMIN_LISTEN"] = "127.0.0.1:\(taken)"
            let second = try Program("relay", ["serve"], environment: environment)
            #expect(try await second.ended() == 69)
            #expect(second.output.contains("RELAY_ADMIN_LISTEN: 127.0.0.1:\(taken) is in use"))
            environment["RELAY_ADMIN_LISTEN"] = "off"
            let without = try Program("relay", ["serve"], environment: environment)
            _ = try await Stack.listening(without)
            #expect(without.output.contains("\"admin\":\"off\""))
            #expect(try await without.stop() == 0)
            environment["RELAY_ADMIN_LISTEN"] = "8788"
            environment["RELAY_LOG_FORMAT"] = "text"
            let wrong = try Program("relay", ["serve"], environment: environment)
            #expect(try await wrong.ended() == 78)
            #expect(
                wrong.output.contains("RELAY_ADMIN_LISTEN is \"8788\": expected an IP address and a port"))
        }
    }

    @Test("If the default port is in use, the relay warns and serves without an admin listener")
    func defaultPort() async throws {
        try await Stack.run(["RELAY_LOOPS": "1"]) { stack in
            // The relay starts without the admin listener, whatever program has the port. If that program ends, the
            // holder takes the port over.
            let holder = try Program(
                tool: "/usr/bin/python3",
                [
                    "-c",
                    """
                    import socket, time
                    def hold():
                        try: return socket.create_server(("127.0.0.1", 8788))
                        except OSError: return None
                    listener, end = hold(), time.monotonic() + 60
                    print("held", flush=True)
                    while time.monotonic() < end:
                        time.sleep(1 if listener else 0.001)
                        listener = listener or hold()
                    """,
                ])
            defer { holder.signal(SIGKILL) }
            _ = try await holder.line("that port 8788 is held") { $0 == "held" }
            var environment = stack.environment
            environment["DATABASE_URL"] = "sqlite:" + stack.directory.file("other.db")
            environment["RELAY_ADMIN_LISTEN"] = nil
            let relay = try Program("relay", ["serve"], environment: environment)
            _ = try await Stack.listening(relay)
            #expect(relay.output.contains("\"event\":\"admin.off\""))
            #expect(relay.output.contains("127.0.0.1:8788 is in use by another program"))
            #expect(relay.output.contains("\"admin\":\"off\""))
            #expect(try await relay.stop() == 0)
        }
    }

    @Test("The certificate's expiry is exported, and the new one's after SIGHUP")
    func certificate() async throws {
        let files = try TemporaryDirectory()
        let (certificate, key) = (files.file("certificate.pem"), files.file("key.pem"))
        func renew(days: Int) async throws {
            let made = try Program(
                tool: "/usr/bin/openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "\(days)", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate,
                ])
            guard try await made.ended() == 0 else { throw Program.Failure(description: made.output) }
        }
        try await renew(days: 10)
        try await Stack.run(["RELAY_TLS_CERT_FILE": certificate, "RELAY_TLS_KEY_FILE": key]) { stack in
            func daysLeft() async throws -> Double {
                let end = try await scrape(stack).value("relay_tls_certificate_expiry_timestamp_seconds")
                return try #require(end).advanced(by: -Date().timeIntervalSince1970) / 86_400
            }
            let first = try await daysLeft()
            #expect(first > 9.9 && first < 10.1)
            try await renew(days: 90)
            stack.relay.signal(SIGHUP)
            _ = try await stack.relay.line("it has reloaded") { $0.contains("\"event\":\"reload\"") }
            let second = try await daysLeft()
            #expect(second > 89.9 && second < 90.1)
        }
    }

    @Test("A stuck queue makes the relay not ready until it moves again")
    func overdue() async throws {
        let settings = ["RELAY_READY_QUEUE_AGE": "1s", "RELAY_RETRY_DELAY_MAX": "100ms"]
        try await Stack.run(settings) { stack in
            try await stack.register(Self.secret, token(1))
            try await stack.control.put("/rules", ["reason": "ServiceUnavailable"])
            // Refuses every claim of the push, also the first, which would make it due only when its lease ends. A
            // lock of the file would make the other checks wait, too.
            let database = try CopyPlace("sqlite", in: stack.directory, "relay.db")
            try database.run([
                """
                CREATE TRIGGER stuck BEFORE UPDATE OF due_at ON pending_push
                BEGIN SELECT RAISE(FAIL, 'stuck'); END
                """
            ])
            #expect(try await stack.event(Self.secret).queued == 1)
            let stuck = try await eventually {
                try await stack.http.get("/ready")
            } until: {
                try $0.json()["checks"]?["queue"] == "overdue"
            }
            #expect(stuck.status == 503)
            let checks = try #require(try stuck.json()["checks"])
            for check in ["storage", "write", "apns", "clock"] { #expect(checks[check] == "ok") }
            // Each loop caches its check for a second.
            let read = try await eventually {
                try await scrape(stack)
            } until: {
                $0.value("relay_ready_check", ["check": "queue"]) == 0
            }
            #expect(read.value("relay_ready") == 0)
            #expect(read.value("relay_ready_check", ["check": "storage"]) == 1)
            try database.run(["DROP TRIGGER stuck"])
            try await stack.control.delete("/rules")
            _ = try await eventually {
                try await stack.http.get("/ready")
            } until: {
                $0.status == 200
            }
            _ = try await eventually {
                try await scrape(stack)
            } until: {
                $0.value("relay_ready") == 1 && $0.value("relay_queue_oldest_due_age_seconds") == 0
            }
        }
    }

    // MARK: What the tests share

    private func scrape(_ stack: Stack) async throws -> PrometheusText { try await stack.metrics() }

    /// Posts a registration, or an event without a session; returns the response's status.
    private func post(_ stack: Stack, _ path: String, token: String?) async throws -> Int {
        var body = JSON.Object()
        body["secret"] = .string(Self.secret)
        body["deviceToken"] = token.map { .string($0) }
        return try await stack.http.post(path, body).status
    }
}
