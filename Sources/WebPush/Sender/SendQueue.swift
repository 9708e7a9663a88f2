internal import Delays
internal import Network

/// Decides which pushes wait, start or fail at once: a pure value.
///
/// Hosts take turns, so that one with many pushes, or one that stalls, delays only its own.
struct SendQueue {
    /// What happens to a new push.
    enum Placement: Equatable {
        /// It waits; ``SendQueue/next()`` names it when it may start.
        case queued
        /// The queue is full.
        case full
        /// Its host can't be connected to, for this reason.
        case unreachable(Unreachable.Cause)
    }

    private struct Host {
        var underWay = 0
        var waiting = Line<UInt64>()
        /// Whether it is among those that take turns.
        var hasTurn = false
        var backOff: BackOff
        /// Until when pushes fail, and why.
        var refusal: (until: MonotonicTime, cause: Unreachable.Cause)?
        /// When it last answered a push.
        var answeredAt: MonotonicTime?

        var isIdle: Bool { underWay == 0 && !hasTurn }
    }

    private struct Waiting {
        let host: String
        let bytes: Int
    }

    /// From this number of hosts on, those without pushes are forgotten.
    static let hostsMax = 1_000

    private let settings: SenderSettings
    private var hosts: [String: Host] = [:]
    private var pushes: [UInt64: Waiting] = [:]
    /// The hosts with waiting pushes, and some that had; each is here once.
    private var turns = Line<String>()
    private(set) var waitingBytes = 0
    private(set) var underWay = 0

    init(_ settings: SenderSettings) { self.settings = settings }

    /// The number of waiting pushes.
    var waiting: Int { pushes.count }

    /// Adds a push.
    mutating func arrive(_ push: UInt64, host name: String, bytes: Int, at now: MonotonicTime) -> Placement {
        if hosts.count >= Self.hostsMax, hosts[name] == nil { forgetHosts(at: now) }
        if let refusal = hosts[name]?.refusal, refusal.until > now { return .unreachable(refusal.cause) }
        guard pushes.count < settings.queuedMax, waitingBytes + bytes <= settings.queuedBytesMax,
            hosts[name]?.waiting.count ?? 0 < settings.queuedPerHostMax
        else { return .full }
        if hosts[name]?.hasTurn != true { turns.append(name) }
        // In place: a copy of the host would copy its line.
        let new = newHost
        hosts[name, default: new].hasTurn = true
        hosts[name]?.waiting.append(push)
        pushes[push] = Waiting(host: name, bytes: bytes)
        waitingBytes += bytes
        return .queued
    }

    /// The next push to start, counted as under way; `nil` if none may.
    mutating func next() -> UInt64? {
        guard underWay < settings.underWayMax else { return nil }
        for _ in 0..<turns.count {
            guard let name = turns.popFirst() else { return nil }
            guard hosts[name]?.underWay ?? 0 < settings.underWayPerHostMax else {
                turns.append(name)
                continue
            }
            let push = popWaiting(of: name)
            let hasTurn = hosts[name]?.waiting.isEmpty == false
            hosts[name]?.hasTurn = hasTurn
            if hasTurn { turns.append(name) }
            if let push { return push }
        }
        return nil
    }

    /// Whether ``next()`` may name a push.
    var mayStart: Bool { underWay < settings.underWayMax && !pushes.isEmpty }

    /// Removes a push that waited too long or is cancelled; false if it doesn't wait.
    mutating func remove(_ push: UInt64) -> Bool {
        // Its host's line still has it, and passes over it later.
        guard let entry = pushes.removeValue(forKey: push) else { return false }
        waitingBytes -= entry.bytes
        return true
    }

    /// A push ended with an answer.
    mutating func answered(host name: String, at now: MonotonicTime) {
        ended(host: name)
        hosts[name]?.backOff.reset()
        hosts[name]?.refusal = nil
        hosts[name]?.answeredAt = now
    }

    /// A push ended without an answer after its host was connected to.
    mutating func ended(host name: String) {
        underWay -= 1
        hosts[name]?.underWay -= 1
    }

    /// Whether a host has answered a push since a time.
    func hasAnswered(_ name: String, since time: MonotonicTime) -> Bool {
        hosts[name]?.answeredAt.map { $0 > time } ?? false
    }

    /// A push ended because its host could not be connected to; returns the host's waiting pushes if they fail too.
    ///
    /// - Parameter random: 0 ..< 1, to spread attempts.
    mutating func failed(
        host name: String, _ cause: Unreachable.Cause, at now: MonotonicTime, random: Double
    ) -> [UInt64] {
        underWay -= 1
        guard var host = hosts[name] else { return [] }
        host.underWay -= 1
        defer { hosts[name] = host }
        // Requests that waited for one connection fail together: one failure.
        if let refusal = host.refusal, refusal.until > now { return [] }
        let delay = host.backOff.next(random)
        guard host.backOff.failures >= settings.failuresBeforeRefusing else { return [] }
        host.refusal = (now + delay, cause)
        var failed: [UInt64] = []
        while let push = host.waiting.popFirst() {
            if remove(push) { failed.append(push) }
        }
        return failed
    }

    private var newHost: Host {
        Host(backOff: BackOff(from: settings.backOffBase, to: settings.backOffMax))
    }

    private mutating func popWaiting(of name: String) -> UInt64? {
        while let push = hosts[name]?.waiting.popFirst() {
            guard remove(push) else { continue }
            hosts[name]?.underWay += 1
            underWay += 1
            return push
        }
        return nil
    }

    private mutating func forgetHosts(at now: MonotonicTime) {
        hosts = hosts.filter { _, host in
            !host.isIdle || host.refusal.map { $0.until > now } ?? false
        }
    }
}

/// A first-in, first-out queue.
struct Line<Element> {
    private var items: [Element?] = []
    private var start = 0

    var count: Int { items.count - start }
    var isEmpty: Bool { count == 0 }
    var first: Element? { start < items.count ? items[start] : nil }

    mutating func append(_ element: Element) { items.append(element) }

    mutating func popFirst() -> Element? {
        guard start < items.count else { return nil }
        let first = items[start].take()
        start += 1
        if start == items.count {
            items.removeAll(keepingCapacity: items.count <= 256)
            start = 0
        } else if start >= 1_024 && start > items.count / 2 {
            items.removeFirst(start)
            start = 0
        }
        return first
    }
}
