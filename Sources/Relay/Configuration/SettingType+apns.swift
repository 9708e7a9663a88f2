import APNs
import Programs

extension SettingType where Value == KeyText {
    /// Apple's signing key: a P-256 key that can sign.
    static let privateKey = SettingType(
        accepts: "the text of Apple's .p8 file as it is, with \\n for its line breaks, or in base64",
        parse: { text in
            let key = KeyText(text)
            do throws(SigningKeyError) {
                _ = try SigningKey(key)
                return .success(key)
            } catch {
                return .failure(.because("it \(error.description)"))
            }
        },
        render: \.description)
}

extension SettingType where Value == String {
    /// Apple's team and key identifiers.
    static let appleIdentifier = SettingType(
        accepts: "\(ProviderCredentials.identifierCount) characters of A-Z and 0-9",
        parse: { text in ProviderCredentials.isIdentifier(text) ? .success(text) : .failure(.notAccepted) },
        render: { $0 })

    /// The name of a sound file in the app.
    static let sound = text("1 to 64 printable ASCII characters") { bytes in
        (1...64).contains(bytes.count) && bytes.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

extension SettingType where Value == Topic {
    /// An app's bundle ID, as in a registration.
    static let bundleID = SettingType(
        accepts: "1 to \(Topic.countMax) characters of A-Z a-z 0-9 . -",
        parse: { text in Topic(text).map(Result.success) ?? .failure(.notAccepted) },
        render: \.text)
}

extension SettingType where Value == Set<Topic> {
    /// Bundle IDs, separated by commas.
    static let bundleIDs = SettingType(
        accepts: "bundle identifiers, separated by commas",
        parse: { text in
            let names = text.split(separator: ",", omittingEmptySubsequences: false)
            let topics = names.map { name in Topic(String(name.drop { $0 == " " })) }
            guard topics.allSatisfy({ $0 != nil }) else { return .failure(.notAccepted) }
            return .success(Set(topics.compactMap(\.self)))
        },
        render: { $0.map(\.text).sorted().joined(separator: ",") })
}
