import JSON
import Programs
import WebClient

/// Checks whether the relay on this machine is ready.
enum RelayCheck {
    /// Requests `GET /ready` from the configured address.
    static func finding(_ place: HealthConfiguration) async -> CheckFinding {
        guard place.port != 0 else {
            return .skipped(.relay, "", "PORT is 0, so the relay's port is unknown")
        }
        var request = WebRequest(url: place.url("/ready"), timeout: Bounds.healthDeadline)
        request.isLocal = true
        request.trust = .anyone
        do throws(WebFailure) {
            return finding(try await WebClient.send(request), place.url(""))
        } catch {
            switch error.kind {
            case .connect:
                return .skipped(.relay, place.url(""), "no relay is running there")
            case .timeout:
                return .fault(.relayNotReady, .relay, place.url(""), "\(noAnswer): \(error)")
            case .url, .name, .tls, .answer:
                return .fault(.relayUnknown, .relay, place.url(""), "\(error)")
            }
        }
    }

    /// Whether a relay responded, ready or not.
    static func isRelay(_ finding: CheckFinding) -> Bool {
        finding.status == .ok || (finding.fault == .relayNotReady && !finding.text.hasPrefix(noAnswer))
    }

    private static let noAnswer = "it doesn't answer"

    /// The finding for a response to `/ready`.
    static func finding(_ answer: WebAnswer, _ url: String) -> CheckFinding {
        let body = try? JSON.parse(answer.body, maxBytes: Bounds.requestBodyBytesMax)
        guard let checks = body?["checks"]?.object else {
            return .fault(
                .relayUnknown, .relay, url,
                "GET /ready returned \(answer.status), which is not a relay's response"
            )
        }
        if answer.status == 200 { return .ok(.relay, url, "running and ready") }
        let wrong = checks.members.compactMap { member -> String? in
            guard let word = member.value.string, word != "ok" else { return nil }
            return "\(Quoted.name(member.name)): \(Quoted.name(word))"
        }
        return .fault(
            .relayNotReady, .relay, url, "running but not ready: \(wrong.joined(separator: ", "))")
    }
}
