/// The flags of `apns-simulator serve`, shared by the parser, the help and the documentation tests.
package enum Flag: String, CaseIterable, Sendable {
    case productionPort = "production-port"
    case sandboxPort = "sandbox-port"
    case controlPort = "control-port"
    case host
    case controlHost = "control-host"
    case certificateFile = "certificate-file"
    case certificateName = "certificate-name"
    case readyFile = "ready-file"
    case anyKey = "any-key"
    case publicKey = "public-key"
    case keyID = "key-id"
    case teamID = "team-id"
    case keyEnvironment = "key-environment"
    case topic
    case token
    case unknownTokens = "unknown-tokens"
    case rule
    case latency
    case initialStreams = "initial-streams"
    case streams
    case seed
    case keep
    case loops
    case print
    case printJSON = "print-json"
    case pairingFile = "pairing-file"

    /// The flag as written on the command line.
    package var text: String { "--" + rawValue }

    /// The placeholder for the flag's value in the help; `nil` for a flag without a value.
    package var argument: String? {
        switch self {
        case .productionPort, .sandboxPort, .controlPort: "PORT"
        case .host, .controlHost: "ADDRESS"
        case .certificateFile, .readyFile, .publicKey, .pairingFile: "FILE"
        case .certificateName: "NAME"
        case .keyID, .teamID: "ID"
        case .keyEnvironment: "ENVIRONMENT"
        case .topic: "TOPIC"
        case .token, .rule: "JSON"
        case .unknownTokens: "accept|reject"
        case .latency: "LATENCY"
        case .initialStreams, .streams, .seed, .keep, .loops: "N"
        case .anyKey, .print, .printJSON: nil
        }
    }

    /// What the flag does.
    package var summary: String {
        switch self {
        case .productionPort: "Port of the production environment, 0 for a free one. Default: 8443."
        case .sandboxPort: "Port of the sandbox environment, 0 for a free one. Default: 8444."
        case .controlPort: "Port of the control API, 0 for a free one. Default: 8480."
        case .host: "IP address both environments listen on. Default: 127.0.0.1."
        case .controlHost: "IP address of the control API, which has no authentication. Default: 127.0.0.1."
        case .certificateFile:
            "Write the TLS certificate, which clients must trust, to FILE. Default: a temporary file."
        case .certificateName: "Additional DNS name or IP address in the certificate. Repeatable."
        case .readyFile: "Write the ports and URLs as JSON to FILE once the simulator is ready."
        case .anyKey: "Accept any well-formed provider token without checking its signature. The default."
        case .publicKey:
            "Accept only provider tokens signed with this PEM key. Repeatable; the next three flags describe it."
        case .keyID: "Key ID of the preceding --public-key: 10 characters. Required."
        case .teamID: "Team ID of the preceding --public-key: 10 characters. Required."
        case .keyEnvironment:
            "Restrict the preceding --public-key to production or sandbox. Default: both."
        case .topic: "Allowed bundle identifier or topic. Repeatable. Default: any."
        case .token: "Register a device token, as in PUT /tokens. Repeatable."
        case .unknownTokens: "Accept or reject pushes to unregistered device tokens. Default: accept."
        case .rule: "Add a rule, as in PUT /rules. Repeatable."
        case .latency: "Delay before each response: \(Latency.syntax)."
        case .initialStreams:
            "Concurrent streams per connection until its first successful push. Default: 1."
        case .streams: "Concurrent streams per connection after that. Default: 1000."
        case .seed: "Random seed; the same seed makes the same choices. Default: 1."
        case .keep: "Number of pushes kept for GET /pushes. Default: \(PushLog.keptDefault)."
        case .loops: "Threads that serve pushes. Default: 1."
        case .print: "Print each push in a human-readable form."
        case .printJSON: "Print each push as one line of JSON."
        case .pairingFile: "Open sealed pushes with the pairing link or JSON in FILE. Repeatable."
        }
    }
}
