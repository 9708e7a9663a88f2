import Network
import Programs
import PushSealing
import QRCode
import WebClient

/// `agent-bridge pair`: shows the secret to a phone.
enum PairCommand {
    /// Prints the pairing's QR code and link; with `--json`, only its JSON.
    static func run(_ call: CommandCall) throws(ConfigurationError) -> ExitStatus {
        let (options, console) = (call.options, call.console)
        let configuration = try call.configuration(needsState: !options.has(.standalone))
        let relay = try configuration.requireRelay()
        if options.has(.standalone) { return try standalone(relay, configuration, options, console) }
        guard !options.has(.name) else {
            console.note("--name needs --standalone")
            return .usage
        }
        let server = try server(configuration, call.environment)
        if let fault = server.fault, fault != .unauthorized,
            !ServerHosts.havePorts(configuration.advertisedHosts)
        {
            console.note(
                "\(fault). Without a server, name an address with its port: --advertise-host HOST:PORT")
            return .unavailable
        }
        let hosts = ServerHosts.urls(
            of: server.address, advertised: configuration.advertisedHosts, reported: server.reported,
            interfaces: InterfaceAddress.all())
        if !options.has(.local) { try requireReachable(relay, hosts) }
        let secret =
            options.has(.rotate)
            ? SharedSecret() : try SecretFile.read(configuration, makesGivenFile: true)
        let isSealing = try RelayAccess.key(secret, configuration) != nil
        if let warning = SecretFile.warning(configuration) { console.note("warning: \(warning)") }
        let pairing = try pairing(
            relay, secret, hosts, serverID: RelayClient.serverID(relay, secret.relaySecret))
        // An image outlives a one-time code, so only the terminal shows the code.
        let lasting = try image(of: link(of: pairing, options))
        if let path = options.text(.png), !write(lasting.png(), to: path, console) { return .output }
        if options.has(.rotate) { try rotate(configuration, secret, console) }
        warn(of: relay, pairing, options, console)
        if options.has(.json) {
            console.print(pairing.json)
        } else {
            var shown = pairing
            if !options.has(.noCode),
                options.has(.local) || server.isReachable || !configuration.advertisedHosts.isEmpty
            {
                shown.code = oneTimeCode(of: server, console)
            }
            // With the code, the link may be too long for an image.
            if QRCode(link(of: shown, options)) == nil { shown.code = nil }
            let link = link(of: shown, options)
            console.print((QRCode(link) ?? lasting).terminalText + "\n" + link + "\n")
            console.print(summary(shown, configuration, isSealing: isSealing))
        }
        if isForApp(options), !isAnswering(hosts) {
            console.note(
                "no server answers at \(hosts.joined(separator: ", ")), so the app can't open sessions, but "
                    + "notifications work. Make the OpenCode server listen on an address that the phone "
                    + "can reach (`--hostname`), or name one with --advertise-host")
        }
        return .success
    }

    /// Makes a pairing for senders other than an OpenCode server, and stores nothing.
    private static func standalone(
        _ relay: WebAddress, _ configuration: Configuration, _ options: CommandOptions, _ console: Console
    ) throws(ConfigurationError) -> ExitStatus {
        guard !options.has(.rotate) else {
            console.note("--standalone always makes a new secret: leave out --rotate")
            return .usage
        }
        // OpenCode's app requires a host, and asks it for /health, which the relay answers.
        let advertised = configuration.advertisedHosts
        let hosts =
            advertised.isEmpty
            ? [relay.text] : ServerHosts.urls(of: relay, advertised: advertised, interfaces: [])
        if !options.has(.local) { try requireReachable(relay, hosts) }
        let pairing = try pairing(relay, SharedSecret(), hosts, serverID: options.text(.name))
        let link = link(of: pairing, options)
        let code = try image(of: link)
        if let path = options.text(.png), !write(code.png(), to: path, console) { return .output }
        warn(of: relay, pairing, options, console)
        let texts = [code.terminalText, link, "", pairing.json]
        console.print(options.has(.json) ? pairing.json : texts.joined(separator: "\n"))
        return .success
    }

    /// Whether the link is for an app rather than for the relay's web page.
    private static func isForApp(_ options: CommandOptions) -> Bool {
        options.has(.app) || options.text(.scheme) != nil
    }

    private static func link(of pairing: Pairing, _ options: CommandOptions) -> String {
        guard isForApp(options) else { return pairing.pageLink }
        return pairing.link(scheme: options.text(.scheme) ?? Pairing.schemeDefault)
    }

    /// Warns about relay addresses that would keep the phone from ringing.
    private static func warn(
        of relay: WebAddress, _ pairing: Pairing, _ options: CommandOptions, _ console: Console
    ) {
        guard isForApp(options) else {
            if !relay.isSecure, relay.isReachableFromElsewhere {
                console.note(
                    "warning: browsers allow no notifications for pages without HTTPS, such as \(relay)")
            }
            return
        }
        guard pairing.relayURLHasPath, options.text(.scheme) ?? Pairing.schemeDefault == Pairing.schemeDefault
        else { return }
        console.note(
            "warning: OpenCode's app ignores the path in \(pairing.relayURL) and would not find the relay")
    }

    /// The server's one-time code; prints why the server refuses one.
    private static func oneTimeCode(of server: PairedServer, _ console: Console) -> String? {
        do throws(ServerError) {
            return try server.code()
        } catch {
            console.note("the code rings phones, but doesn't open OpenCode: \(error)")
            return nil
        }
    }

    private static func image(of link: String) throws(ConfigurationError) -> QRCode {
        guard let code = QRCode(link) else {
            throw ConfigurationError(["the link is too long for a QR code; use shorter names and fewer hosts"]
            )
        }
        return code
    }

    private static func server(_ configuration: Configuration, _ environment: [String: String])
        throws(ConfigurationError) -> PairedServer
    {
        let place = ServerPlace.find(given: configuration.openCode, environment: environment) {
            ServiceFiles.read(environment)
        }
        guard let place else { throw ConfigurationError(["set --opencode-url to the server's address"]) }
        return PairedServer(place)
    }

    /// Refuses addresses that phones can't reach: the app would fail later without a message.
    private static func requireReachable(_ relay: WebAddress, _ hosts: [String]) throws(ConfigurationError) {
        var problems: [String] = []
        let otherwise = "or add --local if the app runs on this machine, such as in a simulator"
        if !relay.isReachableFromElsewhere {
            problems.append(
                "phones can't reach \(relay); set --relay-url to an address that they can reach, \(otherwise)"
            )
        }
        for host in hosts where (try? WebAddress(host))?.isReachableFromElsewhere == false {
            problems.append(
                "phones can't reach \(host); name the OpenCode server's address with --advertise-host, "
                    + otherwise)
        }
        guard problems.isEmpty else { throw ConfigurationError(problems) }
    }

    private static func pairing(
        _ relay: WebAddress, _ secret: SharedSecret, _ hosts: [String], serverID: String?
    ) throws(ConfigurationError) -> Pairing {
        do throws(PairingFailure) {
            return try Pairing(
                relayURL: relay.text, relaySecret: secret.relaySecret, hosts: hosts,
                serverID: serverID, key: secret.key)
        } catch {
            throw ConfigurationError(["--relay-url must contain only ASCII characters to fit in a link"])
        }
    }

    // MARK: Actions

    private static func rotate(
        _ configuration: Configuration, _ secret: SharedSecret, _ console: Console
    ) throws(ConfigurationError) {
        try SecretFile.replace(configuration, with: secret)
        console.note(
            "the secret is new: pair all phones again. Phones with the old secret no longer get "
                + "notifications.")
        // The running bridge, which owns the lock, read the old secret when it started.
        let free = try? QueueOwnership(directory: configuration.stateDirectory, patience: .zero)
        if free == nil { console.note("restart the running bridge, which still uses the old secret") }
    }

    private static func write(_ image: [UInt8], to path: String, _ console: Console) -> Bool {
        do throws(FileError) {
            // An existing file could be readable by others.
            if try SmallFile.create(path, with: image) { return true }
            console.note("\(path) exists; remove it first")
        } catch {
            console.note("\(path) can't be written: \(error)")
        }
        return false
    }

    // MARK: Messages

    /// A description of the code's contents.
    static func summary(_ pairing: Pairing, _ configuration: Configuration, isSealing: Bool) -> String {
        let texts =
            if isSealing {
                "sealed: only phones that scan this code can read them. Apps that can't open sealed texts show "
                    + "general ones; --no-seal sends readable ones"
            } else if pairing.key != nil {
                "readable for the relay and Apple (--no-seal)"
            } else {
                "readable for the relay and Apple: the secret in \(SecretFile.path(configuration)) has no key. "
                    + "--rotate makes a secret with a key"
            }
        let opens =
            pairing.code == nil
            ? "" : "\nThe code also opens OpenCode and logs in to it once, within five minutes."
        return """
            relay   \(pairing.relayURL)
            server  \(pairing.hosts.joined(separator: ", "))
            texts   \(texts)

            Keep the code secret: anyone who has it gets these notifications and can send others.\(opens)
            """
    }

    /// Whether anything answers at one of the addresses.
    private static func isAnswering(_ hosts: [String]) -> Bool {
        let status = CommandTask.run {
            await withTaskGroup(of: Bool.self) { group in
                for host in hosts {
                    group.addTask {
                        var request = WebRequest(url: host + "/health", timeout: Bounds.pairProbeDeadline)
                        request.isLocal = true
                        return (try? await WebClient.send(request)) != nil
                    }
                }
                return await group.contains(true) ? .success : .failed
            }
        }
        return status == .success
    }
}

extension BridgeCommand {
    static let pair = BridgeCommand(
        "pair", "Show the QR code that phones scan.",
        about: """
            Shows the pairing as a QR code and a link. The phone's camera opens the link: the relay's web page,
            which then rings and can open sealed texts. With --app, the link opens OpenCode's app instead. The
            secret is created at the first run and stays the same. With OpenCode 2.x, the code also opens
            OpenCode and logs in to it, once within five minutes.

            With --standalone it creates a pairing for senders other than an OpenCode server: a new secret,
            which is printed as JSON and not stored. The sender uses relaySecret as its secret, and the JSON
            to seal notifications.
            """,
        options: [.app, .json, .local, .noCode, .png, .rotate, .scheme, .standalone, .name]
    ) { call throws(ConfigurationError) in
        try PairCommand.run(call)
    }
}

extension CommandOption {
    static let app = CommandOption("--app", "Make a link for OpenCode's app instead of the relay's web page.")
    static let local = CommandOption(
        "--local", "Allow addresses that no phone can reach, for an app on this machine.")
    static let noCode = CommandOption(
        "--no-code",
        "Leave out OpenCode's one-time code, because the operator of the relay's page could use it.")
    static let png = CommandOption(
        "--png", .path, "Also write the code to a new file, which only you can read.")
    static let rotate = CommandOption("--rotate", "Create a new secret; all phones must be paired again.")
    static let scheme = CommandOption(
        "--scheme",
        .text(
            "SCHEME", "a URL scheme: lower-case letters, digits, '+', '-' and '.', beginning with a letter",
            where: Pairing.isScheme),
        "Make a link for an app with this scheme. OpenCode's app has \(Pairing.schemeDefault).")
    static let standalone = CommandOption(
        "--standalone", "Create a pairing for your own senders: a new secret, which is not stored.")
    static let name = CommandOption(
        "--name", .text("NAME"), "The server's name in pushes (serverID), with --standalone.")
}
