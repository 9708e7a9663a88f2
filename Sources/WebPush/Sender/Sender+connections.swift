internal import HTTP2
internal import Network

/// Opens connections and handles their events.
extension Sender {
    func open(_ number: UInt64, for push: UInt64, at now: MonotonicTime) {
        guard let endpoint = entries[push]?.push.subscription.endpoint else { return }
        let proxy = settings.bypassesProxy(endpoint.host, endpoint.port) ? nil : settings.proxy
        let connection = PushConnection(number, of: self, usesProxy: proxy != nil)
        connections[number] = connection
        guard let tls = tls ?? (try? TLSClientContext(caFile: settings.caFile, alpn: ["h2", "http/1.1"]))
        else { return closed(connection, .tlsFailed, hadSocket: false) }
        self.tls = tls
        connection.connect(
            to: Endpoint(host: endpoint.host, port: endpoint.port), through: proxy,
            onlyPublic: hosts.permission(for: endpoint) != .anyAddress, tls: tls, on: loop,
            timeout: settings.connectTimeout)
        if let checkTimer, !checkTimer.isScheduled { checkTimer.schedule(after: settings.checkInterval) }
    }

    func opened(_ connection: PushConnection, isHTTP2: Bool) {
        connectionsOpened += 1
        queue.opened(connection.number, isHTTP2: isHTTP2, at: loop.now)
        pumpSoon()
    }

    func limitChanged(_ connection: PushConnection, to limit: Int) {
        queue.limitChanged(connection.number, to: limit, at: loop.now)
        pumpSoon()
    }

    func ponged(_ connection: PushConnection) {
        queue.ponged(connection.number, at: loop.now)
        pumpSoon()
    }

    /// A connection accepts no more pushes.
    func leaves(_ connection: PushConnection) {
        queue.leave(connection.number)
        if queue.isDone(connection.number) { connection.finish() }
        pumpSoon()
    }

    /// - Parameter hadSocket: False if no address was found to connect to.
    func closed(_ connection: PushConnection, _ cause: Unreachable.Cause, hadSocket: Bool) {
        if !connection.isOpen, hadSocket { connectionsOpened += 1 }
        connections[connection.number] = nil
        for push in queue.closed(connection.number, cause, at: loop.now, random: random()) {
            settle(push, .notSent, cause)
        }
        pumpSoon()
        stopIfDone()
    }

    /// A request ended; its push is `nil` if it was cancelled.
    func ended(_ push: UInt64?, on connection: PushConnection, _ end: PushConnection.End) {
        let now = loop.now
        switch end {
        case .response(let response):
            queue.ended(on: connection.number, .answered, at: now)
            if let push { settle(push, response) }
        case .failure(let failure):
            let isRefusal = failure == .notProcessed(.refusedStream)
            queue.ended(on: connection.number, isRefusal ? .refused : .unanswered, at: now)
            if let push { settle(push, failure) }
        }
        if queue.isDone(connection.number) { connection.finish() }
        pumpSoon()
        stopIfDone()
    }

    func checkConnections() {
        for care in queue.check(at: loop.now) {
            switch care {
            case .ping(let number): connections[number]?.ping()
            case .close(let number): connections[number]?.close()
            }
        }
        if !connections.isEmpty { checkTimer?.schedule(after: settings.checkInterval) }
    }
}
