import Network

/// When a connection has waited long enough, and for what: a pure value, time comes from outside.
///
/// Two clocks run at once: one for the request at hand, one for answers that the client doesn't take.
struct ConnectionDeadlines {
    /// What a connection waits for.
    enum Wait: Equatable {
        /// The first byte of a request.
        case firstByte
        /// The rest of a head.
        case head
        /// The rest of a body.
        case body
        /// A handler, which bounds its own time.
        case handler
    }

    /// What to do about a deadline.
    enum Verdict: Equatable {
        /// Nothing yet; look again at this moment, if any.
        case wait(until: MonotonicTime?)
        /// Close without a word: an idle client, or one that doesn't read.
        case close
        /// Answer 408 and close.
        case refuse(Refusal)
    }

    private let limits: Limits
    private var wait = Wait.firstByte
    private var request = 0
    private var requestDue: MonotonicTime?
    private var written = 0
    private var taken = 0
    private var writeDue: MonotonicTime?

    /// The deadlines of a connection that stands since `now`; its first head is under way.
    init(limits: Limits, now: MonotonicTime) {
        self.limits = limits
        requestDue = now + limits.headDeadline
    }

    /// The earliest deadline.
    var due: MonotonicTime? {
        guard let requestDue, let writeDue else { return requestDue ?? writeDue }
        return min(requestDue, writeDue)
    }

    /// Notes what the connection waits for; the same wait of the same request (they are counted) goes on.
    mutating func update(_ wait: Wait, request: Int, now: MonotonicTime) {
        guard wait != self.wait || request != self.request else { return }
        // A client has one deadline for connecting and sending its first head.
        let isFirstHead = request == 0 && self.wait == .firstByte && wait == .head
        self.wait = wait
        self.request = request
        switch wait {
        case .firstByte: requestDue = now + limits.idleDeadline
        case .head: requestDue = isFirstHead ? requestDue : now + limits.headDeadline
        case .body: requestDue = now + limits.bodyDeadline
        case .handler: requestDue = nil
        }
    }

    /// Notes bytes handed to the channel.
    mutating func wrote(_ count: Int) { written += count }

    /// Notes how many bytes the system has not taken yet.
    ///
    /// Bytes that it takes buy as much time as they may take at the slowest rate, so that a byte now and then keeps no
    /// connection open.
    mutating func update(pendingBytes: Int, now: MonotonicTime) {
        let taken = written - pendingBytes
        defer { self.taken = taken }
        guard pendingBytes > 0 else {
            writeDue = nil
            return
        }
        let latest = now + limits.writeStallDeadline
        guard let due = writeDue else {
            writeDue = latest
            return
        }
        writeDue = min(latest, due + .seconds(taken - self.taken) / limits.sendBytesPerSecondMin)
    }

    /// What is to be done at `now`.
    func verdict(now: MonotonicTime) -> Verdict {
        if let writeDue, writeDue <= now { return .close }
        guard let requestDue, requestDue <= now else { return .wait(until: due) }
        return switch wait {
        case .firstByte: .close
        case .head: .refuse(.headTimeout)
        case .body: .refuse(.bodyTimeout)
        case .handler: .wait(until: due)
        }
    }
}
