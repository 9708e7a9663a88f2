import JSON
import WebClient

/// Asks the relay that runs on this machine whether it is ready.
enum RelayCheck {
    /// Asks for `GET /ready` where the settings say that it listens.
    static func finding(_ place: HealthConfiguration) async -> CheckFinding {
        guard place.port != 0 else {
            return .skipped(.relay, "", "PORT is 0: which port the relay was given can't be known")
        }
        var request = WebRequest(url: place.url("/ready"), timeout: Bounds.healthDeadline)
        request.isLocal = true
        request.trust = .anyone
        do throws(WebFailure) {
            return finding(try await WebClient.send(request), place.url(""))
        } catch {
            switch error.kind {
            case .connect:
                return .skipped(.relay, place.url(""), "no relay runs there now")
            case .timeout:
                return .fault(.relayNotReady, .relay, place.url(""), "it doesn't answer: \(error)")
            case .url, .name, .tls, .answer:
                return .fault(.relayUnknown, .relay, place.url(""), "\(error)")
            }
        }
    }

    /// What an answer to `/ready` means.
    static func finding(_ answer: WebAnswer, _ url: String) -> CheckFinding {
        let body = try? JSON.parse(answer.body, maxBytes: Bounds.requestBodyBytesMax)
        guard let checks = body?["checks"]?.object else {
            return .fault(
                .relayUnknown, .relay, url, "GET /ready is answered \(answer.status), and not as a relay does"
            )
        }
        if answer.status == 200 { return .ok(.relay, url, "it runs and is ready") }
        let wrong = checks.members.compactMap { member -> String? in
            guard let word = member.value.string, word != "ok" else { return nil }
            return "\(Quoted.name(member.name)): \(Quoted.name(word))"
        }
        return .fault(
            .relayNotReady, .relay, url, "it runs and isn't ready: \(wrong.joined(separator: ", "))")
    }
}
