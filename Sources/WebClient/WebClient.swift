internal import CCurl
internal import Glibc
internal import Synchronization

/// Sends single HTTP requests to servers other than APNs, each on its own short-lived thread.
///
/// ```swift
/// var request = WebRequest(url: url, timeout: .seconds(5))
/// request.body = Array(#"{"ok":true}"#.utf8)
/// request.answerBytesMax = 4_096
/// let answer = try await WebClient.send(request)
/// let isJSON = answer.status == 200 && answer.isOfType("application/json")
/// ```
package enum WebClient {
    /// Sends a request and waits for the complete response; redirects are not followed.
    package static func send(_ request: WebRequest) async throws(WebFailure) -> WebAnswer {
        try await perform(request, nil)
    }

    /// Sends a request and passes the response's body to `reader` as it arrives, until it ends.
    ///
    /// Ends within about a second when the task is cancelled.
    package static func stream(_ request: WebRequest, to reader: some WebStreamReader)
        async throws(WebFailure) -> WebAnswer
    {
        try await perform(request, reader)
    }

    private static func perform(_ request: WebRequest, _ reader: (any WebStreamReader)?)
        async throws(WebFailure) -> WebAnswer
    {
        let cancellation = Cancellation()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let job = unsafe Unmanaged.passRetained(Job(request, reader, cancellation, continuation))
                    .toOpaque()
                var thread = pthread_t()
                guard unsafe pthread_create(&thread, nil, runJob, job) == 0 else {
                    unsafe Unmanaged<Job>.fromOpaque(job).release()
                    let failure = WebFailure(
                        kind: .connect, description: "cannot create a thread for the request")
                    return continuation.resume(returning: Job.Outcome.failure(failure))
                }
                pthread_detach(thread)
            }
        } onCancel: {
            cancellation.isCancelled.store(true, ordering: .relaxed)
        }
        return try result.get()
    }
}

/// Tells a request's thread that its task was cancelled.
private final class Cancellation: Sendable {
    let isCancelled = Atomic(false)
}

/// One request and its thread.
private final class Job: Sendable {
    typealias Outcome = Result<WebAnswer, WebFailure>

    private let request: WebRequest
    private let reader: (any WebStreamReader)?
    private let cancellation: Cancellation
    private let continuation: CheckedContinuation<Outcome, Never>

    init(
        _ request: WebRequest, _ reader: (any WebStreamReader)?, _ cancellation: Cancellation,
        _ continuation: CheckedContinuation<Outcome, Never>
    ) {
        self.request = request
        self.reader = reader
        self.cancellation = cancellation
        self.continuation = continuation
    }

    func run() {
        do throws(WebFailure) {
            let handle = try EasyHandle(silenceLimit: request.silenceLimit, cancellation)
            continuation.resume(returning: .success(try handle.send(request, reader)))
        } catch {
            continuation.resume(returning: .failure(error))
        }
    }
}

private func runJob(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<Job>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

/// Owns a libcurl handle.
@safe
private final class EasyHandle {
    private let handle: UnsafeMutableRawPointer
    private let message: UnsafeMutablePointer<CChar>

    private let silenceLimit: Duration?
    private let cancellation: Cancellation

    init(silenceLimit: Duration?, _ cancellation: Cancellation) throws(WebFailure) {
        self.silenceLimit = silenceLimit
        self.cancellation = cancellation
        _ = Self.prepareLibrary
        guard let handle = unsafe curl_easy_init() else {
            throw WebFailure(kind: .connect, description: "out of memory")
        }
        unsafe self.handle = handle
        unsafe message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
        unsafe message.deallocate()
    }

    // Runs once, before the first handle is created.
    private static let prepareLibrary: Void = {
        _ = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    }()

    func send(_ request: WebRequest, _ reader: (any WebStreamReader)?) throws(WebFailure) -> WebAnswer {
        let body = AnswerBody(bytesMax: request.answerBytesMax, reader) { [unowned self] in head([]) }
        var headers = unsafe curl_slist_append(nil, "Accept: \(request.accept)")
        unsafe headers = curl_slist_append(headers, "Content-Type: application/json")
        if let token = request.bearerToken {
            unsafe headers = curl_slist_append(headers, "Authorization: Bearer \(token)")
        }
        for header in request.headers { unsafe headers = curl_slist_append(headers, header) }
        // Waiting for 100 Continue would cost a round trip.
        unsafe headers = curl_slist_append(headers, "Expect:")
        defer { unsafe curl_slist_free_all(headers) }
        unsafe configure(request, headers, body)
        let watch = ProgressWatch(silenceLimit, cancellation)
        unsafe relay_curl_set_pointer(
            handle, CURLOPT_XFERINFODATA, Unmanaged.passUnretained(watch).toOpaque())
        unsafe relay_curl_set_progress(handle, watchProgress)
        set(CURLOPT_NOPROGRESS, 0)
        let code = withExtendedLifetime(watch) { unsafe curl_easy_perform(handle) }
        guard code == CURLE_OK else { throw failure(code, body, watch) }
        return head(body.bytes)
    }

    /// The response's status and headers, with the given body.
    private func head(_ body: [UInt8]) -> WebAnswer {
        var status = 0
        unsafe relay_curl_get_status(handle, &status)
        var answer = WebAnswer(status: status, body: body)
        if let type = unsafe relay_curl_get_content_type(handle) {
            answer.contentType = unsafe String(cString: type)
        }
        answer.retryAfter = .seconds(unsafe relay_curl_get_retry_after(handle))
        return answer
    }

    private func configure(
        _ request: WebRequest, _ headers: UnsafeMutablePointer<curl_slist>?, _ body: AnswerBody
    ) {
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_USERAGENT, "apn-relay")
        // libcurl's signals are not thread-safe.
        set(CURLOPT_NOSIGNAL, 1)
        // A request that has ended doesn't wait for the thread that resolves its host name.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_TIMEOUT_MS, request.timeout)
        set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        if request.bearerToken == nil, let credentials = request.credentials {
            set(CURLOPT_USERNAME, credentials.user)
            set(CURLOPT_PASSWORD, credentials.password)
        }
        if let path = request.unixPath { set(CURLOPT_UNIX_SOCKET_PATH, path) }
        if request.isLocal { set(CURLOPT_NOPROXY, "*") }
        unsafe relay_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, message)
        unsafe relay_curl_set_list(handle, CURLOPT_HTTPHEADER, headers)
        unsafe relay_curl_set_pointer(handle, CURLOPT_WRITEDATA, Unmanaged.passUnretained(body).toOpaque())
        unsafe relay_curl_set_writer(handle, takeBytes)
        if let bytes = request.body {
            unsafe relay_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, bytes.count)
            unsafe bytes.withUnsafeBytes { buffer in
                let start = unsafe UnsafeMutableRawPointer(mutating: buffer.baseAddress)
                unsafe _ = relay_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, start)
            }
        }
        if let method = request.method { set(CURLOPT_CUSTOMREQUEST, method) }
        switch request.trust {
        case .system: break
        case .file(let path): set(CURLOPT_CAINFO, path)
        case .anyone:
            set(CURLOPT_SSL_VERIFYPEER, 0)
            set(CURLOPT_SSL_VERIFYHOST, 0)
        }
    }

    private func set(_ option: CURLoption, _ value: String) {
        unsafe relay_curl_set_text(handle, option, value)
    }

    private func set(_ option: CURLoption, _ value: Int) {
        unsafe relay_curl_set_number(handle, option, value)
    }

    /// Sets a time limit in milliseconds; zero means none.
    private func set(_ option: CURLoption, _ limit: Duration) {
        set(option, limit > .zero ? max(1, Int(limit / .milliseconds(1))) : 0)
    }

    private func failure(_ code: CURLcode, _ body: AnswerBody, _ watch: ProgressWatch) -> WebFailure {
        let words = unsafe String(cString: message)
        let text = unsafe words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
        if watch.isSilent { return WebFailure(kind: .timeout, description: "nothing was received") }
        if cancellation.isCancelled.load(ordering: .relaxed) || body.isEnded {
            return WebFailure(kind: .answer, description: "the request was cancelled")
        }
        if body.isTooLong {
            return WebFailure(
                kind: .answer, description: "the response is longer than \(body.bytesMax) bytes")
        }
        let kind: WebFailure.Kind =
            switch code {
            case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .url
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .name
            case CURLE_COULDNT_CONNECT: .connect
            case CURLE_OPERATION_TIMEDOUT: .timeout
            case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE: .tls
            default: .answer
            }
        return WebFailure(kind: kind, description: text)
    }
}

/// Collects the body of a response, or passes it on to a reader.
private final class AnswerBody {
    let bytesMax: Int
    private(set) var bytes: [UInt8] = []
    private(set) var isTooLong = false
    /// Whether the reader ended the stream.
    private(set) var isEnded = false
    private(set) var hasBegun = false
    private let reader: (any WebStreamReader)?
    private let head: () -> WebAnswer

    init(bytesMax: Int, _ reader: (any WebStreamReader)?, head: @escaping () -> WebAnswer) {
        self.bytesMax = bytesMax
        self.reader = reader
        self.head = head
    }

    func append(_ new: UnsafeRawBufferPointer) -> Int {
        if let reader {
            let isFirst = !hasBegun
            hasBegun = true
            guard !isFirst || reader.begin(head()), unsafe reader.receive(new) else {
                isEnded = true
                return 0
            }
            return new.count
        }
        guard bytes.count + new.count <= bytesMax else {
            isTooLong = true
            return 0
        }
        unsafe bytes.append(contentsOf: new)
        return new.count
    }
}

/// Ends a request that receives nothing for too long or whose task was cancelled.
private final class ProgressWatch {
    private(set) var isSilent = false
    private let silenceLimit: Duration?
    private let cancellation: Cancellation
    private var received: Int = -1
    private var receivedAt = ContinuousClock.now

    init(_ silenceLimit: Duration?, _ cancellation: Cancellation) {
        self.silenceLimit = silenceLimit
        self.cancellation = cancellation
    }

    /// Called by libcurl at least once a second; returning false ends the request.
    func goesOn(received count: Int) -> Bool {
        if cancellation.isCancelled.load(ordering: .relaxed) { return false }
        guard let silenceLimit else { return true }
        let now = ContinuousClock.now
        if count != received {
            received = count
            receivedAt = now
        }
        isSilent = now - receivedAt >= silenceLimit
        return !isSilent
    }
}

private func watchProgress(
    _ context: UnsafeMutableRawPointer?, _ expected: curl_off_t, _ received: curl_off_t,
    _ toSend: curl_off_t, _ sent: curl_off_t
) -> Int32 {
    guard let context = unsafe context else { return 1 }
    let watch = unsafe Unmanaged<ProgressWatch>.fromOpaque(context).takeUnretainedValue()
    return watch.goesOn(received: Int(received)) ? 0 : 1
}

private func takeBytes(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let body = unsafe Unmanaged<AnswerBody>.fromOpaque(context).takeUnretainedValue()
    return unsafe body.append(UnsafeRawBufferPointer(start: bytes, count: size * count))
}
