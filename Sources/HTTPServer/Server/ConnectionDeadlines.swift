import Network

/// The deadlines of a connection: a pure value.
///
/// Two deadlines run at once: one for the current request, one for unsent responses.
struct ConnectionDeadlines {
    /// What a connection is waiting for.
    enum Wait: Equatable {
        /// The first byte of a request.
        case firstByte
        /// The rest of a head.
        case head
        /// The rest of a body.
        case body
        /// A handler, which limits its own running time.
        case handler
    }

    /// What to do about a deadline.
    enum Verdict: Equatable {
        /// Nothing yet; check again at this time, if any.
        case wait(until: MonotonicTime?)
        /// Close silently: the client is idle or isn't reading.
        case close
        /// Respond with 408 and close.
        case refuse(Refusal)
    }

    private let limits: Limits
    private var wait = Wait.firstByte
    private var request = 0
    private var requestDue: MonotonicTime?
    private var written = 0
    private var taken = 0
    private var writeDue: MonotonicTime?

    /// The deadlines for a connection accepted at `now`, waiting for its first head.
    init(limits: Limits, now: MonotonicTime) {
        self.limits = limits
        requestDue = now + limits.headDeadline
    }

    /// The earliest deadline.
    var due: MonotonicTime? {
        guard let requestDue, let writeDue else { return requestDue ?? writeDue }
        return min(requestDue, writeDue)
    }

    /// Sets what the connection is waiting for; the deadline keeps running if neither that nor the request has changed.
    mutating func update(_ wait: Wait, request: Int, now: MonotonicTime) {
        guard wait != self.wait || request != self.request else { return }
        // Connecting and sending the first head share one deadline.
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

    /// Counts bytes passed to the channel.
    mutating func wrote(_ count: Int) { written += count }

    /// Records how many bytes the kernel has not accepted yet.
    ///
    /// Accepted bytes extend the deadline by the time they take at the minimum rate, so an occasional byte can't keep
    /// the connection open.
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

    /// The action due at `now`.
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
