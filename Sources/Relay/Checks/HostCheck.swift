import APNs
import Network
import Programs

/// Tests the connection to an APNs server, with the same code that sends pushes.
enum HostCheck {
    /// The result of connecting.
    enum Outcome: Equatable {
        /// Connected, with the protocol chosen by ALPN.
        case connected(address: String, tls: String, alpn: String?)
        /// Failed at a stage of connecting.
        case ended(ChannelCloseReason, ConnectStage, address: String?)
    }

    /// Connects within a time limit and closes the connection.
    static func connect(
        _ origin: APNsOrigin, through proxy: ConnectProxy? = nil, tls: TLSClientContext, on loop: EventLoop,
        within timeout: Duration
    ) async -> Outcome {
        await withCheckedContinuation { continuation in
            loop.submit {
                _ = Channel.connect(
                    to: Endpoint(host: origin.host, port: origin.port), through: proxy, tls: tls, on: loop,
                    timeout: timeout, handler: Probe(continuation))
            }
        }
    }

    static func finding(_ outcome: Outcome, of origin: APNsOrigin, _ environment: Environment) -> CheckFinding
    {
        let subject = "\(environment.rawValue) \(origin.host):\(origin.port)"
        switch outcome {
        case .connected(let address, let tls, "h2"):
            return .ok(.apns, subject, "\(address), \(tls), HTTP/2")
        case .connected(let address, let tls, let alpn):
            let chosen = alpn.map { "chose \(Quoted.value($0))" } ?? "chose no protocol"
            return .fault(.noHTTP2, .apns, subject, "\(address) uses \(tls) and \(chosen), not HTTP/2 (h2)")
        case .ended(let reason, let stage, let address):
            let (fault, text) = explain(reason, stage)
            return .fault(fault, .apns, subject, (address.map { "\($0): " } ?? "") + text)
        }
    }

    private static func explain(_ reason: ChannelCloseReason, _ stage: ConnectStage) -> (CheckFault, String) {
        switch reason {
        case .unresolved(let detail):
            (.nameNotResolved, "the name has no address: \(detail)")
        case .connectFailed(let code):
            switch SystemError(code) {
            case .refused: (.connectionRefused, "the connection is refused")
            case .timeout: (.connectionTimeout, "no response to the connection attempt")
            case .other: (.networkUnreachable, "can't connect: \(FileError(errno: code).reason)")
            }
        case .connectTimeout:
            switch stage {
            case .name: (.nameNotResolved, "the name servers didn't answer in time")
            case .socket: (.connectionTimeout, "no response to the connection attempt")
            case .proxy: (.proxyRefused, "connected to the proxy, but no response to CONNECT")
            case .handshake, .open: (.connectionTimeout, "connected, but no response to the TLS handshake")
            }
        case .tls(let detail): tls(detail)
        case .proxy(let detail): (.proxyRefused, "the proxy: \(detail)")
        case .peer, .failed, .local, .flushTimeout, .notPublic:
            (.tlsFailed, "closed during the TLS handshake: \(reason)")
        }
    }

    /// Classifies OpenSSL's error message.
    private static func tls(_ detail: String) -> (CheckFault, String) {
        if detail.contains("mismatch") { return (.tlsWrongName, "TLS: \(detail)") }
        if detail.hasPrefix("certificate refused") { return (.tlsUntrusted, "TLS: \(detail)") }
        if detail.contains("no application protocol") {
            return (.noHTTP2, "TLS: it doesn't offer HTTP/2 (\(detail))")
        }
        if ["wrong version number", "http request", "packet length too long"].contains(where: detail.contains)
        {
            return (.notTLS, "it doesn't speak TLS (\(detail))")
        }
        return (.tlsFailed, "TLS: \(detail)")
    }

    private final class Probe: ChannelHandler {
        private let continuation: CheckedContinuation<Outcome, Never>
        private var outcome: Outcome?

        init(_ continuation: CheckedContinuation<Outcome, Never>) {
            self.continuation = continuation
        }

        func channelActive(_ channel: Channel) {
            outcome = .connected(
                address: channel.remoteAddress?.description ?? "-", tls: channel.tlsVersion ?? "TLS",
                alpn: channel.alpn)
            channel.close()
        }

        func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}

        func channelReadEnded(_ channel: Channel) { channel.close() }

        func channelWritable(_ channel: Channel) {}

        func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
            continuation.resume(
                returning: outcome
                    ?? .ended(reason, channel.stage, address: channel.remoteAddress?.description))
        }
    }
}
