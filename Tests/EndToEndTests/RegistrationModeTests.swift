import ChildProcess
import Foundation
import JSON
import Network
import PrometheusText
import Testing

/// `RELAY_REGISTRATION` and the device limits, with real processes.
@Suite(.timeLimit(.minutes(2)))
struct RegistrationModeTests {
    private static let secret = "a secret of the test"
    private static let pepper = String(repeating: "p", count: 32)
    private static let key = String(repeating: "k", count: 32)
    private static let challenge = ["RELAY_REGISTRATION": "challenge", "RELAY_SECRET_PEPPER": pepper]

    private func register(
        _ stack: Stack, _ token: String, secret: String = secret, code: String? = nil, headers: [String] = []
    ) async throws -> HTTPClient.Answer {
        var body = JSON.Object()
        body["secret"] = .string(secret)
        body["deviceToken"] = .string(token)
        body["challengeCode"] = code.map { .string($0) }
        let text = String(decoding: JSON.Value.object(body).encoded(), as: UTF8.self)
        return try await stack.http.send("POST", "/v1/device/register", body: text, headers: headers)
    }

    /// The code in the last accepted push to a device.
    private func code(_ stack: Stack, _ token: String) async throws -> String {
        let push = try #require(try await stack.control.pushes(token: token).last { $0["status"] == 200 })
        #expect(push["pushType"] == "background")
        return try #require(push["payload"]?["challengeCode"]?.string)
    }

    @Test("A challenged device is stored once it sends back the code from its push, also after a restart")
    func challenged() async throws {
        try await Stack.run(Self.challenge) { stack in
            let answer = try await register(stack, token(1))
            #expect(answer.status == 202)
            #expect(try answer.json()["registered"] == false)
            #expect(try await stack.event(Self.secret).deliveries.isEmpty)
            let code = try await code(stack, token(1))
            #expect(try await register(stack, token(2), code: code).status == 403)
            #expect(try await stack.relay.stop() == 0)
            let output = stack.relay.output
            #expect(!output.contains(code) && !output.contains(Self.pepper))
            try await stack.restartRelay()
            #expect(try await register(stack, token(1), code: code).status == 200)
            #expect(try await stack.event(Self.secret).sent == 1)
            // A refresh needs no code and causes no push.
            #expect(try await register(stack, token(1)).status == 200)
            #expect(try await stack.control.pushes(token: token(1)).count == 2)
            let read = try await stack.metrics()
            #expect(
                read.value(
                    "relay_http_requests_total", ["route": "POST /v1/device/register", "status": "200"])
                    == 2)
        }
    }

    @Test("A sandbox token without an environment is challenged and stored for the sandbox")
    func sandbox() async throws {
        try await Stack.run(Self.challenge) { stack in
            try await stack.control.put("/tokens", ["token": .string(token(1)), "environment": "sandbox"])
            #expect(try await register(stack, token(1)).status == 202)
            let code = try await code(stack, token(1))
            #expect(try await register(stack, token(1), code: code).status == 200)
            let before = try await stack.control.stats("production")["pushes"]?.int
            #expect(try await stack.event(Self.secret).sent == 1)
            #expect(try await stack.control.stats("production")["pushes"]?.int == before)
            #expect(try await stack.control.stats("sandbox")["pushes"]?.int == 2)
        }
    }

    @Test("With a registration key, only clients that send it register devices; no output contains it")
    func key() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("registration.key")
        try Data((Self.key + "\n").utf8).write(to: URL(fileURLWithPath: file))
        let settings = ["RELAY_REGISTRATION": "key", "RELAY_REGISTRATION_KEY_FILE": file]
        try await Stack.run(settings) { stack in
            let refused = try await register(stack, token(1))
            #expect(refused.status == 401 && refused.headers["www-authenticate"] == "Bearer")
            #expect(try refused.json()["code"] == "unauthorized")
            let wrong = ["Authorization: Bearer \(Self.key)k"]
            #expect(try await register(stack, token(1), headers: wrong).status == 401)
            let right = ["Authorization: Bearer \(Self.key)"]
            #expect(try await register(stack, token(1), headers: right).status == 200)
            #expect(try await stack.event(Self.secret).sent == 1)
            #expect(!stack.relay.output.contains(Self.key))
        }
    }

    @Test("serve and check refuse an incomplete mode with the same message")
    func incomplete() async throws {
        try await CheckStand.run { stand in
            for mode in ["challenge", "key"] {
                let change = ["RELAY_REGISTRATION": mode]
                let result = try await stand.check(change)
                #expect(result.failed == ["bad_setting"], "\(result)")
                let relay = try Program(
                    "relay", ["serve"], environment: stand.environment.merging(change) { $1 })
                #expect(try await relay.ended() == 78)
                let sentence = result.text("bad_setting").drop { $0 != "R" }
                #expect(sentence.hasPrefix("RELAY_REGISTRATION is \(mode)"), "\(result)")
                #expect(relay.output.contains(sentence), "\(relay.output)")
            }
        }
    }

    @Test(
        "By default a device is registered under 16 secrets and gets 120 pushes, on every loop")
    func oneDevice() async throws {
        let defaults = ["RELAY_DEVICE_PUSHES_PER_MINUTE": "", "RELAY_DEVICE_SECRETS_PER_DAY": ""]
        try await Stack.run(defaults) { stack in
            var statuses: [Int] = []
            for number in 0..<20 {
                statuses.append(
                    try await register(stack, token(1), secret: "a secret of the test \(number)").status)
            }
            #expect(statuses == Array(repeating: 200, count: 16) + Array(repeating: 429, count: 4))
            #expect(try await register(stack, token(2), secret: "a secret of the test 0").status == 200)
            let began = ContinuousClock.now
            var sent = 0
            for number in 0..<160 {
                let result = try await stack.event("a secret of the test \(number % 16)")
                if result.status(token(1)) == "sent" {
                    sent += 1
                } else {
                    #expect(result.reason(token(1)) == "DeviceRateLimited")
                }
                // The first secret's other device receives all of its pushes.
                #expect(result.status(token(2)) == (number.isMultiple(of: 16) ? "sent" : nil))
            }
            // Two more tokens are added per second of the test.
            let seconds = Int((ContinuousClock.now - began).components.seconds)
            #expect((120...(121 + 2 * (seconds + 1))).contains(sent))
            #expect(try await stack.control.pushes(token: token(1)).count == sent)
            let read = try await stack.metrics()
            #expect(
                read.value("relay_limits_hit_total", ["limit": "device_pushes"]) == Double(160 - sent))
            #expect(read.value("relay_limits_hit_total", ["limit": "device_secrets"]) == 4)
        }
    }

    @Test("RELAY_DEVICES_MAX refuses new devices; registered ones can register again")
    func devicesMax() async throws {
        try await Stack.run(["RELAY_DEVICES_MAX": "2"]) { stack in
            for number in 1...2 { #expect(try await register(stack, token(number)).status == 200) }
            let refused = try await register(stack, token(3), secret: "another secret of the test")
            #expect(refused.status == 503 && refused.headers["retry-after"] == "600")
            #expect(try refused.json()["code"] == "relay_full")
            #expect(try await register(stack, token(1)).status == 200)
            let read = try await stack.metrics()
            #expect(read.value("relay_devices") == 2 && read.value("relay_devices_max") == 2)
            #expect(read.value("relay_limits_hit_total", ["limit": "devices_total"]) == 1)
        }
    }
}
