import PushSealing

/// What the bridge and its phones share.
struct SharedSecret: Sendable, Equatable {
    /// The secret of requests to the relay.
    let relaySecret: String
    /// The pairing secret; `nil` if there is only a relay's secret, for which nothing can be sealed.
    let key: PairingSecret?

    /// The secrets of a pairing.
    init(_ key: PairingSecret = PairingSecret()) {
        relaySecret = key.relaySecret
        self.key = key
    }

    private init(relaySecret: String, key: PairingSecret?) {
        self.relaySecret = relaySecret
        self.key = key
    }

    private static let keyPrefix = "key:"

    /// Reads the contents of a secret's file: `key:` and a pairing secret in base64url, or only a relay's secret.
    init(file bytes: [UInt8]) throws(SmallFile.Fault) {
        // OpenCode and the app trim it, too.
        let words = String(decoding: bytes, as: UTF8.self).split { $0.isWhitespace }
        guard words.count == 1, let word = words.first, word.utf8.count <= Bounds.secretBytesMax else {
            throw SmallFile.Fault("it isn't one word of at most \(Bounds.secretBytesMax) bytes")
        }
        guard word.hasPrefix(Self.keyPrefix) else {
            self.init(relaySecret: String(word), key: nil)
            return
        }
        guard let key = PairingSecret(base64URL: String(word.dropFirst(Self.keyPrefix.count))) else {
            throw SmallFile.Fault("what follows \(Self.keyPrefix) isn't a pairing secret")
        }
        self.init(key)
    }

    /// The contents of its file.
    var file: [UInt8] { Array(((key.map { Self.keyPrefix + $0.base64URL }) ?? relaySecret).utf8) + [0x0A] }
}

/// The file with the secret, which only its user can read.
enum SecretFile {
    /// Where the secret is.
    static func path(_ configuration: Configuration) -> String {
        configuration.relaySecretFile ?? configuration.stateDirectory + "/secret"
    }

    /// Reads the secret, and makes it the first time.
    ///
    /// - Parameter makesGivenFile: Whether to make a file that was set, too: its name may be mistyped.
    static func read(_ configuration: Configuration, makesGivenFile: Bool = false)
        throws(SettingProblems) -> SharedSecret
    {
        let path = path(configuration)
        do throws(SmallFile.Fault) {
            return try read(path)
        } catch {
            guard error.isMissing else { throw unreadable(path, error) }
            guard makesGivenFile || configuration.relaySecretFile == nil else {
                throw SettingProblems([
                    "the secret in \(path) can't be read: \(error); `opencode-bridge pair` makes it"
                ])
            }
        }
        let secret = SharedSecret()
        let isMine: Bool
        do throws(SmallFile.Fault) {
            try SmallFile.createDirectory(SmallFile.parent(of: path))
            isMine = try SmallFile.create(path, with: secret.file)
        } catch {
            throw unwritable(path, error)
        }
        if isMine { return secret }
        // Another process of the bridge was faster.
        do throws(SmallFile.Fault) { return try read(path) } catch { throw unreadable(path, error) }
    }

    /// Replaces the secret.
    static func replace(_ configuration: Configuration, with secret: SharedSecret) throws(SettingProblems) {
        let path = path(configuration)
        do throws(SmallFile.Fault) {
            try SmallFile.createDirectory(SmallFile.parent(of: path))
            try SmallFile.replace(path, with: secret.file)
        } catch {
            throw unwritable(path, error)
        }
    }

    private static func read(_ path: String) throws(SmallFile.Fault) -> SharedSecret {
        try SharedSecret(file: try SmallFile.read(path, bytesMax: Bounds.settingFileBytesMax))
    }

    private static func unreadable(_ path: String, _ fault: SmallFile.Fault) -> SettingProblems {
        SettingProblems(["the secret in \(path) can't be read: \(fault)"])
    }

    private static func unwritable(_ path: String, _ fault: SmallFile.Fault) -> SettingProblems {
        SettingProblems(["the secret can't be written to \(path): \(fault)"])
    }
}
