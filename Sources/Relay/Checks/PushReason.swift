import APNs

/// Maps a failed push's reason in the delivery log to a fault: a pure function.
enum PushReason {
    static func fault(of reason: String) -> CheckFault {
        if let documented = Reason(rawValue: reason)?.documented { return fault(of: documented) }
        switch Unreachable.Cause(rawValue: reason) {
        case .nameNotResolved?: return .nameNotResolved
        case .connectFailed?, .connectTimeout?: return .connectionTimeout
        case .tlsFailed?: return .tlsFailed
        case .http2NotOffered?: return .noHTTP2
        case .noProviderToken?: return .keyUnusable
        case .connectionClosed?, .goneAway?, .streamRefused?, .streamReset?, .protocolError?, .timeout?,
            .noStreams?, .queueFull?, .shuttingDown?:
            return .noAnswer
        case nil: break
        }
        switch reason {
        case FailureReason.unknownBundle, FailureReason.environmentNotAllowed: return .deviceAppUnknown
        case FailureReason.invalidRegistration: return .deviceTokenBad
        default: return .lastPushFailed
        }
    }

    private static func fault(of reason: Reason.Documented) -> CheckFault {
        switch reason {
        case .unregistered, .expiredToken: .deviceUnregistered
        case .badDeviceToken, .missingDeviceToken: .deviceTokenBad
        case .badTopic, .deviceTokenNotForTopic, .missingTopic, .topicDisallowed: .bundleRefused
        case .invalidProviderToken, .missingProviderToken, .unrelatedKeyIdInToken, .forbidden,
            .badCertificate, .badCertificateEnvironment:
            .providerTokenRefused
        case .expiredProviderToken: .providerTokenExpired
        case .badEnvironmentKeyInToken, .badEnvironmentKeyIdInToken: .keyOfOtherEnvironment
        case .tooManyProviderTokenUpdates: .tokensRenewedTooOften
        case .tooManyRequests: .tooManyRequests
        case .internalServerError, .serviceUnavailable, .shutdown: .apnsTrouble
        case .badCollapseId, .badExpirationDate, .badMessageId, .badPriority, .badPath, .duplicateHeaders,
            .idleTimeout, .invalidPushType, .methodNotAllowed, .payloadEmpty, .payloadTooLarge:
            .unexpectedAnswer
        }
    }
}
