import APNs
import Network
import Programs
import Storage

/// Interprets APNs' response to a push as a verdict on the key, team and bundle ID: a pure function.
struct PushVerdict {
    /// The environment, for the finding.
    let environment: Environment
    /// The bundle ID; `nil` if none is configured and the push had an invented one.
    let topic: Topic?
    let keyID: String

    /// A device token that no device has.
    static let impossibleToken = String(repeating: "0", count: 64)

    private var subject: String {
        "\(environment.rawValue) \(topic?.text ?? "without a bundle ID"), key \(keyID)"
    }

    /// The finding for the response to a push to a token that can't exist.
    func finding(_ outcome: Outcome) -> CheckFinding {
        switch outcome {
        case .accepted:
            return .ok(
                .push, subject,
                "APNs accepts the key, but also a push to a token that can't exist: this isn't Apple's server"
            )
        case .unreachable(let unreachable):
            let detail = unreachable.detail.isEmpty ? "" : " (\(unreachable.detail))"
            return .fault(
                .noAnswer, .push, subject, "no response to a push: \(unreachable.cause.rawValue)\(detail)")
        case .rejected(let rejection):
            let answer =
                "APNs answers \(rejection.status) \(rejection.reason?.rawValue ?? "without a reason")"
            return finding(rejection, answer)
        }
    }

    private func finding(_ rejection: Rejection, _ answer: String) -> CheckFinding {
        switch rejection.reason?.documented {
        case .badDeviceToken?:
            let proof =
                topic == nil
                ? "the key is valid" : "the key is valid, and APNs doesn't object to the bundle ID"
            return .ok(.push, subject, "\(answer) to a token that can't exist, as expected: \(proof)")
        case .topicDisallowed?, .badTopic?, .deviceTokenNotForTopic?, .missingTopic?:
            guard let topic else {
                return .ok(
                    .push, subject,
                    "\(answer): the key is valid; no bundle ID is configured to test")
            }
            return .fault(
                .bundleRefused, .push, subject,
                "\(answer): the bundle ID \(topic.text) doesn't belong to the key's team")
        case .invalidProviderToken?, .missingProviderToken?, .unrelatedKeyIdInToken?, .forbidden?,
            .badCertificate?, .badCertificateEnvironment?:
            return .fault(
                .providerTokenRefused, .push, subject,
                "\(answer): wrong team ID, key ID or key file, or a revoked key")
        case .expiredProviderToken?:
            return .fault(
                .providerTokenExpired, .push, subject,
                "\(answer): by APNs' clock the token is more than an hour old")
        case .badEnvironmentKeyInToken?, .badEnvironmentKeyIdInToken?:
            return .fault(
                .keyOfOtherEnvironment, .push, subject, "\(answer): the key isn't for \(environment.rawValue)"
            )
        case .tooManyProviderTokenUpdates?:
            return .fault(.tokensRenewedTooOften, .push, subject, answer)
        default: break
        }
        switch rejection.status {
        case 429:
            return .fault(
                .tooManyRequests, .push, subject, "\(answer): the key is valid, but APNs is rate limiting it")
        case 500...599: return .fault(.apnsTrouble, .push, subject, answer)
        case 403:
            return .fault(
                .providerTokenRefused, .push, subject,
                "\(answer): wrong team ID, key ID or key file, or a revoked key")
        default: return .fault(.unexpectedAnswer, .push, subject, answer)
        }
    }
}

extension [CheckFinding] {
    /// Accepts a key that is only valid in one environment.
    ///
    /// A relay for App Store apps needs no sandbox key: it uses the sandbox only for devices that registered
    /// with the wrong environment.
    func withKeysOfOneEnvironment() -> [CheckFinding] {
        guard contains(where: { $0.part == .push && $0.status == .ok }) else { return self }
        return map { finding in
            guard finding.fault == .keyOfOtherEnvironment else { return finding }
            return .fault(.keyOfOtherEnvironment, .push, finding.subject, finding.text, status: .warning)
        }
    }

    /// Names this machine's clock as a possible cause of a rejected provider token.
    ///
    /// APNs rejects a token older than an hour as expired, but one from the future as invalid, like a wrong
    /// key.
    ///
    /// - Parameter readings: Other clocks; without any (APNs sends no date, and a file has no clock) the local
    ///   clock can't be verified.
    func withClocks(_ readings: [ClockCheck.Reading], now: EpochMilliseconds) -> [CheckFinding] {
        let isKnown = !readings.isEmpty
        let isAhead = readings.contains { $0.local - $0.server > Bounds.checkClockSkewMax.inMilliseconds }
        guard isAhead || !isKnown else { return self }
        return map { finding in
            guard finding.fault == .providerTokenRefused else { return finding }
            if isAhead {
                return .fault(
                    .providerTokenRefused, .push, finding.subject,
                    "\(finding.text); this machine's clock is ahead, which is enough to cause this",
                    advice:
                        "Synchronize the clock with NTP first (timedatectl set-ntp true), then run the check again."
                )
            }
            let time = Timestamp(now).text
            return .fault(
                .providerTokenRefused, .push, finding.subject,
                "\(finding.text), or this machine's clock is ahead: it shows \(time)",
                advice: "Compare the clock (date -u) with the real time first; the check could not. "
                    + CheckFault.providerTokenRefused.advice)
        }
    }
}
