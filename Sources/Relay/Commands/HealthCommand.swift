import Network

/// `relay health`: asks the relay on this machine whether it serves, where no HTTP client is at hand.
///
/// A container's health check is run by it.
enum HealthCommand {
    /// Asks once and says what came of it, in one line when it is bad.
    static func run(_ configuration: HealthConfiguration) -> ExitStatus {
        CommandTask.run {
            let endpoint = Endpoint(host: configuration.reachableHost, port: configuration.port)
            var tls: TLSClientContext?
            if configuration.isTLS {
                do throws(NetworkError) {
                    tls = try TLSClientContext(unverified: ["http/1.1"])
                } catch {
                    StandardError.message(error.description)
                    return .software
                }
            }
            let verdict = await HealthQuestion.ask(endpoint, tls: tls)
            guard case .failure(let fault) = verdict else { return .success }
            StandardError.message("\(endpoint) does not serve: \(fault.reason)")
            return .unhealthy
        }
    }
}

/// Why a relay is not well.
struct HealthFault: Error, Equatable {
    let reason: String
}

/// One `GET /health` on a connection of its own.
private final class HealthQuestion: ChannelHandler {
    typealias Verdict = Result<Void, HealthFault>

    private static let request = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    /// What an answer must begin with; no more of it is looked at.
    private static let good = Array("HTTP/1.1 200 ".utf8)

    private let continuation: CheckedContinuation<Verdict, Never>
    private var answer: [UInt8] = []
    private var timer: Timer?
    private var isLate = false

    private init(_ continuation: CheckedContinuation<Verdict, Never>) {
        self.continuation = continuation
    }

    /// Asks, and waits at most ``Bounds/healthDeadline``.
    static func ask(_ endpoint: Endpoint, tls: TLSClientContext?) async -> Verdict {
        let loop = EventLoop(label: "relay.health")
        let verdict = await withCheckedContinuation { continuation in
            loop.submit {
                let question = HealthQuestion(continuation)
                let channel = Channel.connect(
                    to: endpoint, tls: tls, on: loop, timeout: Bounds.healthDeadline, handler: question)
                let timer = Timer(on: loop) { [weak question, weak channel] in
                    question?.isLate = true
                    channel?.close()
                }
                timer.schedule(after: Bounds.healthDeadline)
                question.timer = timer
            }
        }
        await loop.stop()
        return verdict
    }

    func channelActive(_ channel: Channel) {
        channel.write(Array(Self.request.utf8))
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        answer += bytes.prefix(Self.good.count - answer.count)
        if answer.count == Self.good.count { channel.close() }
    }

    func channelReadEnded(_ channel: Channel) { channel.close() }

    func channelWritable(_ channel: Channel) {}

    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        timer = nil
        continuation.resume(returning: verdict(reason))
    }

    private func verdict(_ reason: ChannelCloseReason) -> Verdict {
        if answer == Self.good { return .success(()) }
        if isLate { return .failure(HealthFault(reason: "no answer within \(Bounds.healthDeadline)")) }
        guard answer.isEmpty else { return .failure(HealthFault(reason: "GET /health is not answered 200")) }
        return .failure(
            HealthFault(reason: reason == .local ? "closed without an answer" : reason.description))
    }
}
