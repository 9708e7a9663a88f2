import JSON
package import Programs

/// The commands of `apns-simulator`.
package enum SimulatorCommands {
    /// The program's command table.
    package static let table: CommandTable = {
        var table = CommandTable(
            program: "apns-simulator",
            summary:
                "a strict local simulator of Apple's push service (APNs) and of Web Push, for developing and testing push code",
            commands: [serve, key, token])
        table.notes = [control]
        table.exitStatuses =
            "0 stopped by a signal, 64 usage error, 66 cannot read a file, 69 port in use, 73 cannot write a file."
        table.seeAlso = [".BR relay (1)."]
        table.describesDefault = true
        table.lastValueCounts = true
        return table
    }()

    static let serve = CommandSyntax(
        "serve", "Serve production and sandbox until SIGINT or SIGTERM.", usages: ["[OPTION]..."],
        options: CommandOption.ofServe)

    static let key = CommandSyntax(
        "key", "Create a key pair: FILE (like a .p8) and FILE.pub.", usages: ["--out FILE"], options: [.out])

    static let token = CommandSyntax(
        "token", "Print a new provider token, signed with the key or a throwaway key.",
        options: [.keyFile, .tokenKeyID, .tokenTeamID])

    private static let control = """
        Control API (JSON over HTTP/1.1; see docs/reference/simulator.md for fields and examples):
          GET /health                       Check that the simulator is running.
          GET, PUT, DELETE /tokens          Device tokens: valid, unregistered or expired, per topic and environment.
          GET, PUT, DELETE /rules           Rules: responses, latency, stream resets, stalls, closed connections.
          GET, POST, DELETE /webpush/subscriptions  Web Push subscriptions, as browsers make them.
          GET, PUT, DELETE /limits          Stream limits, latency, topics, provider token ages.
          GET /pushes                       Received pushes: ?since=N&token=HEX&subscription=ID&limit=N&wait=SECONDS&format=text
          GET /stats, GET /connections      Counters; open connections.
          POST /goaway, /close              Send GOAWAY with a reason; close connections.
          POST /stall, /resume              Stop reading and answering; resume.
          POST /streams                     Change the stream limit of open connections.
          POST /reset                       Restore the initial state.
        """
}

extension CommandOption {
    /// The options of `apns-simulator serve`.
    package static let ofServe = [
        productionPort, sandboxPort, webPushPort, controlPort, host, controlHost, certificateFile,
        certificateName,
        readyFile,
        anyKey, publicKey, keyID, teamID, keyEnvironment, topic, token, unknownTokens, rule, latency,
        initialStreams, streams, seed, keep, loops, print, printJSON, pairingFile,
    ]

    static let productionPort = port(
        "--production-port", "Port of the production environment, 0 for a free one. Default: 8443.")
    static let sandboxPort = port(
        "--sandbox-port", "Port of the sandbox environment, 0 for a free one. Default: 8444.")
    static let webPushPort = port(
        "--webpush-port",
        "Port of the Web Push services (HTTPS), 0 for a free one. Default: no Web Push services.")
    static let controlPort = port(
        "--control-port", "Port of the control API, 0 for a free one. Default: 8480.")
    static let host = CommandOption(
        "--host", .text("ADDRESS"),
        "IP address of both environments and the Web Push services. Default: 127.0.0.1.")
    static let controlHost = CommandOption(
        "--control-host", .text("ADDRESS"),
        "IP address of the control API, which has no authentication. Default: 127.0.0.1.")
    static let certificateFile = CommandOption(
        "--certificate-file", .path,
        "Write the TLS certificate, which clients must trust, to this file. Default: a temporary file.")
    static let certificateName = CommandOption(
        "--certificate-name", .text("NAME"), repeatable: true,
        "Additional DNS name or IP address in the certificate.")
    static let readyFile = CommandOption(
        "--ready-file", .path,
        "Write the ports and URLs as JSON to this file once the simulator is ready.")
    static let anyKey = CommandOption(
        "--any-key", "Accept any well-formed provider token without checking its signature. The default.")
    static let publicKey = CommandOption(
        "--public-key", .path, repeatable: true,
        "Accept only provider tokens signed with this PEM key. The next three options describe it.")
    static let keyID = CommandOption(
        "--key-id", .identifier, repeatable: true,
        "Key ID of the preceding --public-key: 10 characters. Required.")
    static let teamID = CommandOption(
        "--team-id", .identifier, repeatable: true,
        "Team ID of the preceding --public-key: 10 characters. Required.")
    static let keyEnvironment = CommandOption(
        "--key-environment", .word(["production", "sandbox"]), repeatable: true,
        "Restrict the preceding --public-key to one environment. Default: both.")
    static let topic = CommandOption(
        "--topic", .text("TOPIC"), repeatable: true, "Allowed bundle identifier or topic. Default: any.")
    static let token = CommandOption(
        "--token", .json, repeatable: true, "Register a device token, as in PUT /tokens.")
    static let unknownTokens = CommandOption(
        "--unknown-tokens", .word(["accept", "reject"]),
        "Accept or reject pushes to unregistered device tokens. Default: accept.")
    static let rule = CommandOption(
        "--rule", .json, repeatable: true, "Add a rule, as in PUT /rules.")
    static let latency = CommandOption(
        "--latency", .text("LATENCY", Latency.syntax) { Latency($0) != nil },
        "Delay before each response: \(Latency.syntax).")
    static let initialStreams = CommandOption(
        "--initial-streams", .number(streamRange),
        "Concurrent streams per connection until its first successful push. Default: 1.")
    static let streams = CommandOption(
        "--streams", .number(streamRange), "Concurrent streams per connection after that. Default: 1000.")
    static let seed = CommandOption(
        "--seed", .number(0...Int.max), "Random seed; the same seed makes the same choices. Default: 1.")
    static let keep = CommandOption(
        "--keep", .number(0...PushLog.keptMax),
        "Number of pushes kept for GET /pushes. Default: \(PushLog.keptDefault).")
    static let loops = CommandOption(
        "--loops", .number(1...ServeOptions.loopsMax), "Threads that serve pushes. Default: 1.")
    static let print = CommandOption("--print", "Print each push in a human-readable form.")
    static let printJSON = CommandOption("--print-json", "Print each push as one line of JSON.")
    static let pairingFile = CommandOption(
        "--pairing-file", .path, repeatable: true,
        "Open sealed pushes with the pairing link or JSON in this file.")

    static let out = CommandOption("--out", .path, "Where to write the private key. Required.")
    static let keyFile = CommandOption("--key", .path, "The private key. Default: a throwaway key.")
    static let tokenKeyID = CommandOption(
        "--key-id", .identifier, "The key ID in the token. Default: KEY1234567.")
    static let tokenTeamID = CommandOption(
        "--team-id", .identifier, "The team ID in the token. Default: TEAM123456.")

    private static let streamRange = 1...Int(SimulatorSettings.streamsMax)

    private static func port(_ name: String, _ summary: String) -> CommandOption {
        CommandOption(name, .number(0...65_535, "PORT"), summary)
    }
}

extension OptionValue {
    /// A JSON value.
    static let json = text("JSON", "JSON") {
        (try? JSON.parse(Array($0.utf8), maxBytes: $0.utf8.count)) != nil
    }

    /// Apple's key and team identifiers.
    static let identifier = text("ID", "10 uppercase letters and digits", where: ProviderToken.isIdentifier)
}
