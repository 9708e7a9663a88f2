import Programs
import Storage

extension RegistrationPolicy {
    /// The policy in the settings; missing settings are noted as problems.
    init(_ reader: inout SettingReader, hasher: SecretHasher) {
        let mode = reader.read(Settings.registration)
        let key = reader.read(Settings.registrationKey)
        let isKeyGiven = reader.isGiven(Settings.registrationKey.row)
        if isKeyGiven, mode != .key {
            reader.note(
                "RELAY_REGISTRATION_KEY is set, but RELAY_REGISTRATION is \(mode.rawValue); set it to key")
        }
        switch mode {
        case .open:
            self = .open
        case .challenge:
            guard let codes = ChallengeCodes(hasher) else {
                // An invalid pepper was already noted as a problem.
                if !reader.isGiven(Settings.secretPepper.row) {
                    reader.note(
                        "RELAY_REGISTRATION is challenge, which requires RELAY_SECRET_PEPPER; set it"
                    )
                }
                self = .open
                return
            }
            self = .challenge(codes)
        case .key:
            guard let key else {
                if !isKeyGiven {
                    reader.note("RELAY_REGISTRATION is key; set RELAY_REGISTRATION_KEY")
                }
                self = .open
                return
            }
            self = .key(key)
        }
    }
}
