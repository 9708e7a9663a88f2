import Glibc
import Network
import Programs

/// The checked settings.
struct Configuration: Sendable {
    var openCode: WebAddress?
    var relay: WebAddress?
    var relaySecretFile: String?
    var relayCAFile: String?
    /// Whether to seal texts; `nil` means that texts are sealed if the secret has a key.
    var seals: Bool?
    /// Whether the relay and Apple see a keyed hash instead of a session's ID.
    var hidesSessions = false
    /// The server's addresses for phones: hosts with or without a port, or URLs.
    var advertisedHosts: [String] = []
    let stateDirectory: String
    var options = RunModel.Options()
    /// How long the event stream may be silent.
    var streamSilenceMax = Bounds.streamSilenceMax
    /// Which events don't ring while someone is typing at this machine.
    var quiet = QuietRule(time: .zero)
    /// Whether hooks ring when headless runs end.
    var ringsHeadless = false
    /// Whether replies from phones answer permissions and questions.
    var allowsReplies = false
    /// How long a hook waits for the phone while its agent's terminal can't be used.
    var answerWait = Bounds.answerWait
    /// The interval at which permissions ring again until someone answers; zero to ring only once.
    var repeatEvery: Duration = .zero
    /// The minimum interval between states for Live Activities; zero disables them.
    var activityInterval: Duration = .zero
    var isVerbose = false

    /// The pairing for which to seal and open texts; `nil` for the bridge's own secret.
    var pairing: SealingPairing?

    /// Checks all settings and reports every problem at once.
    ///
    /// - Parameter needsState: Whether the state directory is used.
    init(_ sources: SettingSources, needsState: Bool = true) throws(ConfigurationError) {
        var reader = SettingReader(sources)
        openCode = reader.read(Settings.openCodeURL)
        relay = reader.read(Settings.relayURL)
        if !reader.read(Settings.insecureRelay), let relay, !relay.isSecure, !relay.isLoopback {
            let name = reader.givenName(Settings.relayURL.row) ?? Settings.relayURL.row.flag
            reader.note(
                "\(name) is http:// on another machine, so anyone on the network path can read the "
                    + "secret and the texts; use https://, or set --insecure-relay for a trusted network")
        }
        relaySecretFile = reader.read(Settings.relaySecretFile)
        relayCAFile = reader.read(Settings.relayCAFile)
        options.showsCommands = reader.read(Settings.showCommands)
        options.requestWait = reader.read(Settings.requestWait)
        ringsHeadless = reader.read(Settings.headless)
        allowsReplies = reader.read(Settings.allowReplies)
        answerWait = reader.read(Settings.answerWait)
        isVerbose = reader.read(Settings.debug)
        seals = reader.read(Settings.seal)
        hidesSessions = reader.read(Settings.privateSessions)
        advertisedHosts = reader.read(Settings.advertiseHost) ?? []
        streamSilenceMax = reader.read(Settings.streamTimeout)
        quiet = QuietRule(time: reader.read(Settings.quietWhileActive))
        repeatEvery = reader.read(Settings.repeatEvery)
        activityInterval = reader.read(Settings.liveActivities)
        pairing = reader.read(Settings.pairing)
        let standard = StateDirectory.standard(sources.environment)
        stateDirectory = reader.read(Settings.stateDirectory) ?? standard ?? ""
        if needsState, stateDirectory.isEmpty {
            reader.note("neither HOME nor XDG_STATE_HOME is set; set --state-directory")
        }
        reader.noteUnknownNames()
        if let file = sources.file {
            for name in file.values.keys.sorted() where !name.hasPrefix(Settings.prefix) {
                reader.note("\(Quoted.name(name)) in \(file.path) is not a setting of this program")
            }
        }
        guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    }

    /// Returns the relay, or throws an error that says which setting to set.
    func requireRelay() throws(ConfigurationError) -> WebAddress {
        if let relay { return relay }
        throw ConfigurationError(["set --relay-url to the relay's address, such as https://relay.example.org"]
        )
    }
}
