import Storage

/// The values of `RELAY_REGISTRATION`.
enum RegistrationMode: String, CaseIterable, Sendable {
    /// Anyone may register any device.
    case open
    /// A new device must return a code that the relay pushes to it.
    case challenge
    /// Clients must send the operator's key.
    case key
}

/// Who may register devices.
enum RegistrationPolicy: Sendable {
    /// Anyone.
    case open
    /// Anyone who returns a code that was pushed to the device.
    case challenge(ChallengeCodes)
    /// Anyone with the operator's key.
    case key(Secret)

    /// The codes, if the policy challenges devices.
    var challengeCodes: ChallengeCodes? {
        if case .challenge(let codes) = self { codes } else { nil }
    }
}
