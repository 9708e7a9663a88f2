import APNs
import Storage

/// An APNs signing key and its team, to which connections and provider tokens belong.
///
/// There is one object per key in the process, so that the key's apps share its connections and tokens.
final class AppKey: Sendable {
    /// The key's provider tokens.
    let tokens: ProviderTokenSource
    private let text: KeyText

    /// A key that hasn't signed yet.
    init(teamID: String, keyID: String, text: KeyText) throws(ProviderCredentialProblems) {
        tokens = ProviderTokenSource(try ProviderCredentials(teamID: teamID, keyID: keyID, key: text))
        self.text = text
    }

    var teamID: String { tokens.credentials.teamID }

    var keyID: String { tokens.credentials.keyID }

    /// Whether another key has the same identifiers.
    func hasSameName(as other: AppKey) -> Bool { teamID == other.teamID && keyID == other.keyID }

    /// Whether another key has the same identifiers and the same text.
    func isSame(as other: AppKey) -> Bool { hasSameName(as: other) && text == other.text }
}

/// The common parts of all pushes for an app.
///
/// It is a class, so that each push can look it up without copying.
final class PushApp: Sendable {
    /// The key that signs its pushes.
    let key: AppKey
    /// The environments of its devices.
    let environments: Set<Environment>
    /// Sound and time to live.
    let push: PushSettings

    /// Creates an app, in both environments unless specified.
    init(
        key: AppKey, environments: Set<Environment> = Set(Environment.allCases),
        push: PushSettings = PushSettings()
    ) {
        self.key = key
        self.environments = environments
        self.push = push
    }
}

/// The common parts of all pushes for the app.
struct PushSettings: Sendable, Equatable {
    /// The payload's `sound`; `nil` omits it.
    var sound: String? = "default"
    /// How long APNs stores a push; zero means one attempt.
    var timeToLive: Duration = .seconds(86_400)
}
