import Programs
import PushSealing

/// The secrets shared by the bridge and its phones.
struct SharedSecret: Sendable, Equatable {
    /// The secret for requests to the relay.
    let relaySecret: String
    /// The pairing secret; `nil` if there is only a relay secret, with which nothing can be sealed.
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
    private static let plainPrefix = "secret:"

    /// Parses the contents of a secret's file: `key:` and a pairing secret in base64url, or only a relay secret.
    ///
    /// Text that looks like a damaged key is refused: treated as a relay secret, it would be sent to the relay, and
    /// texts would be sent unsealed. The prefix `secret:` marks a relay secret, regardless of its form.
    init(file bytes: [UInt8]) throws(FileError) {
        // OpenCode and the app also trim white space.
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        let words = bytes.split(whereSeparator: isSpace)
        guard words.count == 1, let word = words.first, word.count <= Bounds.secretBytesMax else {
            throw FileError(
                "it must be one word of at most \(Bounds.secretBytesMax) bytes; leave only the secret in it")
        }
        guard word.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw FileError(
                "it contains non-ASCII characters, such as curly quotes or a byte order mark; write it again as plain "
                    + "text")
        }
        let text = String(decoding: word, as: UTF8.self)
        if text.hasPrefix(Self.keyPrefix) {
            guard let key = PairingSecret(base64URL: String(text.dropFirst(Self.keyPrefix.count))) else {
                throw FileError(
                    "the text after \(Self.keyPrefix) must be a pairing secret of 43 characters; copy it again, or "
                        + "make a new one with `agent-bridge pair --rotate`")
            }
            self.init(key)
        } else if text.hasPrefix(Self.plainPrefix), text.utf8.count > Self.plainPrefix.utf8.count {
            self.init(relaySecret: String(text.dropFirst(Self.plainPrefix.count)), key: nil)
        } else if Self.resemblesKey(text) {
            throw FileError(
                "it looks like a damaged pairing secret, which is `\(Self.keyPrefix)` and 43 characters and nothing "
                    + "else. If it is only a secret for the relay, write `\(Self.plainPrefix)` before it")
        } else {
            self.init(relaySecret: text, key: nil)
        }
    }

    /// Whether a word may be meant as a key: it has another prefix, is quoted, or is as long as a key.
    private static func resemblesKey(_ word: String) -> Bool {
        // A trailing `=` is base64 padding, not a prefix.
        var name = word[...]
        while name.hasSuffix("=") { name.removeLast() }
        if name.contains(where: { ":=;\"'`{}<>".contains($0) }) { return true }
        guard word.utf8.count >= keyCharacters,
            PairingSecret(base64URL: String(word.suffix(keyCharacters))) != nil
        else { return false }
        return word.utf8.count == keyCharacters || word.lowercased().hasPrefix("key")
    }

    /// The length of a pairing secret in base64url.
    private static let keyCharacters = 43

    /// The contents of the secret's file.
    var file: [UInt8] {
        let text = key.map { Self.keyPrefix + $0.base64URL } ?? Self.plainPrefix + relaySecret
        return Array(text.utf8) + [0x0A]
    }
}

/// The file with the secret, which only its owner can read.
enum SecretFile {
    static func path(_ configuration: Configuration) -> String {
        configuration.relaySecretFile ?? configuration.stateDirectory + "/secret"
    }

    /// Reads the secret, or creates it if there is none.
    ///
    /// - Parameter makesGivenFile: Whether to create the file even at a configured path, which may be mistyped.
    static func read(_ configuration: Configuration, makesGivenFile: Bool = false)
        throws(ConfigurationError) -> SharedSecret
    {
        let path = path(configuration)
        do throws(FileError) {
            return try read(path)
        } catch {
            guard error.isMissing else { throw unreadable(path, error) }
            guard makesGivenFile || configuration.relaySecretFile == nil else {
                throw ConfigurationError([
                    "the secret in \(path) can't be read: \(error); run `agent-bridge pair` to make it"
                ])
            }
        }
        let secret = SharedSecret()
        let isMine: Bool
        do throws(FileError) {
            try SmallFile.createDirectory(SmallFile.parent(of: path))
            isMine = try SmallFile.create(path, with: secret.file)
        } catch {
            throw unwritable(path, error)
        }
        if isMine { return secret }
        // Another process of the bridge has created it in the meantime.
        do throws(FileError) { return try read(path) } catch { throw unreadable(path, error) }
    }

    static func replace(_ configuration: Configuration, with secret: SharedSecret) throws(ConfigurationError)
    {
        let path = path(configuration)
        do throws(FileError) {
            try SmallFile.createDirectory(SmallFile.parent(of: path))
            try SmallFile.replace(path, with: secret.file)
        } catch {
            throw unwritable(path, error)
        }
    }

    /// The warning about a file that other users of the machine can read.
    static func warning(_ configuration: Configuration) -> String? {
        let path = path(configuration)
        guard SmallFile.isOpenToOthers(path) else { return nil }
        return "other users of this machine can read the secret in \(path); run `chmod 600` on it"
    }

    private static func read(_ path: String) throws(FileError) -> SharedSecret {
        try SharedSecret(file: try SmallFile.read(path, bytesMax: Bounds.settingFileBytesMax))
    }

    private static func unreadable(_ path: String, _ fault: FileError) -> ConfigurationError {
        ConfigurationError(["the secret in \(path) can't be read: \(fault)"])
    }

    private static func unwritable(_ path: String, _ fault: FileError) -> ConfigurationError {
        ConfigurationError(["the secret can't be written to \(path): \(fault)"])
    }
}
