import CEvent
import Glibc

/// Resolves names with the system's blocking resolver on threads that end when no name is waiting; caches nothing.
final class Resolver: Sendable {
    /// For hosts that the operator configures; a relay rarely resolves more than two.
    static let shared = Resolver(threadsMax: 1)
    /// For hosts named by untrusted users, whose name servers may stall.
    static let crowd = Resolver(threadsMax: 128)
    /// The maximum number of names waiting for a thread.
    static let waitingMax = 256

    private struct Question: Sendable {
        let endpoint: Endpoint
        let loop: EventLoop
        let answer: @Sendable (Result<[SocketAddress], LookupFailure>) -> Void
    }

    struct LookupFailure: Error {
        let text: String
    }

    private struct State {
        var waiting: [Question] = []
        var threads = 0
    }

    private let threadsMax: Int
    private let state = Lock(State())
    /// Counts lookups from a random start, so that relays that start together begin with different addresses.
    private let turns = Lock(Int.random(in: 0..<1_000))

    init(threadsMax: Int) { self.threadsMax = threadsMax }

    /// Rotates the addresses of the family that the system prefers, so that successive connections begin with different
    /// ones.
    static func rotated(_ addresses: [SocketAddress], by turns: Int) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        let preferred = addresses.prefix { $0.family == first.family }
        let offset = turns % preferred.count
        return Array(preferred.dropFirst(offset)) + preferred.prefix(offset)
            + addresses.dropFirst(preferred.count)
    }

    /// Resolves `endpoint` and calls `answer` on `loop` with the addresses in the system's order (RFC 6724), rotated
    /// one step further each time (``rotated(_:by:)``).
    func resolve(
        _ endpoint: Endpoint, on loop: EventLoop,
        _ answer: @escaping @Sendable (Result<[SocketAddress], LookupFailure>) -> Void
    ) {
        let (isAccepted, needsThread) = state.withLock { state in
            guard state.waiting.count < Self.waitingMax else { return (false, false) }
            state.waiting.append(Question(endpoint: endpoint, loop: loop, answer: answer))
            guard state.threads < threadsMax else { return (true, false) }
            state.threads += 1
            return (true, true)
        }
        guard isAccepted else {
            return loop.submit { answer(.failure(LookupFailure(text: "too many pending lookups"))) }
        }
        if needsThread { startThread() }
    }

    private func startThread() {
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, nil, runResolverThread, context)
        guard status != 0 else { return _ = pthread_detach(thread) }
        unsafe Unmanaged<Resolver>.fromOpaque(context).release()
        let stranded = state.withLock { state -> [Question] in
            state.threads -= 1
            guard state.threads == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for question in stranded {
            question.loop.submit {
                question.answer(.failure(LookupFailure(text: "can't start a thread for the lookup")))
            }
        }
    }

    fileprivate func runThread() {
        unsafe pthread_setname_np(pthread_self(), "resolver")
        while let question = next() {
            let result = lookUp(question.endpoint)
            question.loop.submit { question.answer(result) }
        }
    }

    private func next() -> Question? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.threads -= 1
                return nil
            }
            return state.waiting.removeFirst()
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
        guard !addresses.isEmpty else { return .failure(LookupFailure(text: "the name has no address")) }
        let turn = turns.withLock { turns in
            turns += 1
            return turns
        }
        return .success(Self.rotated(addresses, by: turn))
    }
}

private func runResolverThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<Resolver>.fromOpaque(context).takeRetainedValue().runThread()
    return nil
}
