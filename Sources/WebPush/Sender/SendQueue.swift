internal import Delays
internal import Network

/// Decides which pushes wait, start or fail immediately, and which connections are opened and closed: a pure value.
///
/// Hosts take turns, so that a host with many pushes, or one that stalls, delays only its own pushes. A push starts
/// when a connection to its host has room. A host that can't do anything now gets no turn until something changes for
/// it, so each decision takes constant time. Connection numbers are never reused.
struct SendQueue {
    /// What happens to a new push.
    enum Placement: Equatable {
        /// The push waits; ``SendQueue/next(at:)`` returns it when it may start.
        case queued
        /// The queue is full.
        case full
        /// The push's host can't be connected to, for this reason.
        case unreachable(Unreachable.Cause)
    }

    /// What to do next.
    enum Step: Equatable {
        /// Send a push, which is now counted as under way.
        case start(UInt64, on: UInt64)
        /// Open a connection with this number to a push's host, and close the idle one that it replaces, if any.
        case open(UInt64, for: UInt64, closing: UInt64? = nil)
    }

    struct Host {
        var waiting = Line<UInt64>()
        /// Whether the host is in line for a turn.
        var hasTurn = false
        var connections: [UInt64] = []
        var backOff: BackOff
        /// The time until which the host gets no new connection, and the reason.
        var refusal: (until: MonotonicTime, cause: Unreachable.Cause)?

        func isRefused(at now: MonotonicTime) -> Bool { refusal.map { $0.until > now } ?? false }
    }

    private struct Waiting {
        let host: String
        let bytes: Int
    }

    /// The number of hosts at which those without pushes and connections are first forgotten.
    static let hostsMax = 1_000
    /// The number of hosts at which some of them are next forgotten.
    ///
    /// Grows with the number of hosts that can't be forgotten, which keeps the average cost per arrival constant.
    private var forgettingFrom = Self.hostsMax

    let settings: SenderSettings
    var hosts: [String: Host] = [:]
    var connections: [UInt64: Connection] = [:]
    private var lastConnection: UInt64 = 0
    private var pushes: [UInt64: Waiting] = [:]
    /// The hosts with waiting pushes that may be able to proceed, each listed once.
    private var turns = Line<String>()
    /// The hosts waiting for any connection to become idle or end; their `hasTurn` is true.
    private var crowdedOut = Line<String>()
    private(set) var waitingBytes = 0
    /// The number of requests under way.
    var underWay = 0

    init(_ settings: SenderSettings) { self.settings = settings }

    /// The number of waiting pushes.
    var waiting: Int { pushes.count }

    // MARK: Pushes

    /// Adds a push.
    mutating func arrive(_ push: UInt64, host name: String, bytes: Int, at now: MonotonicTime) -> Placement {
        if hosts.count >= forgettingFrom, hosts[name] == nil { forgetHosts(at: now) }
        if let host = hosts[name], host.connections.isEmpty, let refusal = host.refusal, refusal.until > now {
            return .unreachable(refusal.cause)
        }
        guard pushes.count < settings.queuedMax, waitingBytes + bytes <= settings.queuedBytesMax,
            hosts[name]?.waiting.count ?? 0 < settings.queuedPerHostMax
        else { return .full }
        wait(push, host: name, bytes: bytes)
        return .queued
    }

    /// Adds a push that was under way and has to start again.
    mutating func wait(_ push: UInt64, host name: String, bytes: Int) {
        let new = Host(backOff: BackOff(from: settings.backOffBase, to: settings.backOffMax))
        // Appended in place: copying the host would copy its line.
        hosts[name, default: new].waiting.append(push)
        pushes[push] = Waiting(host: name, bytes: bytes)
        waitingBytes += bytes
        giveTurn(to: name)
    }

    /// Removes a push that waited too long or is cancelled; false if it isn't waiting.
    mutating func remove(_ push: UInt64) -> Bool {
        // The host's line still contains the push, which is skipped later.
        guard let entry = pushes.removeValue(forKey: push) else { return false }
        waitingBytes -= entry.bytes
        return true
    }

    /// Removes the waiting pushes of a host and returns them.
    mutating func removeAll(of name: String) -> [UInt64] {
        var removed: [UInt64] = []
        while let push = hosts[name]?.waiting.popFirst() {
            if remove(push) { removed.append(push) }
        }
        return removed
    }

    // MARK: Turns

    /// Whether ``next(at:)`` may return a step.
    var mayGoOn: Bool {
        underWay < settings.underWayMax && !pushes.isEmpty && !(turns.isEmpty && crowdedOut.isEmpty)
    }

    /// The next step; `nil` if there is nothing to do until something happens.
    mutating func next(at now: MonotonicTime) -> Step? {
        while underWay < settings.underWayMax, let name = popTurn() {
            hosts[name]?.hasTurn = false
            guard let push = firstWaiting(of: name) else { continue }
            if let connection = roomiest(of: name) {
                _ = hosts[name]?.waiting.popFirst()
                _ = remove(push)
                start(on: connection, at: now)
                giveTurn(to: name)
                return .start(push, on: connection)
            }
            guard mayOpen(to: name, at: now) else { continue }
            let isCrowded = connections.count >= settings.connectionsMax
            let idle = isCrowded ? longestIdle : nil
            guard !isCrowded || idle != nil else {
                hosts[name]?.hasTurn = true
                crowdedOut.append(name)
                continue
            }
            if let idle, let evicted = connections[idle]?.host {
                removeConnection(idle)
                giveTurn(to: evicted)
            }
            return .open(open(to: name, at: now), for: push, closing: idle)
        }
        return nil
    }

    /// Puts a host with waiting pushes in line for a turn, after something changed for it.
    mutating func giveTurn(to name: String) {
        guard let hasTurn = hosts[name]?.hasTurn, !hasTurn, hosts[name]?.waiting.isEmpty == false else {
            return
        }
        hosts[name]?.hasTurn = true
        turns.append(name)
    }

    private mutating func popTurn() -> String? {
        if !crowdedOut.isEmpty, connections.count < settings.connectionsMax || longestIdle != nil {
            return crowdedOut.popFirst()
        }
        return turns.popFirst()
    }

    private mutating func firstWaiting(of name: String) -> UInt64? {
        while let push = hosts[name]?.waiting.first {
            if pushes[push] != nil { return push }
            _ = hosts[name]?.waiting.popFirst()
        }
        return nil
    }

    private mutating func open(to name: String, at now: MonotonicTime) -> UInt64 {
        lastConnection += 1
        connections[lastConnection] = Connection(to: name, at: now)
        hosts[name]?.connections.append(lastConnection)
        return lastConnection
    }

    private mutating func forgetHosts(at now: MonotonicTime) {
        hosts = hosts.filter { _, host in
            !host.waiting.isEmpty || !host.connections.isEmpty || host.isRefused(at: now)
        }
        forgettingFrom = max(Self.hostsMax, 2 * hosts.count)
    }
}
