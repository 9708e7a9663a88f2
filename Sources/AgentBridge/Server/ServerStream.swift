import Network
import WebClient

/// Reads a server's event stream.
struct ServerStream: Sendable {
    let client: OpenCodeClient
    /// How long the stream may be silent.
    var silenceLimit = Bounds.streamSilenceMax
    /// Handles each event; returns false if there are too many.
    let receive: @Sendable (StreamSignal) -> Bool
    /// Called when the stream has begun.
    let connected: @Sendable () -> Void

    /// Why a stream ended.
    enum End: Sendable, Equatable {
        /// The server closed the stream, or the connection failed.
        case closed(String)
        /// No data arrived within the silence limit.
        case silent
        /// The bridge couldn't keep up.
        case overflow
    }

    /// Reads the stream until it ends.
    func run() async throws(ServerError) -> End {
        switch client.generation {
        case .second:
            return try await read("/api/event")
        case .first:
            do throws(ServerError) {
                return try await read("/global/event")
            } catch {
                // Older servers offer only the stream of a single directory.
                switch error {
                case .status(404), .answer: return try await read("/event")
                default: throw error
                }
            }
        }
    }

    private func read(_ path: String) async throws(ServerError) -> End {
        var request = OpenCodeClient.request(client.place, path, [])
        request.accept = "text/event-stream"
        request.timeout = .zero
        request.silenceLimit = silenceLimit
        let reader = Reader(self)
        let result: Result<WebAnswer, WebFailure>
        do throws(WebFailure) {
            result = .success(try await WebClient.stream(request, to: reader))
        } catch {
            result = .failure(error)
        }
        if let refused = reader.refused { try Self.check(refused) }
        switch result {
        case .success(let answer):
            try Self.check(answer)
            return .closed("the server ended it")
        case .failure(let failure):
            if reader.isOverflown { return .overflow }
            guard reader.hasBegun else {
                throw .unreachable("\(client.place.address): \(failure)", isTimeout: failure.kind == .timeout)
            }
            return failure.kind == .timeout ? .silent : .closed(failure.description)
        }
    }

    private static func check(_ answer: WebAnswer) throws(ServerError) {
        if answer.status == 401 || answer.status == 403 { throw .unauthorized }
        guard answer.status == 200 else { throw .status(answer.status) }
        guard answer.isOfType("text/event-stream") else { throw .answer("no event stream") }
    }

    /// Parses and decodes the stream on the request's thread.
    private final class Reader: WebStreamReader {
        private struct State {
            var parser = EventStreamParser()
            var refused: WebAnswer?
            var hasBegun = false
            var isOverflown = false
        }

        private let stream: ServerStream
        private let state = Lock(State())

        init(_ stream: ServerStream) { self.stream = stream }

        var refused: WebAnswer? { state.withLock(\.refused) }
        var hasBegun: Bool { state.withLock(\.hasBegun) }
        var isOverflown: Bool { state.withLock(\.isOverflown) }

        func begin(_ answer: WebAnswer) -> Bool {
            guard answer.status == 200, answer.isOfType("text/event-stream") else {
                state.withLock { $0.refused = answer }
                return false
            }
            state.withLock { $0.hasBegun = true }
            stream.connected()
            return true
        }

        func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
            var frames: [[UInt8]] = []
            state.withLock { state in
                state.parser.feed(bytes) { if !StreamFrame.isNoise($0) { frames.append($0) } }
            }
            for frame in frames {
                for signal in StreamFrame.decode(frame, stream.client.generation)
                where !stream.receive(signal) {
                    state.withLock { $0.isOverflown = true }
                    return false
                }
            }
            return true
        }
    }
}
