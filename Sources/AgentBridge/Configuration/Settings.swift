import Network
import Programs
import PushSealing

/// Every setting of the bridge: each is a flag, a variable and a line of the configuration file.
enum Settings {
    /// All settings, in documentation order.
    static let table: [SettingRow] = [
        openCodeURL.row, relayURL.row, relaySecretFile.row, relayCAFile.row, insecureRelay.row,
        stateDirectory.row, requestWait.row, streamTimeout.row, quietWhileActive.row, showCommands.row,
        headless.row, allowReplies.row, answerWait.row, repeatEvery.row, liveActivities.row, seal.row,
        privateSessions.row,
        advertiseHost.row, debug.row, config.row, pairing.row,
    ]

    /// The prefix of every variable.
    static let prefix = "BRIDGE_"

    // MARK: Servers

    static let openCodeURL = Setting(
        "BRIDGE_OPENCODE_URL", .servers, optional: .webAddress,
        unset: "the running service of 2.x, else \(ServerPlace.standardAddress)", flag: "--opencode-url",
        "The OpenCode server.")
    static let streamTimeout = Setting(
        "BRIDGE_STREAM_TIMEOUT", .servers,
        .whole("SECONDS", of: .seconds(1), 1...Int(Bounds.streamSilenceSecondsMax)),
        default: Bounds.streamSilenceMax, flag: "--stream-timeout",
        "How long the server's event stream may be silent before the bridge reconnects.")
    static let advertiseHost = Setting(
        "BRIDGE_ADVERTISE_HOST", .servers, optional: .hosts,
        unset: "this machine's LAN and Tailscale addresses", flag: "--advertise-host", list: true,
        "An address of the OpenCode server for paired phones. Repeatable; in a variable, separated by commas."
    )
    static let relayURL = Setting(
        "BRIDGE_RELAY_URL", .servers, optional: .webAddress, unset: "required", flag: "--relay-url",
        "The relay, such as https://relay.example.org.")
    static let relaySecretFile = Setting(
        "BRIDGE_RELAY_SECRET_FILE", .servers, optional: .path,
        unset: "secret in the state directory, created at the first start", flag: "--relay-secret-file",
        "The file with the secret that the phones and the bridge share.")
    static let relayCAFile = Setting(
        "BRIDGE_RELAY_CA_FILE", .servers, optional: .path, unset: "the system's", flag: "--relay-ca-file",
        "The PEM certificates to trust for the relay.")
    static let insecureRelay = Setting(
        "BRIDGE_INSECURE_RELAY", .servers, .onOff, default: false, flag: "--insecure-relay",
        impliedValue: true,
        "Allow http:// for a relay on another machine. Anyone on the network path can read the texts.")

    // MARK: Notifications

    static let requestWait = Setting(
        "BRIDGE_REQUEST_WAIT", .notifications,
        .whole("SECONDS", of: .seconds(1), 0...Int(Bounds.requestWaitSecondsMax)),
        default: Bounds.requestWait,
        flag: "--request-wait", "How long a permission or question stays unanswered before it rings.")
    static let quietWhileActive = Setting(
        "BRIDGE_QUIET_WHILE_ACTIVE", .notifications,
        .whole("MINUTES", of: .seconds(60), 0...Int(Bounds.quietMinutesMax)), default: .zero,
        flag: "--quiet-while-active",
        "Don't ring for completed runs if you typed in a terminal of this machine within this time; 0 always rings."
    )
    static let showCommands = Setting(
        "BRIDGE_SHOW_COMMANDS", .notifications, .onOff, default: false, flag: "--show-commands",
        impliedValue: true,
        "Show details of the request, such as a permission's command, in the notification.")
    static let headless = Setting(
        "BRIDGE_HEADLESS", .notifications, .onOff, default: false, flag: "--headless", impliedValue: true,
        "Let hooks ring when an unattended run ends, such as `claude -p`.")
    static let allowReplies = Setting(
        "BRIDGE_ALLOW_REPLIES", .notifications, .onOff, default: false, flag: "--allow-replies",
        impliedValue: true,
        "Let replies from phones answer permissions and questions, and so run commands on this machine.")
    static let answerWait = Setting(
        "BRIDGE_ANSWER_WAIT", .notifications,
        .whole("SECONDS", of: .seconds(1), 1...Int(Bounds.answerWaitMax.components.seconds)),
        default: Bounds.answerWait, flag: "--answer-wait",
        "How long a hook waits for the phone before the terminal asks (Codex and Claude Code's sub-agents)."
    )
    static let repeatEvery = Setting(
        "BRIDGE_REPEAT", .notifications,
        .whole("MINUTES", of: .seconds(60), 0...Int(Bounds.repeatMinutesMax)), default: .zero,
        flag: "--repeat",
        "How often an unanswered permission or question rings again, for an hour; 0 rings only once.")
    static let liveActivities = Setting(
        "BRIDGE_LIVE_ACTIVITIES", .notifications,
        .whole("SECONDS", of: .seconds(1), 0...Int(Bounds.activitySecondsMax)), default: .zero,
        flag: "--live-activities",
        "How often a running session's state is sent for Live Activities, readable by the relay and Apple; 0 never "
            + "sends it.")
    static let seal = Setting(
        "BRIDGE_SEAL", .notifications, optional: .onOff, unset: "on if the secret has a key", flag: "--seal",
        negativeFlag: "--no-seal", impliedValue: true, "Encrypt texts for paired phones.")
    static let privateSessions = Setting(
        "BRIDGE_PRIVATE_SESSIONS", .notifications, .onOff, default: false, flag: "--private-sessions",
        impliedValue: true,
        "Send keyed hashes instead of session IDs; only paired phones can resolve them.")

    // MARK: Program

    static let stateDirectory = Setting(
        "BRIDGE_STATE_DIRECTORY", .program, optional: .path, unset: "agent-bridge in $XDG_STATE_HOME",
        flag: "--state-directory", "The directory for the secret and the queue.")
    static let debug = Setting(
        "BRIDGE_DEBUG", .program, .onOff, default: false, flag: "--debug", impliedValue: true,
        "Explain why something rings or doesn't.")
    static let config = Setting(
        "BRIDGE_CONFIG", .program, optional: .path, unset: "agent-bridge/config in $XDG_CONFIG_HOME",
        flag: "--config", "The configuration file.")

    /// Passing the pairing itself as a flag is refused: it would show up in process lists and shell histories.
    static let pairing = Setting(
        "BRIDGE_PAIRING", .program, optional: .pairing, unset: "the bridge's own secret", secret: true,
        flag: "--pairing",
        flagRefusal:
            "--pairing would expose the pairing secret in the process list and in the shell's history: use "
            + "--pairing-file PATH (- is standard input) or BRIDGE_PAIRING",
        "The pairing for seal and open, as printed by pair. BRIDGE_PAIRING_FILE=- reads it from standard input."
    )
}

extension SettingGroup {
    static let servers = SettingGroup("Servers")
    static let notifications = SettingGroup("Notifications")
    static let program = SettingGroup("Program")
}

extension SettingType where Value == Bool {
    /// On or off, or a synonym.
    static let onOff = SettingType(
        accepts: "on or off", form: .suggested("on|off", ["on", "off"]),
        parse: { text in
            switch text.lowercased() {
            case "off", "false", "no", "0": .success(false)
            case "on", "true", "yes", "1": .success(true)
            default: .failure(.notAccepted)
            }
        },
        render: { $0 ? "on" : "off" })
}

extension SettingType where Value == Duration {
    /// A duration as a whole number of units.
    static func whole(_ name: String, of unit: Duration, _ range: ClosedRange<Int>) -> SettingType {
        let number = SettingType<Int>.integer(range, name)
        return SettingType(
            accepts: number.accepts, form: number.form, parse: { number.parse($0).map { unit * $0 } },
            render: { String(Int($0 / unit)) })
    }
}

extension SettingType where Value == WebAddress {
    /// A server's URL, which is not shown in messages, because it may contain a password.
    static let webAddress = SettingType(
        accepts: "a URL that begins with http:// or https://", form: .text("URL"),
        parse: { text in
            do throws(WebAddress.Problem) {
                return .success(try WebAddress(text))
            } catch {
                return .failure(.withheld(advice(error)))
            }
        },
        render: \.text)

    private static func advice(_ problem: WebAddress.Problem) -> String {
        switch problem {
        case .notHTTP: "expected a URL that begins with http:// or https://"
        case .noHost: "expected a URL with a host and without spaces"
        case .credentials: "the URL must not contain a password; set OPENCODE_PASSWORD instead"
        case .query: "the URL must not contain ? or #"
        case .port: "the port must be a number from 1 to 65535"
        }
    }
}

extension SettingType where Value == [String] {
    /// Hosts with or without ports, or URLs.
    static let hosts = SettingType(
        accepts: "a host with or without a port, or a URL", form: .text("HOST"),
        parse: { text in
            let hosts = text.split { $0 == "," || $0.isWhitespace }.map(String.init)
            for host in hosts where (try? WebAddress(host: host, port: 1)) == nil {
                return .failure(
                    .withheld(
                        "\(Console.safe(host)) is neither a host nor an http:// or https:// URL, or its port isn't one "
                            + "from 1 to 65535"))
            }
            return .success(hosts)
        },
        render: { $0.joined(separator: ",") })
}

extension SettingType where Value == SealingPairing {
    /// A pairing link, or its JSON, with a key.
    static let pairing = SettingType(
        accepts: "a pairing link or its JSON, with a key",
        parse: { text in
            do throws(PairingFailure) {
                return .success(try SealingPairing(parsing: text))
            } catch {
                return .failure(.because(error.description))
            }
        },
        render: { _ in "" })
}
