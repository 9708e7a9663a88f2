import HTTP2

/// Feeds a server's frames to an HTTP/2 client, whole and in pieces: both must lead to the same events.
///
/// The first byte of an input chooses the number of open requests and the size of the pieces.
func fuzzAnswers(_ input: [UInt8]) {
    guard let choice = input.first else { return }
    let frames = Array(input.dropFirst())
    let requests = Int(choice % 8)
    let whole = Answers(frames, requests: requests, step: max(1, frames.count))
    let cut = Answers(frames, requests: requests, step: 1 + Int(choice / 8))
    // nghttp2 counts a CONTINUATION frame once per read, so small pieces exceed its limit with fewer frames.
    if cut.hasTooManyContinuations { return }
    require(whole.events == cut.events, "the size of the pieces changes the events")
}

/// The events of a client that receives a server's frames.
private struct Answers {
    /// The events up to the end of the session: GOAWAY has arrived and no request is open.
    ///
    /// After that, the client closes the connection and nghttp2 ignores further reads. It still parses the rest
    /// of the read that ended the session, so what follows depends on the pieces.
    private(set) var events: [ClientEvent] = []
    private(set) var hasTooManyContinuations = false
    private var open: Set<StreamSlot> = []
    private var isGoingAway = false

    private static let limits: ClientLimits = {
        var limits = ClientLimits()
        limits.keptFields = ["apns-id", "retry-after"]
        limits.bodyBytes = 64
        limits.headerListBytes = 256
        return limits
    }()

    init(_ frames: [UInt8], requests: Int, step: Int) {
        guard let session = try? ClientSession(limits: Self.limits) else {
            fatalError("no session")
        }
        for number in 0..<requests {
            guard
                let slot = try? session.submit(
                    Self.request(number), body: [UInt8](repeating: 0x7B, count: 40))
            else { fatalError("a request is refused although the server sent nothing") }
            open.insert(slot)
        }
        var output: [UInt8] = []
        try? session.collectOutput(into: &output, target: .max)
        receive(frames, step: step, from: session)
        session.abandon()
        take(session)
        require(open.isEmpty && session.openStreamCount == 0, "a request has no event")
    }

    private mutating func receive(_ frames: [UInt8], step: Int, from session: ClientSession) {
        var start = 0
        while start < frames.count {
            let end = min(start + step, frames.count)
            do {
                try Array(frames[start..<end]).withUnsafeBytes { try session.receive($0) }
            } catch {
                if case .sessionFailed(let reason) = error as? HTTP2Error {
                    hasTooManyContinuations = reason.contains("CONTINUATION")
                }
                return
            }
            take(session)
            require(
                session.streamLimit >= 0 && session.openStreamCount == open.count, "a count is wrong")
            start = end
        }
        var output: [UInt8] = []
        try? session.collectOutput(into: &output, target: .max)
    }

    private mutating func take(_ session: ClientSession) {
        session.drainEvents { event in
            if !isGoingAway || !open.isEmpty { events.append(event) }
            switch event {
            case .response(let slot, let response):
                require(open.remove(slot) != nil, "a request has two events")
                require((200...999).contains(response.status), "a response has an invalid status")
                require(response.body.count <= Self.limits.bodyBytes, "a body exceeds its limit")
            case .failure(let slot, _): require(open.remove(slot) != nil, "a request has two events")
            case .streamLimit(let limit): require(limit >= 0, "a stream limit is negative")
            case .goAway(let goAway):
                isGoingAway = true
                require(
                    goAway.debugData.count <= Self.limits.debugDataBytes, "debug data exceed their limit")
            case .pingAcknowledged: break
            }
        }
    }

    private static func request(_ number: Int) -> HeaderFields {
        var fields = HeaderFields()
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", "localhost")
        fields.append(":path", "/3/device/\(number)", indexed: false)
        return fields
    }
}
