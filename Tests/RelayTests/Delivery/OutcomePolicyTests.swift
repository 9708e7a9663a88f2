import APNs
import Testing

@testable import Relay

/// When every push in these tests was first sent, in milliseconds since 1970.
private let sentAt: Int64 = 1_800_000_000_000

private func attempt(
    to environment: Environment = .production, mayChange: Bool = true, isTopicDefault: Bool = false,
    isTopicConfigured: Bool = true
) -> Attempt {
    Attempt(
        registeredEnvironment: environment, mayChangeEnvironment: mayChange, isTopicDefault: isTopicDefault,
        isTopicConfigured: isTopicConfigured,
        firstSentAt: sentAt)
}

private func rejected(_ reason: Reason.Documented, timestamp: Int64? = nil, retryAfter: Int? = nil) -> Outcome
{
    .rejected(
        Rejection(status: reason.status, reason: Reason(reason), timestamp: timestamp, retryAfter: retryAfter)
    )
}

private func step(_ outcome: Outcome, _ attempt: Attempt = attempt()) -> OutcomePolicy.Step {
    OutcomePolicy.step(after: outcome, of: attempt)
}

private func failed(
    _ reason: String, removeIfNotUpdatedAfter: Int64? = nil, fault: OutcomePolicy.Fault? = nil
) -> OutcomePolicy.Step {
    .failed(
        OutcomePolicy.Failure(reason: reason, removeIfNotUpdatedAfter: removeIfNotUpdatedAfter, fault: fault))
}

/// The step after two outcomes, the first of which makes the push be sent again.
private func step(
    _ first: Outcome, then second: Outcome, _ attempt: Attempt = attempt()
) throws -> OutcomePolicy.Step {
    guard case .sendAgain(let next) = step(first, attempt) else { throw NotSentAgain() }
    return step(second, next)
}

private struct NotSentAgain: Error {}

private let accepted = Outcome.accepted(apnsID: "id", uniqueID: nil)

extension OutcomePolicy.Step {
    fileprivate static func sent(storeEnvironment: Environment?) -> Self {
        .end(.sent(apnsID: "id", storeEnvironment: storeEnvironment))
    }

    fileprivate static func retryLater(_ retry: OutcomePolicy.RetryLater) -> Self { .end(.retryLater(retry)) }

    fileprivate static func failed(_ failure: OutcomePolicy.Failure) -> Self { .end(.failed(failure)) }
}

@Suite("The step after an outcome", .timeLimit(.minutes(2)))
struct OutcomePolicyTests {
    @Test("200 is sent, and nothing is stored", arguments: Environment.allCases)
    func accepts(environment: Environment) {
        #expect(step(accepted, attempt(to: environment)) == .sent(storeEnvironment: nil))
    }

    // 410

    static let gone: [Reason.Documented] = [.unregistered, .expiredToken]

    @Test("410 removes a registration that isn't newer than APNs' timestamp", arguments: gone)
    func goneWithTimestamp(reason: Reason.Documented) {
        let timestamp = sentAt - 3_600_000
        #expect(
            step(rejected(reason, timestamp: timestamp))
                == failed(reason.name, removeIfNotUpdatedAfter: timestamp))
    }

    @Test("410 never removes a registration made after the push was sent", arguments: gone)
    func goneWithLateTimestamp(reason: Reason.Documented) {
        for timestamp in [sentAt, sentAt + 1, sentAt + 60_000, .max] {
            let expected = failed(reason.name, removeIfNotUpdatedAfter: sentAt - 1)
            #expect(step(rejected(reason, timestamp: timestamp)) == expected)
        }
    }

    @Test("410 without a timestamp removes only what is older than the push", arguments: gone)
    func goneWithoutTimestamp(reason: Reason.Documented) {
        #expect(step(rejected(reason)) == failed(reason.name, removeIfNotUpdatedAfter: sentAt - 1))
    }

    @Test("410 without a reason, or its reasons with another status, remove nothing")
    func goneWithoutReason() {
        #expect(step(.rejected(Rejection(status: 410, reason: nil, timestamp: 1))) == failed("Status 410"))
        #expect(step(.rejected(Rejection(status: 410, reason: Reason(rawValue: "New")))) == failed("New"))
        #expect(
            step(.rejected(Rejection(status: 400, reason: Reason(.unregistered)))) == failed("Unregistered"))
    }

    // Wrong environment

    static let environmentReasons: [Reason.Documented] = [
        .badDeviceToken, .badEnvironmentKeyInToken, .badEnvironmentKeyIdInToken,
    ]

    @Test(
        "after a wrong environment the other one is tried, and stored if it accepts",
        arguments: environmentReasons)
    func otherEnvironment(reason: Reason.Documented) throws {
        for environment in Environment.allCases {
            guard case .sendAgain(let next) = step(rejected(reason), attempt(to: environment)) else {
                Issue.record("not sent again")
                return
            }
            #expect(next.environment == environment.other)
            #expect(next.registeredEnvironment == environment)
            #expect(step(accepted, next) == .sent(storeEnvironment: environment.other))
        }
    }

    @Test("BadDeviceToken in both environments removes a registration older than the push")
    func badDeviceTokenTwice() throws {
        let bad = rejected(.badDeviceToken)
        #expect(try step(bad, then: bad) == failed("BadDeviceToken", removeIfNotUpdatedAfter: sentAt - 1))
    }

    @Test(
        "BadDeviceToken in one environment and a key that isn't for the other keep the registration",
        arguments: [Reason.Documented.badEnvironmentKeyInToken, .badEnvironmentKeyIdInToken])
    func badDeviceTokenOnce(key: Reason.Documented) throws {
        let bad = rejected(.badDeviceToken)
        #expect(try step(bad, then: rejected(key)) == failed("BadDeviceToken"))
        #expect(try step(rejected(key), then: bad) == failed(key.name))
    }

    @Test("a key for neither environment is the operator's fault and removes nothing")
    func keyForNeither() throws {
        for first in Self.environmentReasons.dropFirst() {
            for second in Self.environmentReasons.dropFirst() {
                #expect(
                    try step(rejected(first), then: rejected(second))
                        == failed(first.name, fault: .configuration))
            }
        }
    }

    @Test("where the other environment isn't allowed, it isn't tried and nothing is removed")
    func onlyOneEnvironment() {
        let only = attempt(mayChange: false)
        #expect(step(rejected(.badDeviceToken), only) == failed("BadDeviceToken"))
        let key = rejected(.badEnvironmentKeyInToken)
        #expect(step(key, only) == failed("BadEnvironmentKeyInToken", fault: .configuration))
    }

    @Test("the other environment's answer about the device is used")
    func otherEnvironmentAnswers() throws {
        let bad = rejected(.badDeviceToken)
        let gone = rejected(.unregistered, timestamp: 5)
        #expect(try step(bad, then: gone) == failed("Unregistered", removeIfNotUpdatedAfter: 5))
        let later = OutcomePolicy.RetryLater(reason: "ServiceUnavailable", cause: .server, after: 3)
        #expect(try step(bad, then: rejected(.serviceUnavailable, retryAfter: 3)) == .retryLater(later))
        let topic = failed("DeviceTokenNotForTopic", removeIfNotUpdatedAfter: sentAt - 1)
        #expect(try step(bad, then: rejected(.deviceTokenNotForTopic)) == topic)
    }

    // Topic

    @Test("DeviceTokenNotForTopic removes only where the topic came with the registration")
    func topic() {
        let outcome = rejected(.deviceTokenNotForTopic)
        let removed = failed("DeviceTokenNotForTopic", removeIfNotUpdatedAfter: sentAt - 1)
        #expect(step(outcome, attempt(isTopicDefault: false)) == removed)
        #expect(step(outcome, attempt(isTopicDefault: true)) == failed("DeviceTokenNotForTopic"))
    }

    // Provider token

    static let tokenReasons: [Reason.Documented] = [
        .expiredProviderToken, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIdInToken,
    ]

    @Test(
        "a push whose provider token is refused is sent once more, and then waits; the fault is the operator's",
        arguments: tokenReasons)
    func refusedToken(reason: Reason.Documented) throws {
        let refused = rejected(reason)
        #expect(try step(refused, then: accepted) == .sent(storeEnvironment: nil))
        let waiting = OutcomePolicy.RetryLater(reason: reason.name, cause: .token, fault: .configuration)
        #expect(try step(refused, then: refused) == .retryLater(waiting))
        guard case .sendAgain(let other) = step(rejected(.badDeviceToken)),
            case .sendAgain(let again) = step(refused, other)
        else {
            Issue.record("not sent again")
            return
        }
        #expect(again.environment == .sandbox)
        #expect(step(accepted, again) == .sent(storeEnvironment: .sandbox))
        // In an environment that no registration gave, the refusal isn't a fault.
        let elsewhere = OutcomePolicy.RetryLater(reason: reason.name, cause: .token)
        #expect(step(refused, again) == .retryLater(elsewhere))
    }

    @Test("for an app that nobody configured, InvalidProviderToken fails the push and renews no token")
    func unconfigured() {
        let attempt = attempt(isTopicConfigured: false)
        let outcome = step(rejected(.invalidProviderToken), attempt)
        #expect(outcome == failed("InvalidProviderToken", fault: .unconfiguredApp))
        guard case .sendAgain = step(rejected(.expiredProviderToken), attempt) else {
            Issue.record("an expired token is not renewed")
            return
        }
    }

    @Test(
        "a refused topic is the operator's fault only if the operator configured it",
        arguments: [
            Reason.Documented.topicDisallowed, .badTopic,
        ])
    func refusedTopic(reason: Reason.Documented) {
        let own = step(rejected(reason), attempt(isTopicDefault: true, isTopicConfigured: false))
        #expect(step(rejected(reason), attempt(isTopicConfigured: true)) == own)
        #expect(own == failed(reason.name, fault: .configuration))
        // Anybody can register a device for any app, so that must not affect `/ready`.
        #expect(step(rejected(reason), attempt(isTopicConfigured: false)) == failed(reason.name))
    }

    // Payload

    @Test("413 is this program's fault, with or without a reason")
    func payloadTooLarge() {
        #expect(step(rejected(.payloadTooLarge)) == failed("PayloadTooLarge", fault: .program))
        #expect(step(.rejected(Rejection(status: 413, reason: nil))) == failed("Status 413", fault: .program))
    }

    // Later

    static let laterReasons: [Reason.Documented] = [
        .tooManyRequests, .tooManyProviderTokenUpdates, .internalServerError, .serviceUnavailable, .shutdown,
        .idleTimeout,
    ]

    @Test(
        "429, 5xx and an idle connection are retried later, no sooner than APNs asks",
        arguments: laterReasons)
    func later(reason: Reason.Documented) {
        let cause: OutcomePolicy.RetryLater.Cause = reason.status == 429 ? .tooMany : .server
        let soon = OutcomePolicy.RetryLater(reason: reason.name, cause: cause)
        #expect(step(rejected(reason)) == .retryLater(soon))
        let waiting = OutcomePolicy.RetryLater(reason: reason.name, cause: cause, after: 120)
        #expect(step(rejected(reason, retryAfter: 120)) == .retryLater(waiting))
    }

    @Test("429 and 5xx need no reason", arguments: [429, 500, 502, 503, 504, 599])
    func laterWithoutReason(status: Int) {
        let outcome = Outcome.rejected(Rejection(status: status, reason: nil, retryAfter: 1))
        let later = OutcomePolicy.RetryLater(
            reason: "Status \(status)", cause: status == 429 ? .tooMany : .server, after: 1)
        #expect(step(outcome) == .retryLater(later))
    }

    @Test("a push without an answer is sent later", arguments: Unreachable.Cause.allCases)
    func unreachable(cause: Unreachable.Cause) {
        for processed in [Unreachable.Processed.notSent, .unknown] {
            let outcome = Outcome.unreachable(Unreachable(processed: processed, cause: cause, detail: "x"))
            let later = OutcomePolicy.RetryLater(reason: cause.rawValue, cause: .unreachable)
            #expect(step(outcome) == .retryLater(later))
        }
    }

    // The rest

    @Test("any other 4xx fails with its reason and removes nothing")
    func otherClientErrors() {
        let named = Set(
            Self.gone + Self.environmentReasons + Self.tokenReasons + Self.laterReasons
                + [.badTopic, .deviceTokenNotForTopic, .payloadTooLarge, .topicDisallowed])
        let others = Set(Reason.Documented.allCases).subtracting(named)
        #expect(others.count == 14)
        let operators: Set<Reason.Documented> = [.badCertificate, .badCertificateEnvironment, .forbidden]
        for reason in others {
            let fault: OutcomePolicy.Fault = operators.contains(reason) ? .configuration : .program
            #expect(step(rejected(reason)) == failed(reason.name, fault: fault))
        }
        #expect(
            step(.rejected(Rejection(status: 400, reason: Reason(rawValue: "Brand New"))))
                == failed("Brand New"))
        for status in [204, 301, 400, 403, 404, 405, 418, 600] {
            #expect(step(.rejected(Rejection(status: status, reason: nil))) == failed("Status \(status)"))
        }
    }

    @Test("no sequence of answers sends a push more than three times")
    func ends() {
        let outcomes = Reason.Documented.allCases.map { rejected($0) } + [accepted]
        func longest(_ attempt: Attempt, sends: Int) -> Int {
            guard sends < 10 else { return sends }
            return outcomes.map { outcome in
                guard case .sendAgain(let next) = step(outcome, attempt) else { return sends }
                return longest(next, sends: sends + 1)
            }.max() ?? sends
        }
        for isAllowed in [true, false] {
            #expect(longest(attempt(mayChange: isAllowed), sends: 1) == (isAllowed ? 3 : 2))
        }
    }
}
