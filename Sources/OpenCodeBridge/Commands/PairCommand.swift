import Network
import PushSealing
import QRCode
import WebClient

/// The options of `opencode-bridge pair`, which aren't settings.
struct PairOptions: Sendable, Equatable {
    /// Whether to print only the JSON.
    var isJSON = false
    /// Whether the app runs on this machine and so reaches addresses that phones can't.
    var isLocal = false
    /// Whether to make a new secret.
    var rotates = false
    /// A file to write the code to.
    var png: String?
    /// The scheme of the app's links.
    var scheme = Pairing.schemeDefault

    /// The options and their summaries.
    static let usage = [
        ("--json", "print only the pairing's JSON"),
        ("--local", "allow addresses that no phone can reach, for an app on this machine"),
        ("--png FILE", "also write the code to a new file, which only you can read"),
        ("--rotate", "create a new secret; all phones must be paired again"),
        ("--scheme SCHEME", "the scheme of the app's links; default: \(Pairing.schemeDefault)"),
    ]

    /// Parses one of these options and its value; false if the argument is something else.
    mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws(Invocation.Problem)
        -> Bool
    {
        switch argument {
        case "--json": isJSON = true
        case "--local": isLocal = true
        case "--rotate": rotates = true
        case "--png", "--scheme":
            guard let value = rest.popFirst() else {
                throw Invocation.Problem(sentence: "\(argument) needs a value")
            }
            if argument == "--png" {
                png = value
            } else if Pairing.isScheme(value) {
                scheme = value
            } else {
                throw Invocation.Problem(sentence: "--scheme needs a URL scheme, such as my-app")
            }
        default: return false
        }
        return true
    }
}

/// `opencode-bridge pair`: shows the secret to a phone.
enum PairCommand {
    /// Prints the QR code and the link of the pairing; with `--json` only its JSON.
    static func run(
        _ configuration: Configuration, _ options: PairOptions, _ environment: [String: String],
        _ console: Console
    ) throws(SettingProblems) -> ExitStatus {
        let relay = try configuration.requireRelay()
        let server = try server(configuration, environment)
        if let fault = fault(of: server), !ServerHosts.havePorts(configuration.advertisedHosts) {
            console.note(
                "\(fault). Without a server, name an address with its port: --advertise-host HOST:PORT")
            return .unavailable
        }
        let hosts = ServerHosts.urls(
            of: server.address, advertised: configuration.advertisedHosts, interfaces: InterfaceAddress.all())
        if !options.isLocal { try requireReachable(relay, hosts) }
        let secret =
            options.rotates
            ? SharedSecret() : try SecretFile.read(configuration, makesGivenFile: true)
        let isSealing = try RelayAccess.key(secret, configuration) != nil
        if let warning = SecretFile.warning(configuration) { console.note("warning: \(warning)") }
        let pairing = try pairing(relay, secret, hosts)
        guard let code = QRCode(pairing.link(scheme: options.scheme)) else {
            throw SettingProblems(["the link is too long for a QR code; set fewer addresses"])
        }
        if let path = options.png, !write(code.png(), to: path, console) { return .output }
        if options.rotates { try rotate(configuration, secret, console) }
        if pairing.relayURLHasPath, options.scheme == Pairing.schemeDefault {
            console.note("warning: OpenCode's app ignores the path in \(relay) and would not find the relay")
        }
        if options.isJSON {
            console.print(pairing.json)
        } else {
            console.print(code.terminalText + "\n" + pairing.link(scheme: options.scheme) + "\n")
            console.print(summary(pairing, configuration, isSealing: isSealing))
        }
        if !isAnswering(hosts) {
            console.note(
                "no server answers at \(hosts.joined(separator: ", ")), so the app can't open sessions, but "
                    + "notifications work. Make the OpenCode server listen on an address that the phone "
                    + "can reach (`--hostname`), or name one with --advertise-host")
        }
        return .success
    }

    private static func server(_ configuration: Configuration, _ environment: [String: String])
        throws(SettingProblems) -> ServerPlace
    {
        let place = ServerPlace.find(given: configuration.openCode, environment: environment) {
            ServiceFiles.read(environment)
        }
        guard let place else { throw SettingProblems(["set --opencode-url to the server's address"]) }
        return place
    }

    /// Why phones can't open the server; `nil` if it answers, even if it requires a password.
    private static func fault(of place: ServerPlace) -> ServerFault? {
        let found = Lock<ServerFault?>(nil)
        _ = CommandTask.run {
            do throws(ServerFault) {
                _ = try await OpenCodeClient.connect(place, ServerMemory())
            } catch {
                if error != .unauthorized { found.withLock { $0 = error } }
            }
            return .success
        }
        return found.withLock { $0 }
    }

    /// Refuses addresses that phones can't reach: the app would fail later without a message.
    private static func requireReachable(_ relay: WebAddress, _ hosts: [String]) throws(SettingProblems) {
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
        guard problems.isEmpty else { throw SettingProblems(problems) }
    }

    private static func pairing(_ relay: WebAddress, _ secret: SharedSecret, _ hosts: [String])
        throws(SettingProblems) -> Pairing
    {
        do throws(PairingFailure) {
            return try Pairing(
                relayURL: relay.text, relaySecret: secret.relaySecret, hosts: hosts,
                serverID: RelayClient.serverID(relay, secret.relaySecret), key: secret.key)
        } catch {
            throw SettingProblems(["--relay-url must contain only ASCII characters to fit in a link"])
        }
    }

    // MARK: Actions

    private static func rotate(
        _ configuration: Configuration, _ secret: SharedSecret, _ console: Console
    ) throws(SettingProblems) {
        try SecretFile.replace(configuration, with: secret)
        console.note(
            "the secret is new: pair all phones again. Phones with the old one get no more notifications.")
        // The running bridge, which owns the lock, read the old secret when it started.
        let free = try? QueueOwnership(directory: configuration.stateDirectory, patience: .zero)
        if free == nil { console.note("restart the running bridge, which still uses the old secret") }
    }

    private static func write(_ image: [UInt8], to path: String, _ console: Console) -> Bool {
        do throws(SmallFile.Fault) {
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
        return """
            relay   \(pairing.relayURL)
            server  \(pairing.hosts.joined(separator: ", "))
            texts   \(texts)

            Keep the code secret: whoever has it gets these notifications and can send others.
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
