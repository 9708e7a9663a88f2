import HTTPServer
import Network
import Testing

/// A received response.
struct Answer: Sendable, Equatable {
    var status: Int
    /// The header fields, with names in lower case.
    var headers: [String: String]
    var body: String
}

/// An unexpected action of the server.
enum ClientError: Error {
    case closed(ChannelCloseReason, unread: String)
    case malformed(String)
}

/// A client that writes raw bytes and reads answers one by one.
///
/// Confined to its loop.
final class Client: ChannelHandler {
    private var bytes: ArraySlice<UInt8> = []
    private var isActive = false
    private var hasEnded = false
    private var reason: ChannelCloseReason?
    private var changes = 0
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private var channel: Channel?
    /// Whether to stay open when the server closes its side.
    private var staysOpen = false

    /// Connects and waits until the connection is established.
    static func connect(
        to address: SocketAddress, tls: TLSClientContext? = nil, staysOpen: Bool = false,
        on loop: isolated EventLoop
    ) async throws -> Client {
        let client = Client()
        client.staysOpen = staysOpen
        let host = tls == nil ? address.host : "localhost"
        client.channel = Channel.connect(
            to: Endpoint(host: host, port: address.port), tls: tls, on: loop, timeout: .seconds(10),
            handler: client)
        while !client.isActive {
            if let reason = client.reason { throw ClientError.closed(reason, unread: "") }
            await client.changed(since: client.changes, on: loop)
        }
        return client
    }

    func send(_ text: String) { channel?.write(Array(text.utf8)) }

    /// Sends bytes immediately.
    func sendNow(_ bytes: [UInt8]) {
        channel?.write(bytes)
        channel?.flush()
    }

    func close() { channel?.close() }

    /// Sends `text` repeatedly at an interval until the returned task is cancelled.
    func drip(_ text: String, every interval: Duration, on loop: isolated EventLoop) -> Task<Void, Never> {
        let client = LoopBound(self, on: loop)
        return Task {
            _ = loop
            while !Task.isCancelled && client.value.reason == nil {
                client.value.send(text)
                await pause(interval, on: loop)
            }
        }
    }

    func pauseReading() { channel?.pauseReading() }

    func resumeReading() { channel?.resumeReading() }

    /// The next response; with `isHead` it has no body, whatever its length field says.
    func answer(isHead: Bool = false, on loop: isolated EventLoop) async throws -> Answer {
        while true {
            if let (answer, end) = try Self.firstAnswer(bytes, isHead: isHead) {
                bytes = bytes[end...]
                return answer
            }
            if let reason { throw ClientError.closed(reason, unread: String(decoding: bytes, as: UTF8.self)) }
            await changed(since: changes, on: loop)
        }
    }

    /// Waits until the connection is closed and returns the unread bytes.
    func closed(on loop: isolated EventLoop) async -> String {
        while reason == nil { await changed(since: changes, on: loop) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Waits until this many unread bytes have been received.
    func received(_ count: Int, on loop: isolated EventLoop) async {
        while reason == nil && bytes.count < count { await changed(since: changes, on: loop) }
    }

    private static func firstAnswer(_ bytes: ArraySlice<UInt8>, isHead: Bool) throws -> (Answer, end: Int)? {
        guard let headEnd = headEnd(bytes) else { return nil }
        let text = String(decoding: bytes[..<headEnd], as: UTF8.self)
        let lines = text.utf8.dropLast(4).split(separator: 13).map { line in
            String(decoding: line.drop { $0 == 10 }, as: UTF8.self)
        }
        let words = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw ClientError.malformed(text)
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw ClientError.malformed(line) }
            let name = parts[0].lowercased()
            guard headers[name] == nil else { throw ClientError.malformed("\(name) comes twice") }
            headers[name] = String(parts[1].drop { $0 == " " })
        }
        let length = isHead || status < 200 || status == 204 ? 0 : Int(headers["content-length"] ?? "") ?? -1
        guard length >= 0 else { throw ClientError.malformed("no length: \(text)") }
        guard bytes.endIndex >= headEnd + length else { return nil }
        let body = String(decoding: bytes[headEnd..<headEnd + length], as: UTF8.self)
        return (Answer(status: status, headers: headers, body: body), headEnd + length)
    }

    private static func headEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
        var index = bytes.startIndex
        while index + 4 <= bytes.endIndex {
            if bytes[index] == 13, bytes[index..<index + 4].elementsEqual([13, 10, 13, 10]) {
                return index + 4
            }
            index += 1
        }
        return nil
    }

    /// Waits for a change after `seen` changes: the connection may run before the wait begins.
    private func changed(since seen: Int, on loop: isolated EventLoop) async {
        await withCheckedContinuation { continuation in
            guard changes == seen else { return continuation.resume() }
            waiters.append(continuation)
        }
    }

    private func wake() {
        changes += 1
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume() }
    }

    func channelActive(_ channel: Channel) {
        isActive = true
        wake()
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        self.bytes.append(contentsOf: bytes)
        wake()
    }

    func channelReadEnded(_ channel: Channel) {
        hasEnded = true
        if !staysOpen { channel.close() }
        wake()
    }

    func channelWritable(_ channel: Channel) {}

    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        self.reason = reason
        wake()
    }
}
