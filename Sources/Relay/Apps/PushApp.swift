import APNs
import Storage

/// A signing key of APNs and its team: connections and provider tokens are grouped by it.
///
/// One object for each key of the process, so that apps of one key share both.
final class AppKey: Sendable {
    /// The key's provider tokens.
    let tokens: ProviderTokenSource
    private let text: KeyText

    /// A key that has signed nothing yet.
    init(teamID: String, keyID: String, text: KeyText) throws(ProviderCredentialProblems) {
        tokens = ProviderTokenSource(try ProviderCredentials(teamID: teamID, keyID: keyID, key: text))
        self.text = text
    }

    /// The team's identifier.
    var teamID: String { tokens.credentials.teamID }

    /// The key's identifier.
    var keyID: String { tokens.credentials.keyID }

    /// Whether it has the same identifiers.
    func hasSameName(as other: AppKey) -> Bool { teamID == other.teamID && keyID == other.keyID }

    /// Whether it is the same key under the same identifiers.
    func isSame(as other: AppKey) -> Bool { hasSameName(as: other) && text == other.text }
}

/// What is the same in every push of an app.
///
/// An object, which each push looks up without copying its parts.
final class PushApp: Sendable {
    /// What its pushes are signed with.
    let key: AppKey
    /// Where its devices may be.
    let environments: Set<Environment>
    /// Sound and time to live.
    let push: PushSettings

    /// An app of its parts; without a word on environments it is in both.
    init(
        key: AppKey, environments: Set<Environment> = Set(Environment.allCases),
        push: PushSettings = PushSettings()
    ) {
        self.key = key
        self.environments = environments
        self.push = push
    }
}

/// What is the same in every push of the app.
struct PushSettings: Sendable, Equatable {
    /// The payload's `sound`; `nil` leaves it out.
    var sound: String? = "default"
    /// How long APNs keeps a push; zero is one attempt.
    var timeToLive: Duration = .seconds(86_400)
}
