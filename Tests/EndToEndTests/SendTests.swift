import ChildProcess
import Foundation
import JSON
import Network
import Testing

@Suite("relay send", .timeLimit(.minutes(2)))
struct SendTests {
    private static let secret = "a secret of the sender's tests"

    @Test("sends a notification or an event through a running relay and shows each device's outcome")
    func sends() async throws {
        try await Stack.run { stack in
            let url = "http://\(stack.http.endpoint)"
            let nobody = try send(["--url", url])
            #expect(try await nobody.ended() == 1)
            #expect(nobody.output.contains("no device is registered under this secret"), "\(nobody.output)")

            try await stack.register(Self.secret, token(1))
            let notification = try send(["--url", url + "/", "--title", "From the shell", "--body", "Done"])
            #expect(try await notification.ended() == 0, "\(notification.output)")
            #expect(notification.lines.last == "1 sent, 0 failed, 0 queued, 0 muted")
            #expect(notification.output.contains("…" + token(1).suffix(8)))
            #expect(!notification.output.contains(Self.secret) && !notification.output.contains(token(1)))

            let event = try send(["--url", url, "--event-type", "permission", "--json"])
            #expect(try await event.ended() == 0, "\(event.output)")
            #expect(try JSON.parse(Array(event.output.utf8), maxBytes: 65_536)["sent"]?.int == 1)
            let pushes = try await stack.control.pushes(token: token(1))
            #expect(pushes.count == 2)
            #expect("\(pushes)".contains("From the shell") && "\(pushes)".contains("Action needed"))
        }
    }

    @Test("finds this machine's relay by its settings, and reports if there is none or it refuses")
    func local() async throws {
        try await Stack.run(["RELAY_EVENTS_PER_MINUTE": "1"]) { stack in
            try await stack.register(Self.secret, token(1))
            let port = String(stack.http.endpoint.port)
            let local = try send([], ["PORT": port])
            #expect(try await local.ended() == 0, "\(local.output)")
            let none = try send([], ["PORT": "1"])
            #expect(try await none.ended() == 69)
            #expect(none.output.contains("127.0.0.1:1"), "\(none.output)")
            let refused = try send([], ["PORT": port])
            #expect(try await refused.ended() == 1)
            #expect(refused.output.contains("Too many requests."), "\(refused.output)")
        }
    }

    @Test("verifies the relay's certificate unless the relay runs on this machine")
    func trust() async throws {
        let directory = try TemporaryDirectory()
        let certificate = try SelfSignedCertificate()
        let (file, key) = (directory.file("relay.pem"), directory.file("relay.key"))
        try Data(certificate.certificate).write(to: URL(fileURLWithPath: file))
        try Data(certificate.privateKey).write(to: URL(fileURLWithPath: key))
        try await Stack.run(["RELAY_TLS_CERT_FILE": file, "RELAY_TLS_KEY_FILE": key]) { stack in
            let url = "https://localhost:\(stack.http.endpoint.port)"
            let untrusted = try send(["--url", url])
            #expect(try await untrusted.ended() == 69)
            #expect(untrusted.output.contains("certificate"), "\(untrusted.output)")
            let trusted = try send(["--url", url, "--ca-file", file])
            #expect(try await trusted.ended() == 1)
            #expect(trusted.output.contains("no device is registered"), "\(trusted.output)")
            let health = try Program(
                "relay", ["health"],
                environment: [
                    "PORT": String(stack.http.endpoint.port), "RELAY_TLS_CERT_FILE": file,
                    "RELAY_TLS_KEY_FILE": key,
                ])
            #expect(try await health.ended() == 0, "\(health.output)")
        }
    }

    private func send(_ arguments: [String], _ changes: [String: String] = [:]) throws -> Program {
        try Program(
            "relay", ["send"] + arguments, environment: ["RELAY_SECRET": Self.secret].merging(changes) { $1 })
    }
}
