import Glibc

/// The checked settings.
struct Configuration: Sendable {
    var openCode: WebAddress?
    var relay: WebAddress?
    var relaySecretFile: String?
    var relayCAFile: String?
    let stateDirectory: String
    var options = RunModel.Options()
    /// The longest time without a byte of the event stream.
    var streamSilenceMax = Bounds.streamSilenceMax
    /// What doesn't ring while somebody types at this machine.
    var quiet = QuietRule(time: .zero)
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
                "\(values.name(.relayURL)) is http:// on another machine, so anyone on the way can read the "
                    + "secret and the texts; use https://, or set --insecure-relay for a trusted network")
        }
        relaySecretFile = values[.relaySecretFile]
        relayCAFile = values[.relayCAFile]
        options.showsCommands = isOn(.showCommands)
        isVerbose = isOn(.debug)
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
        }
    }

    /// The relay, or what to set.
    func requireRelay() throws(SettingProblems) -> WebAddress {
        if let relay { return relay }
        throw SettingProblems(["set --relay-url to the relay's address, such as https://relay.example.org"])
    }
}

/// The secret that phones and bridge share.
enum SecretFile {
    /// Reads the secret; without a given file, it is made the first time.
    static func read(_ configuration: Configuration) throws(SettingProblems) -> String {
        let path = configuration.relaySecretFile ?? configuration.stateDirectory + "/secret"
        do throws(SmallFile.Fault) {
            return try read(path)
        } catch {
            guard error.isMissing, configuration.relaySecretFile == nil else {
                throw SettingProblems(["the secret in \(path) can't be read: \(error)"])
            }
        }
        do throws(SmallFile.Fault) {
            try SmallFile.createDirectory(configuration.stateDirectory)
            let secret = generate()
            try SmallFile.replace(path, with: Array((secret + "\n").utf8))
            return secret
        } catch {
            throw SettingProblems(["the secret can't be written to \(path): \(error)"])
        }
    }

    private static func read(_ path: String) throws(SmallFile.Fault) -> String {
        let bytes = try SmallFile.read(path, bytesMax: Bounds.settingFileBytesMax)
        // OpenCode and the app trim it, too.
        let text = String(decoding: bytes, as: UTF8.self).split { $0.isWhitespace }
        guard text.count == 1, let secret = text.first, secret.utf8.count <= Bounds.secretBytesMax else {
            throw SmallFile.Fault("it isn't one word of at most \(Bounds.secretBytesMax) bytes")
        }
        return String(secret)
    }

    /// 18 random bytes in base64url (RFC 4648 section 5), as OpenCode makes them.
    static func generate() -> String {
        var random = SystemRandomNumberGenerator()
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        return String((0..<24).map { _ in digits[Int(random.next() as UInt64 % 64)] })
    }
}
