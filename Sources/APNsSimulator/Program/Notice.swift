import JSON
import Network

/// The start-up message and the contents of the ready file.
struct Notice {
    private let productionPort: UInt16
    private let sandboxPort: UInt16
    private let control: SocketAddress
    private let webPushURL: String?
    private let host: String
    private let certificateFile: String
    private let keys: String
    /// Flags with which `apns-simulator token` creates a token that the simulator accepts.
    private let tokenFlags: String

    init(_ options: ServeOptions, _ simulator: Simulator, control: SocketAddress, certificateFile: String) {
        productionPort = simulator.addresses[.production]?.port ?? 0
        sandboxPort = simulator.addresses[.sandbox]?.port ?? 0
        self.control = control
        webPushURL = simulator.webPushOrigin
        let isLoopback = SocketAddress(ip: options.host, port: 0)?.isLoopback ?? false
        host = isLoopback ? "localhost" : options.host
        self.certificateFile = certificateFile
        keys =
            options.keys.isEmpty
            ? "any well-formed token (to check signatures, use --public-key FILE)"
            : "signed with " + options.keys.compactMap(\.keyID).joined(separator: ", ")
        tokenFlags =
            options.keys.first.map {
                " --key KEY.p8 --key-id \($0.keyID ?? "") --team-id \($0.teamID ?? "")"
            } ?? ""
    }

    private func url(_ port: UInt16) -> String { "https://" + Endpoint(host: host, port: port).description }
    private var controlURL: String { "http://\(control)" }

    var readyFile: [UInt8] {
        var object = JSON.Object()
        object["productionPort"] = .int(productionPort)
        object["sandboxPort"] = .int(sandboxPort)
        object["controlPort"] = .int(control.port)
        object["productionURL"] = .string(url(productionPort))
        object["sandboxURL"] = .string(url(sandboxPort))
        object["controlURL"] = .string(controlURL)
        object["webPushURL"] = webPushURL.map { .string($0) }
        object["certificateFile"] = .string(certificateFile)
        return JSON.Value.object(object).encoded() + [UInt8(ascii: "\n")]
    }

    private var webPushLine: String { webPushURL.map { "\n  Web Push         \($0)" } ?? "" }

    var text: String {
        let program = CommandLine.arguments.first ?? "apns-simulator"
        return """
            Simulated APNs is ready. Nothing is sent to Apple.

              production       \(url(productionPort))
              sandbox          \(url(sandboxPort))\(webPushLine)
              control API      \(controlURL)
              certificate      \(certificateFile)
              provider tokens  \(keys)

            Send a push:
              curl --http2 --cacert \(certificateFile) \\
                \(url(productionPort))/3/device/00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0 \\
                -H "authorization: bearer $(\(program) token\(tokenFlags))" \\
                -H 'apns-topic: com.example.app' -H 'apns-push-type: alert' -d '{"aps":{"alert":"Hello"}}'
            Show received pushes:
              curl '\(controlURL)/pushes?format=text'

            Press Ctrl-C to stop.

            """
    }
}
