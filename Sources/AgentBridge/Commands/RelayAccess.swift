import Programs
import PushSealing

/// How events are sent: the relay, the secret, and whether texts are sealed.
struct RelayAccess: Sendable {
    let relay: RelayClient
    /// Seals the texts; `nil` if they are sent unsealed.
    let sealer: Sealer?
    let secret: SharedSecret
    /// A warning about the secret's file.
    let warning: String?

    /// Checks the settings and reads the secret.
    ///
    /// - Parameter deadline: The timeout for each request.
    init(_ configuration: Configuration, deadline: Duration = Bounds.postDeadline) throws(ConfigurationError)
    {
        let address = try configuration.requireRelay()
        secret = try SecretFile.read(configuration)
        warning = SecretFile.warning(configuration)
        relay = RelayClient(
            address: address, secret: secret.relaySecret, caFile: configuration.relayCAFile,
            deadline: deadline)
        if let key = try Self.key(secret, configuration) {
            sealer = Sealer(key, serverID: relay.serverID, hidesSessions: configuration.hidesSessions)
        } else {
            sealer = nil
        }
    }

    /// Opens replies; unsealed replies are accepted only if texts aren't sealed either.
    var opener: ReplyOpener {
        ReplyOpener(
            keys: secret.key.map { [SealedReply.Key($0)] } ?? [], requiresSealed: sealer != nil,
            resultKey: secret.key.map { SealedResult.Key($0) })
    }

    /// The key to seal with; `nil` if texts are sent unsealed.
    ///
    /// Once a key has been used, texts are sent unsealed only on explicit request: losing the key must not expose them.
    static func key(_ secret: SharedSecret, _ configuration: Configuration) throws(ConfigurationError)
        -> PairingSecret?
    {
        let key = configuration.seals == false ? nil : secret.key
        let mark = SealingMark(configuration)
        guard key == nil else {
            mark.set()
            return key
        }
        if configuration.seals == nil, mark.isSet {
            throw ConfigurationError([
                "texts were sealed before, but the secret in \(SecretFile.path(configuration)) no longer has a key. "
                    + "Restore the key, make a new one with `agent-bridge pair --rotate`, or set --no-seal to let "
                    + "the relay and Apple read texts"
            ])
        }
        if configuration.seals == true {
            throw ConfigurationError([
                "--seal needs a secret with a key, but the secret in \(SecretFile.path(configuration)) has none; "
                    + "make a new one with `agent-bridge pair --rotate`"
            ])
        }
        guard !configuration.hidesSessions else {
            throw ConfigurationError([
                "--private-sessions needs sealed texts, which carry the real session ID; make a secret "
                    + "with a key with `agent-bridge pair --rotate`, and don't set --no-seal"
            ])
        }
        return nil
    }
}

/// The file `sealed` in the state directory, which records that texts have been sealed.
struct SealingMark {
    private let directory: String

    init(_ configuration: Configuration) { directory = configuration.stateDirectory }

    private var path: String { directory + "/sealed" }

    var isSet: Bool { SmallFile.exists(path) }

    /// Creates the file, and ignores failures: in an unwritable directory, writing the secret or the queue also fails,
    /// and that failure is reported.
    func set() {
        guard !isSet else { return }
        do throws(FileError) {
            try SmallFile.createDirectory(directory)
            _ = try SmallFile.create(path, with: [])
        } catch {}
    }
}
