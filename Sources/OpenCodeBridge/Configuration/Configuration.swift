import Glibc
import Network

/// The checked settings.
struct Configuration: Sendable {
    var openCode: WebAddress?
    var relay: WebAddress?
    var relaySecretFile: String?
    var relayCAFile: String?
    /// Whether to seal texts; `nil` means that texts are sealed if the secret has a key.
    var seals: Bool?
    /// Whether relay and Apple see a keyed hash in place of a session's ID.
    var hidesSessions = false
    /// The addresses of the server for phones: hosts with or without a port, or URLs.
    var advertisedHosts: [String] = []
    let stateDirectory: String
    var options = RunModel.Options()
    /// The longest time without a byte of the event stream.
    var streamSilenceMax = Bounds.streamSilenceMax
    /// Which events don't ring while someone is typing at this machine.
    var quiet = QuietRule(time: .zero)
    /// Whether hooks ring for the ends of headless runs.
    var ringsHeadless = false
    /// Whether replies from phones answer permissions.
    var allowsReplies = false
    /// The interval at which permissions ring again until someone answers; zero to ring once.
    var repeatEvery: Duration = .zero
    /// The minimum interval between states for Live Activities; zero for no states.
    var activityInterval: Duration = .zero
    var isVerbose = false

    /// Checks all values and reports every problem at once.
    init(_ values: SettingValues, _ environment: [String: String]) throws(SettingProblems) {
        var problems: [String] = []
        func isOn(_ setting: Setting) -> Bool {
            switch values[setting]?.lowercased() {
            case nil, "off", "false", "no", "0": return false
            case "on", "true", "yes", "1": return true
            default:
                problems.append("\(values.name(setting)): expected on or off")
                return false
            }
        }
        func address(_ setting: Setting) -> WebAddress? {
            guard let text = values[setting] else { return nil }
            do throws(WebAddress.Problem) {
                return try WebAddress(text)
            } catch {
                problems.append("\(values.name(setting)): \(Self.advice(error))")
                return nil
            }
        }
        openCode = address(.opencodeURL)
        relay = address(.relayURL)
        if let relay, !relay.isSecure, !relay.isLoopback, !isOn(.insecureRelay) {
            problems.append(
                "\(values.name(.relayURL)) is http:// on another machine, so anyone on the network path can read the "
                    + "secret and the texts; use https://, or set --insecure-relay for a trusted network")
        }
        relaySecretFile = values[.relaySecretFile]
        relayCAFile = values[.relayCAFile]
        options.showsCommands = isOn(.showCommands)
        ringsHeadless = isOn(.headless)
        allowsReplies = isOn(.allowReplies)
        isVerbose = isOn(.debug)
        seals = values[.seal].map { _ in isOn(.seal) }
        hidesSessions = isOn(.privateSessions)
        advertisedHosts = (values[.advertiseHost] ?? "").split { $0 == "," || $0.isWhitespace }.map(
            String.init)
        for host in advertisedHosts where (try? WebAddress(host: host, port: 1)) == nil {
            problems.append(
                "\(values.name(.advertiseHost)): \(Console.safe(host)) is neither a host nor an http:// or https:// "
                    + "URL, or its port isn't one from 1 to 65535")
        }
        func number(_ setting: Setting, _ unit: String, _ range: ClosedRange<Int64>) -> Int64? {
            guard let text = values[setting] else { return nil }
            if let number = Int64(text), range.contains(number) { return number }
            problems.append(
                "\(values.name(setting)): expected whole \(unit) from \(range.lowerBound) to "
                    + "\(range.upperBound)")
            return nil
        }
        if let seconds = number(.requestWait, "seconds", 0...Bounds.requestWaitSecondsMax) {
            options.requestWait = .seconds(seconds)
        }
        if let seconds = number(.streamTimeout, "seconds", 1...Bounds.streamSilenceSecondsMax) {
            streamSilenceMax = .seconds(seconds)
        }
        if let minutes = number(.quietWhileActive, "minutes", 0...Bounds.quietMinutesMax) {
            quiet = QuietRule(time: .seconds(60 * minutes))
        }
        if let minutes = number(.repeat, "minutes", 0...Bounds.repeatMinutesMax) {
            repeatEvery = .seconds(60 * minutes)
        }
        if let seconds = number(.liveActivities, "seconds", 0...Bounds.activitySecondsMax) {
            activityInterval = .seconds(seconds)
        }
        let standard = StateDirectory.base(environment).map { $0 + "/opencode-bridge" }
        if let directory = values[.stateDirectory] ?? standard {
            stateDirectory = directory
        } else {
            stateDirectory = ""
            problems.append("neither HOME nor XDG_STATE_HOME is set; set --state-directory")
        }
        guard problems.isEmpty else { throw SettingProblems(problems) }
    }

    private static func advice(_ problem: WebAddress.Problem) -> String {
        switch problem {
        case .notHTTP: "expected a URL that begins with http:// or https://"
        case .noHost: "expected a URL with a host and without spaces"
        case .credentials: "the URL must not contain a password; set OPENCODE_PASSWORD instead"
        case .query: "the URL must not contain ? or #"
        case .port: "the port must be a number from 1 to 65535"
        }
    }

    /// Returns the relay, or throws the setting to set.
    func requireRelay() throws(SettingProblems) -> WebAddress {
        if let relay { return relay }
        throw SettingProblems(["set --relay-url to the relay's address, such as https://relay.example.org"])
    }
}
