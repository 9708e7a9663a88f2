internal import CCurl
internal import Glibc

/// Sends the few requests of the program that don't go to APNs: one at a time, on a thread that ends with it.
package enum WebClient {
    /// Sends a request and waits for the whole answer; no redirect is followed.
    package static func send(_ request: WebRequest) async throws(WebFailure) -> WebAnswer {
        let result = await withCheckedContinuation { continuation in
            let job = unsafe Unmanaged.passRetained(Job(request, continuation)).toOpaque()
            var thread = pthread_t()
            guard unsafe pthread_create(&thread, nil, runJob, job) == 0 else {
                unsafe Unmanaged<Job>.fromOpaque(job).release()
                let failure = WebFailure(kind: .connect, description: "no thread for a request")
                return continuation.resume(returning: Job.Outcome.failure(failure))
            }
            pthread_detach(thread)
        }
        return try result.get()
    }
}

/// One request on its thread.
private final class Job: Sendable {
    typealias Outcome = Result<WebAnswer, WebFailure>

    private let request: WebRequest
    private let continuation: CheckedContinuation<Outcome, Never>

    init(_ request: WebRequest, _ continuation: CheckedContinuation<Outcome, Never>) {
        self.request = request
        self.continuation = continuation
    }

    func run() {
        do throws(WebFailure) {
            continuation.resume(returning: .success(try EasyHandle().send(request)))
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

/// The one owner of a handle of libcurl's.
@safe
private final class EasyHandle {
    private let handle: UnsafeMutableRawPointer
    private let message: UnsafeMutablePointer<CChar>

    init() throws(WebFailure) {
        _ = Self.prepareLibrary
        guard let handle = unsafe curl_easy_init() else {
            throw WebFailure(kind: .connect, description: "no memory for a request")
        }
        unsafe self.handle = handle
        unsafe message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
        unsafe message.deallocate()
    }

    // Once, before any handle is made.
    private static let prepareLibrary: Void = {
        _ = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    }()

    func send(_ request: WebRequest) throws(WebFailure) -> WebAnswer {
        let body = AnswerBody(bytesMax: request.answerBytesMax)
        var headers = unsafe curl_slist_append(nil, "Accept: application/json")
        unsafe headers = curl_slist_append(headers, "Content-Type: application/json")
        if let token = request.bearerToken {
            unsafe headers = curl_slist_append(headers, "Authorization: Bearer \(token)")
        }
        // An answer to Expect would cost a round trip.
        unsafe headers = curl_slist_append(headers, "Expect:")
        defer { unsafe curl_slist_free_all(headers) }
        unsafe configure(request, headers, body)
        let code = unsafe curl_easy_perform(handle)
        guard code == CURLE_OK else { throw failure(code, body) }
        var status = 0
        unsafe relay_curl_get_status(handle, &status)
        return WebAnswer(status: status, body: body.bytes)
    }

    private func configure(
        _ request: WebRequest, _ headers: UnsafeMutablePointer<curl_slist>?, _ body: AnswerBody
    ) {
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_USERAGENT, "apn-relay")
        // Threads and signals don't go together.
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_TIMEOUT_MS, Int(request.timeout / .milliseconds(1)))
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(request.connectTimeout / .milliseconds(1)))
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
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

    private func failure(_ code: CURLcode, _ body: AnswerBody) -> WebFailure {
        let words = unsafe String(cString: message)
        let text = unsafe words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
        if body.isTooLong {
            return WebFailure(kind: .answer, description: "the answer is longer than \(body.bytesMax) bytes")
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

/// Where an answer's body is gathered.
private final class AnswerBody {
    let bytesMax: Int
    private(set) var bytes: [UInt8] = []
    private(set) var isTooLong = false

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    func append(_ new: UnsafeRawBufferPointer) -> Int {
        guard bytes.count + new.count <= bytesMax else {
            isTooLong = true
            return 0
        }
        unsafe bytes.append(contentsOf: new)
        return new.count
    }
}

private func takeBytes(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let body = unsafe Unmanaged<AnswerBody>.fromOpaque(context).takeUnretainedValue()
    return unsafe body.append(UnsafeRawBufferPointer(start: bytes, count: size * count))
}
