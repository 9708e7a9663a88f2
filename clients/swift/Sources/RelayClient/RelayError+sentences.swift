public import Foundation
public import PushSealing

// Without these conformances, `localizedDescription` is "The operation couldn't be completed" and a number.

extension RelayError: LocalizedError {
    /// A sentence for people, in English, that reveals nothing secret.
    public var errorDescription: String? {
        switch self {
        case .unreachable: "The relay can't be reached. Check the connection and the relay's address."
        case .timedOut: "The relay didn't answer in time."
        case .cancelled: "The request was cancelled."
        case .rejected(let rejection):
            rejection.sentence.isEmpty
                ? "The relay refused the request (status \(rejection.status))." : rejection.sentence
        case .unexpectedAnswer(let status):
            "The server didn't answer as a relay does (status \(status)). Check the relay's address."
        case .unsealable(let failure): failure.errorDescription
        case .noKey: "This pairing has no key, so nothing can be encrypted for it. Pair again."
        }
    }
}

extension PairingFailure: LocalizedError {
    /// A sentence for people, in English, that quotes no part of the text.
    public var errorDescription: String? { "This can't be used for pairing: \(description)." }
}

extension SealingFailure: LocalizedError {
    /// A sentence for people, in English.
    public var errorDescription: String? {
        switch self {
        case .tooLarge: "The text is too long to be encrypted. Shorten it."
        case .invalid(let name): "The message can't be encrypted: its \(name) is not valid."
        case .unavailable: "This system can't encrypt."
        }
    }
}

extension Refusal: LocalizedError {
    /// A sentence for people, in English.
    public var errorDescription: String? {
        switch self {
        case .malformed, .badPadding, .badContent: "The encrypted text is damaged."
        case .unsupportedVersion: "The text was encrypted by a newer version. Update the app."
        case .unknownKey: "The text was encrypted for another pairing."
        case .notAuthentic: "The encrypted text was changed on its way."
        case .stale: "The text is too old to be shown."
        case .repeated: "The text was shown before."
        }
    }
}
