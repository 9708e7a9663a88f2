/// The flags of the program's main command: one table for the reader, the help and the tests of the documentation.
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

    /// The flag as it is written on the command line.
    package var text: String { "--" + rawValue }

    /// What stands behind the flag; `nil` when nothing does.
    package var argument: String? {
        switch self {
        case .productionPort, .sandboxPort, .controlPort: "PORT"
        case .host, .controlHost: "ADDRESS"
        case .certificateFile, .readyFile, .publicKey: "FILE"
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
        case .host: "IP address that both environments are served at. Default: 127.0.0.1."
        case .controlHost: "IP address of the control API, which knows no passwords. Default: 127.0.0.1."
        case .certificateFile:
            "Write the certificate here; clients have to trust it. Default: a temporary file."
        case .certificateName: "A name or IP address for the certificate beside localhost. Repeatable."
        case .readyFile: "Write the ports as JSON here once everything is served."
        case .anyKey: "Take provider tokens whoever signed them, if their form is right. The default."
        case .publicKey:
            "Take provider tokens of this key (PEM) only. Repeatable; the next flags say whose it is."
        case .keyID: "The key's identifier, 10 characters."
        case .teamID: "The key's team, 10 characters."
        case .keyEnvironment:
            "The only environment the key is good for: production or sandbox. Default: both."
        case .topic: "A bundle identifier or topic that may be sent to. Repeatable. Default: any."
        case .token: "A device token, as PUT /tokens takes it. Repeatable."
        case .unknownTokens: "What to do with device tokens that nobody registered. Default: accept."
        case .rule: "Scripted behaviour, as PUT /rules takes it. Repeatable."
        case .latency: "How long answers wait: \(Latency.syntax)."
        case .initialStreams:
            "Streams a client may open before its first success on a connection. Default: 1."
        case .streams: "Streams a client may open afterwards. Default: 1000."
        case .seed: "Where random numbers begin; the same seed makes the same choices. Default: 1."
        case .keep: "How many pushes are kept for GET /pushes. Default: \(PushLog.keptDefault)."
        case .loops: "Threads that serve pushes. Default: 1."
        case .print: "Print each push as a person would want to see it."
        case .printJSON: "Print each push as a line of JSON."
        }
    }
}
