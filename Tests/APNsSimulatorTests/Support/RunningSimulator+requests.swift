import APNsSimulator
import ChildProcess
import Foundation
import JSON
import Testing

/// curl's result for a push.
struct PushAnswer {
    /// curl's own exit status: 0 if it received a response.
    let curl: Int32
    var status = 0
    var headers: [String: String] = [:]
    var body = ""

    var reason: String? {
        (try? JSON.parse(Array(body.utf8), maxBytes: 65_536))?["reason"]?.string
    }
}

extension RunningSimulator {
    static let deviceToken = String(repeating: "ab", count: 32)
    static let payload =
        #"{"aps":{"alert":{"title":"Hello","body":"World"},"sound":"default"},"sessionID":"ses_1"}"#

    /// Sends a push with curl; omits headers that have an empty value.
    func push(
        _ payload: String = payload, to token: String = deviceToken,
        in environment: PushEnvironment = .production,
        _ headers: [String: String] = [:], maxSeconds: Double = 30
    ) async throws -> PushAnswer {
        let now = Int64(Date().timeIntervalSince1970)
        let standard = [
            "authorization": "bearer " + PushFixture.unsignedToken(issuedAt: now),
            "apns-topic": "com.example.app",
            "apns-push-type": "alert",
        ]
        var arguments = [
            "-sS", "--http2", "--cacert", certificateFile, "-D", "-", "-m", String(maxSeconds), "-d", payload,
        ]
        for (name, value) in standard.merging(headers, uniquingKeysWith: { $1 }) where !value.isEmpty {
            arguments += ["-H", "\(name): \(value)"]
        }
        let result = try await Tool.curl.run(arguments + [url(environment) + "/3/device/" + token])
        return Self.answer(result)
    }

    /// curl's output, parsed.
    static func answer(_ result: ChildProcess.Result) -> PushAnswer {
        var answer = PushAnswer(curl: result.status)
        let parts = result.output.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return answer }
        let lines = parts[0].split(separator: "\r\n")
        answer.status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        for line in lines.dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1)
            if sides.count == 2 {
                answer.headers[String(sides[0])] = sides[1].trimmingCharacters(in: .whitespaces)
            }
        }
        answer.body = String(parts[1])
        return answer
    }

    /// Calls the control API with curl and returns the response, regardless of its status.
    @discardableResult
    func control(_ method: String, _ path: String, _ body: String? = nil) async throws -> JSON.Value {
        let text = try await controlText(method, path, body)
        return try JSON.parse(Array(text.utf8), maxBytes: 1 << 26)
    }

    /// Calls the control API as ``control(_:_:_:)`` does, but returns the text.
    func controlText(_ method: String, _ path: String, _ body: String? = nil) async throws -> String {
        let result = try await Tool.curl.run(
            ["-sS", "-m", "35", "-X", method] + (body.map { ["-d", $0] } ?? []) + [controlURL + path])
        guard result.status == 0 else { throw Printout.Ended(description: result.errors) }
        return result.output
    }

    /// The statistics once a condition holds, or after 30 s.
    func stats(once isReady: (JSON.Value) -> Bool) async throws -> JSON.Value {
        let deadline = ContinuousClock.now + .seconds(30)
        var stats = try await control("GET", "/stats")
        while !isReady(stats), ContinuousClock.now < deadline { stats = try await control("GET", "/stats") }
        return stats
    }

    /// The recorded pushes.
    func pushes() async throws -> [JSON.Value] { try await control("GET", "/pushes")["pushes"]?.array ?? [] }
}
