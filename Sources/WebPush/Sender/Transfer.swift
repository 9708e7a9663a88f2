internal import CCurl
internal import Network

/// One HTTPS request at a time, with libcurl's handle, which is used again.
///
/// Owns the handle. Confined to the loop.
@safe final class Transfer {
    let handle: UnsafeMutableRawPointer
    /// The push of the request.
    private(set) var push: UInt64 = 0
    private(set) var startedAt = MonotonicTime(nanoseconds: 0)
    /// Whose answer it is.
    private(set) var service = PushService.other
    private unowned let multi: Multi
    private let proxy: ConnectProxy?
    private let bypassesProxy: @Sendable (String, UInt16) -> Bool
    private var hasProxy = false
    private var fields: UnsafeMutablePointer<curl_slist>?
    private var proxyFields: UnsafeMutablePointer<curl_slist>?
    private var authority = ""
    private var permission = HostRule.Permission.publicAddresses
    private var isAddressRefused = false
    /// Whether the request opened a connection, instead of waiting for one.
    private var hasOpened = false
    private var body: [UInt8] = []

    private static let successOfConnect = 200

    init?(_ settings: SenderSettings, _ multi: Multi) {
        guard let handle = unsafe curl_easy_init() else { return nil }
        unsafe self.handle = handle
        self.multi = multi
        proxy = settings.proxy
        bypassesProxy = settings.bypassesProxy
        configure(settings)
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
        unsafe curl_slist_free_all(fields)
        unsafe curl_slist_free_all(proxyFields)
    }

    /// Prepares a request; ``Multi/start(_:)`` sends it.
    func prepare(
        _ push: UInt64, to endpoint: PushEndpoint, fields lines: [String], body bytes: [UInt8],
        permission: HostRule.Permission, at now: MonotonicTime
    ) {
        self.push = push
        startedAt = now
        service = PushService(host: endpoint.host)
        authority = endpoint.authority
        self.permission = permission
        isAddressRefused = false
        hasOpened = false
        body.removeAll(keepingCapacity: true)
        set(CURLOPT_URL, endpoint.url)
        hasProxy = proxy != nil && !bypassesProxy(endpoint.host, endpoint.port)
        // Both empty: not the environment's.
        set(CURLOPT_PROXY, hasProxy ? proxy.map { "http://\($0.endpoint)" } ?? "" : "")
        unsafe curl_slist_free_all(fields)
        unsafe fields = nil
        // Without a value: not sent. Waiting for 100 Continue would cost a round trip.
        for line in lines + ["Expect:", "Accept:"] { unsafe fields = curl_slist_append(fields, line) }
        unsafe relay_curl_set_list(handle, CURLOPT_HTTPHEADER, fields)
        unsafe relay_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, bytes.count)
        unsafe bytes.withUnsafeBytes { buffer in
            let start = unsafe UnsafeMutableRawPointer(mutating: buffer.baseAddress)
            unsafe _ = relay_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, start)
        }
    }

    private func configure(_ settings: SenderSettings) {
        set(CURLOPT_PROTOCOLS_STR, "https")
        set(CURLOPT_USERAGENT, "apn-relay")
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // Requests wait to share a connection that is being made.
        set(CURLOPT_PIPEWAIT, 1)
        // The endpoint is sent as it was registered.
        set(CURLOPT_PATH_AS_IS, 1)
        // libcurl's signals are not thread-safe.
        set(CURLOPT_NOSIGNAL, 1)
        // A request that ends while its name is looked up would wait for the resolver's thread.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(settings.connectTimeout / .milliseconds(1)))
        if let path = settings.caFile { set(CURLOPT_CAINFO, path) }
        set(CURLOPT_NOPROXY, "")
        if let authorization = settings.proxy?.authorization {
            unsafe proxyFields = curl_slist_append(nil, "Proxy-Authorization: \(authorization)")
            unsafe relay_curl_set_list(handle, CURLOPT_PROXYHEADER, proxyFields)
        }
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe relay_curl_set_pointer(handle, CURLOPT_PRIVATE, context)
        unsafe relay_curl_set_pointer(handle, CURLOPT_WRITEDATA, context)
        unsafe relay_curl_set_writer(handle, takeBytes)
        unsafe relay_curl_set_open_socket(handle, openSocket, context)
        unsafe relay_curl_set_close_socket(handle, closeSocket, Unmanaged.passUnretained(multi).toOpaque())
    }

    private func set(_ option: CURLoption, _ value: String) {
        unsafe relay_curl_set_text(handle, option, value)
    }

    private func set(_ option: CURLoption, _ value: Int) {
        unsafe relay_curl_set_number(handle, option, value)
    }

    // MARK: The result

    /// The outcome of a request that takes too long, before it is cancelled.
    var outcomeOfTimeout: Outcome { outcome(CURLE_OPERATION_TIMEDOUT) }

    /// The outcome after libcurl's result.
    ///
    /// A status counts even if the rest of the answer is missing, late or too long.
    func outcome(_ code: CURLcode) -> Outcome {
        let status = number(CURLINFO_RESPONSE_CODE)
        guard status < 200 else {
            let seconds = Int(clamping: unsafe relay_curl_get_retry_after(handle))
            return Answer(status: status, service: service, retryAfter: seconds, body: body).outcome
        }
        return .unreachable(Unreachable(processed: isSent ? .unknown : .notSent, cause: cause(code)))
    }

    /// Whether the request was sent, at least in part.
    private var isSent: Bool {
        var microseconds: curl_off_t = 0
        unsafe relay_curl_get_size(handle, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
        return microseconds > 0
    }

    private func number(_ info: CURLINFO) -> Int {
        var value = 0
        unsafe relay_curl_get_number(handle, info, &value)
        return value
    }

    private func cause(_ code: CURLcode) -> Unreachable.Cause {
        if isAddressRefused, !isSent { return .addressNotPublic }
        let connectStatus = number(CURLINFO_HTTP_CONNECTCODE)
        if hasProxy, !isSent, connectStatus != 0, connectStatus != Self.successOfConnect {
            return .proxyFailed
        }
        return switch code {
        case CURLE_COULDNT_RESOLVE_HOST: .nameNotResolved
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: .proxyFailed
        case CURLE_COULDNT_CONNECT: hasProxy ? .proxyFailed : .connectFailed
        case CURLE_OPERATION_TIMEDOUT: hasOpened && !isSent ? .connectTimeout : .timeout
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE: .tlsFailed
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE: .connectionClosed
        default: .protocolError
        }
    }

    // MARK: Callbacks

    fileprivate func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        let room = Answer.bodyBytesMax - body.count
        unsafe body.append(contentsOf: bytes.prefix(room))
        // Less than was given ends the request; the status is known.
        return min(room, bytes.count)
    }

    fileprivate func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        // A proxy's address is the operator's choice.
        if !hasProxy, permission == .publicAddresses {
            guard let raw = unsafe relay_curl_address(address),
                let target = unsafe SocketAddress(sockaddr: raw),
                target.isPublic
            else {
                isAddressRefused = true
                return CURL_SOCKET_BAD
            }
        }
        let descriptor = unsafe relay_curl_open_socket(address, multi.acknowledgeTimeout)
        guard descriptor >= 0 else { return CURL_SOCKET_BAD }
        hasOpened = true
        multi.opened(descriptor, to: authority)
        return descriptor
    }
}

private func takeBytes(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    return unsafe transfer.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
}

private func openSocket(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context = unsafe context, let address = unsafe address else { return CURL_SOCKET_BAD }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().open(address)
}

private func closeSocket(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
    guard let context = unsafe context else { return 1 }
    unsafe Unmanaged<Multi>.fromOpaque(context).takeUnretainedValue().closed(descriptor)
    return 0
}
