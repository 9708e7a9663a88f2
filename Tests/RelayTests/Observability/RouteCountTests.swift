import APNs
import HTTPServer
import JSON
import Network
import PrometheusText
import Storage
import Testing

@testable import Relay

@Suite("What routes count", .timeLimit(.minutes(2)))
struct RouteCountTests {
    private func counts(_ relay: RelayFixture) async throws -> PrometheusText {
        var snapshot = MetricsSnapshot()
        snapshot.loops.counts = await relay.onLoop { $0.services.counts }
        return try PrometheusText(
            String(decoding: Exposition.text(Metrics.table, of: snapshot), as: UTF8.self))
    }

    @Test("An event counts its request, its attempts and what became of each device")
    func event() async throws {
        try await RelayFixture.with { relay in
            for (number, token) in ["aa01", "aa02", "aa03"].enumerated() {
                relay.storage.add(token, under: RelayFixture.key, at: EpochMilliseconds(number))
            }
            await relay.loop.run { _ in
                relay.production.value.script = { push in
                    switch push.deviceToken.text {
                    case "aa01": .accepted(push)
                    case "aa02": .rejected(400, "BadDeviceToken")
                    default: .rejected(503, "ServiceUnavailable")
                    }
                }
                relay.sandbox.value.script = { .accepted($0) }
            }
            #expect(await relay.event().json["sent"] == 2)
            let read = try await counts(relay)
            #expect(read.sum("relay_http_requests_total") == 1)
            #expect(read.sum("relay_push_attempts_total") == 4)
            #expect(read.sum("relay_push_attempts_total", ["environment": "sandbox"]) == 1)
            #expect(read.sum("relay_pushes_total", ["result": "sent"]) == 2)
            #expect(
                read.sum("relay_pushes_total", ["result": "queued", "reason": "ServiceUnavailable"]) == 1)
            #expect(read.value("relay_device_environments_healed_total") == 1)
        }
    }

    @Test("Each limit counts under its name")
    func limits() async throws {
        var options = RelayFixture.Options()
        options.rates = RateLimitConfiguration(
            eventsPerMinute: 1, registrationsPerMinute: 2, unknownSecretsPerMinute: 3)
        options.limits.devicesPerSecretMax = 1
        try await RelayFixture.with(options) { relay in
            for token in ["aa01", "aa02", "aa03"] {
                _ = await relay.post(
                    "/v1/device/register",
                    ["secret": .string(RelayFixture.secret), "deviceToken": .string(token)])
            }
            for _ in 0..<3 { _ = await relay.event() }
            for number in 0..<3 {
                _ = await relay.post(
                    "/v1/event",
                    [
                        "secret": .string("another secret \(number)"), "eventType": "complete",
                        "sessionID": "ses_1",
                    ])
            }
            let read = try await counts(relay)
            func hits(_ limit: String) -> Double? { read.value("relay_limits_hit_total", ["limit": limit]) }
            #expect(hits("devices") == 1 && hits("registrations") == 1)
            #expect(hits("events") == 2 && hits("unknown_secrets") == 2)
            #expect(hits("pushes") == 0 && hits("connections") == 0 && hits("queue") == 0)
        }
    }

    @Test("A path or a method that no route has counts as other, and hostile ones add no series")
    func hostile() async throws {
        try await RelayFixture.with { relay in
            for number in 0..<50 {
                let target = "/\(RelayFixture.secret)/\(number)?\(number)=\"}"
                let response = await relay.answer(Request(method: .post, target: target))
                #expect(response.status == 404)
            }
            let read = try await counts(relay)
            #expect(read.value("relay_http_requests_total", ["route": "other", "status": "404"]) == 50)
            #expect(read.samples.count { $0.name == "relay_http_requests_total" } == 1)
            #expect(!read.labelValues.contains { $0.contains(RelayFixture.secret) })
        }
    }
}
