import JSON
import Network

/// A small HTTP/1.1 client for tests: one connection, request and response (with a Content-Length) at a time.
struct HTTPClient: Sendable {
    /// How long an exchange may take in total.
    static let deadline = Duration.seconds(30)

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// A status, header lines with lower-case names, and the body.
    struct Answer: Sendable {
        var status = 0
        var headers: [String: String] = [:]
        var body: [UInt8] = []

        var text: String { String(decoding: body, as: UTF8.self) }

        func json() throws -> JSON.Value { try JSON.parse(body, maxBytes: 1 << 26) }
    }

    let endpoint: Endpoint
    let loop: EventLoop
    var trusted: TLSClientContext?

    func get(_ path: String) async throws -> Answer { try await send("GET", path) }

    func post(_ path: String, _ body: String) async throws -> Answer {
        try await send("POST", path, body: body)
    }

    /// Sends one request on a new connection.
    func send(_ method: String, _ path: String, body: String? = nil, headers: [String] = []) async throws
        -> Answer
    {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Connection: close"] + headers
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        let bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")).utf8)
        return try await exchange(bytes)
    }

    /// Sends raw bytes and reads one response.
    func exchange(_ bytes: [UInt8]) async throws -> Answer {
        let result = await loop.run { loop in
            await withCheckedContinuation { continuation in
                let exchange = Exchange(request: bytes) { continuation.resume(returning: $0) }
                let channel = Channel.connect(
                    to: endpoint, tls: trusted, on: loop, timeout: Self.deadline, handler: exchange)
                exchange.startDeadline(channel, Self.deadline)
            }
        }
        return try result.get()
    }
}

/// One request and its response on one channel.
private final class Exchange: ChannelHandler {
    private let request: [UInt8]
    private var done: ((Result<HTTPClient.Answer, HTTPClient.Failure>) -> Void)?
    private var received: [UInt8] = []
    private var timer: Timer?

    init(request: [UInt8], done: @escaping (Result<HTTPClient.Answer, HTTPClient.Failure>) -> Void) {
        self.request = request
        self.done = done
    }

    func startDeadline(_ channel: Channel, _ deadline: Duration) {
        let timer = Timer(on: channel.loop) { [weak channel] in channel?.close() }
        timer.schedule(after: deadline)
        self.timer = timer
    }

    func channelActive(_ channel: Channel) { channel.write(request) }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        received.append(contentsOf: bytes)
        guard let answer = AnswerReader.read(received) else { return }
        finish(.success(answer))
        channel.closeAfterFlush(deadline: .seconds(1))
    }

    func channelReadEnded(_ channel: Channel) { channel.close() }

    func channelWritable(_ channel: Channel) {}

    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        let start = String(decoding: received.prefix(200), as: UTF8.self)
        finish(.failure(HTTPClient.Failure(description: "no whole answer (\(reason)): \(start)")))
    }

    private func finish(_ result: Result<HTTPClient.Answer, HTTPClient.Failure>) {
        timer = nil
        done?(result)
        done = nil
    }
}

/// Reads one response from bytes; strict enough for responses of the relay and the simulator.
enum AnswerReader {
    static func read(_ bytes: [UInt8]) -> HTTPClient.Answer? {
        let end = Array("\r\n\r\n".utf8)
        guard let headEnd = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return nil }
        let head = String(decoding: bytes[..<headEnd], as: UTF8.self).split(separator: "\r\n")
        var answer = HTTPClient.Answer()
        answer.status = Int(head[0].split(separator: " ")[1]) ?? 0
        for line in head.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            answer.headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        if answer.status == 100 { return read(Array(bytes[(headEnd + 4)...])) }
        let length = answer.headers["content-length"].flatMap { Int($0) } ?? 0
        guard bytes.count >= headEnd + 4 + length else { return nil }
        answer.body = Array(bytes[(headEnd + 4)..<(headEnd + 4 + length)])
        return answer
    }
}
