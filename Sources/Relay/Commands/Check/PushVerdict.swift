import APNs

/// What APNs' answer to a push says of the operator's key, team and bundle ID: a pure function.
struct PushVerdict {
    /// The environment and the bundle ID, for the finding.
    let environment: Environment
    /// `nil` where no bundle ID is configured and the push had one that is nobody's.
    let topic: Topic?
    /// The key's name.
    let keyID: String

    /// The device token that no device has.
    static let impossibleToken = String(repeating: "0", count: 64)

    private var subject: String {
        "\(environment.rawValue) \(topic?.text ?? "without a bundle ID"), key \(keyID)"
    }

    /// What the answer to a push to a token that can't exist means.
    func finding(_ outcome: Outcome) -> CheckFinding {
        switch outcome {
        case .accepted:
            return .ok(
                .push, subject,
                "APNs takes the key, and even a push to a token that can't exist: it isn't Apple's")
        case .unreachable(let unreachable):
            let detail = unreachable.detail.isEmpty ? "" : " (\(unreachable.detail))"
            return .fault(
                .noAnswer, .push, subject, "no answer to a push: \(unreachable.cause.rawValue)\(detail)")
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
                ? "the key is good" : "the key is good, and nothing is said against the bundle ID"
            return .ok(.push, subject, "\(answer) to a token that can't exist, as it should: \(proof)")
        case .topicDisallowed?, .badTopic?, .deviceTokenNotForTopic?, .missingTopic?:
            guard let topic else {
                return .ok(
                    .push, subject,
                    "\(answer): the key is good; no bundle ID is configured that could be tried")
            }
            return .fault(
                .bundleRefused, .push, subject,
                "\(answer): the bundle ID \(topic.text) isn't the key's team's")
        case .invalidProviderToken?, .missingProviderToken?, .unrelatedKeyIdInToken?, .forbidden?,
            .badCertificate?, .badCertificateEnvironment?:
            return .fault(
                .providerTokenRefused, .push, subject,
                "\(answer): team ID, key ID or key file is wrong, or the key revoked")
        case .expiredProviderToken?:
            return .fault(
                .providerTokenExpired, .push, subject, "\(answer): to APNs the token is older than an hour")
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
            return .fault(.tooManyRequests, .push, subject, "\(answer): the key is good, and asked too often")
        case 500...599: return .fault(.apnsTrouble, .push, subject, answer)
        case 403:
            return .fault(
                .providerTokenRefused, .push, subject,
                "\(answer): team ID, key ID or key file is wrong, or the key revoked")
        default: return .fault(.unexpectedAnswer, .push, subject, answer)
        }
    }
}

extension [CheckFinding] {
    /// Where a key is good in one environment, that it isn't in the other may be just as it should be.
    ///
    /// A relay for apps from the App Store alone needs no key for the sandbox, which it tries first or second only for a
    /// device whose environment is wrong.
    func withKeysOfOneEnvironment() -> [CheckFinding] {
        guard contains(where: { $0.part == .push && $0.status == .ok }) else { return self }
        return map { finding in
            guard finding.fault == .keyOfOtherEnvironment else { return finding }
            return .fault(.keyOfOtherEnvironment, .push, finding.subject, finding.text, status: .warning)
        }
    }
}
