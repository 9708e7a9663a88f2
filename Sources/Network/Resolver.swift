import CEvent
import Glibc

/// Resolves names with the system's blocking resolver on one dedicated thread; caches nothing.
final class Resolver: Sendable {
    static let shared = Resolver()
    /// The maximum number of names waiting for the thread.
    ///
    /// A relay rarely resolves more than two names.
    static let waitingMax = 256

    private struct Question: Sendable {
        let endpoint: Endpoint
        let loop: EventLoop
        let answer: @Sendable (Result<[SocketAddress], LookupFailure>) -> Void
    }

    struct LookupFailure: Error {
        let text: String
    }

    private let waiting = Lock<[Question]>([])
    private let pending = ThreadSemaphore()

    private init() {
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, nil, runResolverThread, context)
        precondition(status == 0, "pthread_create: \(status)")
        pthread_detach(thread)
    }

    /// Resolves `endpoint` and calls `answer` on `loop`, with the addresses in the system's order (RFC 6724).
    func resolve(
        _ endpoint: Endpoint, on loop: EventLoop,
        _ answer: @escaping @Sendable (Result<[SocketAddress], LookupFailure>) -> Void
    ) {
        let accepted = waiting.withLock { waiting in
            guard waiting.count < Self.waitingMax else { return false }
            waiting.append(Question(endpoint: endpoint, loop: loop, answer: answer))
            return true
        }
        if accepted {
            pending.signal()
        } else {
            loop.submit { answer(.failure(LookupFailure(text: "too many pending lookups"))) }
        }
    }

    fileprivate func runThread() {
        unsafe pthread_setname_np(pthread_self(), "resolver")
        while true {
            pending.wait()
            guard let question = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { continue }
            let result = lookUp(question.endpoint)
            question.loop.submit { question.answer(result) }
        }
    }

    private func lookUp(_ endpoint: Endpoint) -> Result<[SocketAddress], LookupFailure> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(endpoint.host, nil, &hints, &list)
        guard status == 0 else {
            return .failure(LookupFailure(text: unsafe String(cString: gai_strerror(status))))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let raw = unsafe entry.pointee.ai_addr, let address = unsafe SocketAddress(raw) {
                addresses.append(address.with(port: endpoint.port))
            }
            unsafe next = entry.pointee.ai_next
        }
        return addresses.isEmpty
            ? .failure(LookupFailure(text: "the name has no address")) : .success(addresses)
    }
}

private func runResolverThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<Resolver>.fromOpaque(context).takeRetainedValue().runThread()
    return nil
}
