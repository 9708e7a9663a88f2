internal import CCurl
internal import Glibc
internal import Network

/// libcurl's multi interface, driven by an event loop.
///
/// Owns the handle and the connections. Confined to the loop. libcurl's callbacks only note what to do: none of its
/// functions may be called in them.
@safe final class Multi {
    /// Called with each finished transfer, outside libcurl; the transfer may be used again.
    var onFinished: (Transfer, CURLcode) -> Void = { _, _ in }
    /// How long sent bytes may be unacknowledged before their connection fails, in milliseconds.
    let acknowledgeTimeout: UInt32
    /// The number of connections opened in total.
    private(set) var connectionsOpened: UInt64 = 0

    private let loop: EventLoop
    private var handle: UnsafeMutableRawPointer?
    private var timer: Timer?
    private var isKicked = false
    private var watches: [Int32: DescriptorWatch] = [:]
    private var connections: [Int32: Connection] = [:]

    private struct Connection {
        let host: String
        let openedAt: MonotonicTime
        var heardAt: MonotonicTime?
    }

    private static let prepareLibrary: Void = {
        _ = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    }()

    /// Only on `loop`.
    init(_ settings: SenderSettings, on loop: EventLoop) {
        _ = Self.prepareLibrary
        self.loop = loop
        acknowledgeTimeout = UInt32(clamping: Int(settings.pushTimeout / .milliseconds(1)))
        guard let handle = unsafe curl_multi_init() else { fatalError("libcurl has no memory") }
        unsafe self.handle = handle
        unsafe relay_curl_multi_set_callbacks(
            handle, socketChanged, timeoutChanged, Unmanaged.passUnretained(self).toOpaque())
        for (option, value) in [
            (CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)),
            (CURLMOPT_MAX_HOST_CONNECTIONS, settings.connectionsPerHostMax),
            (CURLMOPT_MAX_TOTAL_CONNECTIONS, settings.connectionsMax),
            (CURLMOPT_MAXCONNECTS, settings.connectionsMax),
            (CURLMOPT_MAX_CONCURRENT_STREAMS, settings.streamsPerConnectionMax),
        ] { unsafe relay_curl_multi_set_number(handle, option, value) }
        timer = Timer(on: loop) { [unowned self] in expired() }
    }

    deinit { close() }

    /// The number of open connections.
    var connectionCount: Int { connections.count }

    /// Sends a prepared request; false if libcurl has no memory.
    func start(_ transfer: Transfer) -> Bool {
        unsafe curl_multi_add_handle(handle, transfer.handle) == CURLM_OK
    }

    /// Ends a request without a result.
    func cancel(_ transfer: Transfer) {
        unsafe curl_multi_remove_handle(handle, transfer.handle)
    }

    /// Closes all connections; the requests must have ended.
    func close() {
        guard let closing = unsafe handle else { return }
        unsafe handle = nil
        timer = nil
        unsafe curl_multi_cleanup(closing)
        watches.removeAll()
    }

    /// Breaks the connections to a host that were there at a time: all, or those that have received nothing since.
    ///
    /// libcurl itself leaves a shared connection only when the system reports its end, so each new request would run into
    /// its deadline. It takes what happens here for the server's close.
    func breakConnections(to host: String, openedBefore time: MonotonicTime, onlySilent: Bool) {
        for (descriptor, connection) in connections
        where connection.host == host && connection.openedAt <= time
            && (!onlySilent || connection.heardAt ?? connection.openedAt <= time)
        {
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }

    // MARK: Driving libcurl

    private func expired() {
        act(CURL_SOCKET_TIMEOUT, 0)
        // The loop's timers may be early. libcurl then has nothing to do yet, and doesn't repeat its wish.
        guard let handle = unsafe handle, let timer, !timer.isScheduled, !isKicked else { return }
        var milliseconds = -1
        unsafe curl_multi_timeout(handle, &milliseconds)
        if milliseconds >= 0 { timer.schedule(after: .milliseconds(max(1, milliseconds))) }
    }

    private func act(_ descriptor: Int32, _ events: Int32) {
        guard let handle = unsafe handle else { return }
        var running: Int32 = 0
        unsafe curl_multi_socket_action(handle, descriptor, events, &running)
        finish()
    }

    private func finish() {
        var code = CURLE_OK
        while let handle = unsafe handle, let context = unsafe relay_curl_multi_next_finished(handle, &code) {
            let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
            unsafe curl_multi_remove_handle(handle, transfer.handle)
            onFinished(transfer, code)
        }
    }

    private func kick() {
        guard !isKicked else { return }
        isKicked = true
        loop.atTurnEnd { [weak self] in
            guard let self else { return }
            isKicked = false
            expired()
        }
    }

    // MARK: Callbacks

    /// libcurl opened a socket.
    func opened(_ descriptor: Int32, to host: String) {
        connectionsOpened += 1
        connections[descriptor] = Connection(host: host, openedAt: loop.now)
    }

    /// libcurl is done with a socket.
    func closed(_ descriptor: Int32) {
        watches[descriptor] = nil
        connections[descriptor] = nil
        Glibc.close(descriptor)
    }

    fileprivate func watch(_ descriptor: Int32, _ what: Int32) {
        guard what != CURL_POLL_REMOVE else {
            watches[descriptor] = nil
            return
        }
        let watch =
            watches[descriptor]
            ?? DescriptorWatch(descriptor, on: loop) { [unowned self] in ready(descriptor, $0, $1) }
        watches[descriptor] = watch
        watch.watch(reading: what & CURL_POLL_IN != 0, writing: what & CURL_POLL_OUT != 0)
    }

    private func ready(_ descriptor: Int32, _ isReadable: Bool, _ isWritable: Bool) {
        if isReadable { connections[descriptor]?.heardAt = loop.now }
        act(descriptor, (isReadable ? CURL_CSELECT_IN : 0) | (isWritable ? CURL_CSELECT_OUT : 0))
    }

    fileprivate func wake(after milliseconds: Int) {
        if milliseconds < 0 {
            timer?.cancel()
        } else if milliseconds == 0 {
            kick()
        } else {
            timer?.schedule(after: .milliseconds(milliseconds))
        }
    }
}

private func socketChanged(
    _ transfer: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ what: Int32,
    _ context: UnsafeMutableRawPointer?, _ assigned: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context else { return 0 }
    unsafe Unmanaged<Multi>.fromOpaque(context).takeUnretainedValue().watch(descriptor, what)
    return 0
}

private func timeoutChanged(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context else { return 0 }
    unsafe Unmanaged<Multi>.fromOpaque(context).takeUnretainedValue().wake(after: milliseconds)
    return 0
}
