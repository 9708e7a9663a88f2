import HTTPServer
import Network
import Testing

/// A test's server, and the loop that server and client share.
struct Serving {
    let server: HTTPServer
    let ledger: ConnectionLedger

    func client(on loop: isolated EventLoop) async throws -> Client {
        try await Client.connect(to: server.address, on: loop)
    }
}

/// Serves `service` on a new loop while `body` runs on the same loop.
func serving(
    _ service: Service, _ change: (inout HTTPServer.Options) -> Void = { _ in },
    _ body: @Sendable (isolated EventLoop, Serving) async throws -> Void
) async throws {
    var options = HTTPServer.Options(address: try #require(SocketAddress(ip: "127.0.0.1", port: 0)))
    change(&options)
    let loop = EventLoop(label: "test")
    let ledger = ConnectionLedger(limits: options.limits)
    let server = try await HTTPServer.start(service, options, ledger: ledger, on: loop)
    let result: Result<Void, any Error>
    do {
        try await loop.run { loop in try await body(loop, Serving(server: server, ledger: ledger)) }
        result = .success(())
    } catch {
        result = .failure(error)
    }
    await server.stop(within: .milliseconds(100))
    await loop.stop()
    try result.get()
}

/// Holds handlers until the test releases them, and reports their arrival.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrived = 0
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Lock(State())

    /// Called by a handler: waits for `open` or cancellation, and returns whether it was cancelled.
    func pass() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    state.arrived += 1
                    let arrived = state.arrived
                    let ready = state.watchers.filter { $0.count <= arrived }.map(\.continuation)
                    state.watchers.removeAll { $0.count <= arrived }
                    guard !state.isOpen, !Task.isCancelled else { return ready + [continuation] }
                    state.held.append(continuation)
                    return ready
                }
                for each in ready { each.resume() }
            }
        } onCancel: {
            open()
        }
        return Task.isCancelled
    }

    /// Waits until `count` handlers have arrived.
    func arrived(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.arrived >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Releases all handlers, including later ones.
    func open() {
        let held = state.withLock { state in
            state.isOpen = true
            let held = state.held
            state.held = []
            return held
        }
        for each in held { each.resume() }
    }
}

/// Routes that most tests use: `/sync`, `/async` and `/held`, each answering with method and body.
func testService(gate: Gate = Gate()) -> Service {
    var router = Router()
    router.onSync(.get, "/sync") { _ in Response(contentType: "text/plain", body: Array("sync".utf8)) }
    router.onSync(.post, "/sync") { Response(contentType: "text/plain", body: $0.body) }
    router.on(.get, "/async") { _, _ in
        await Task.yield()
        return Response(contentType: "text/plain", body: Array("async".utf8))
    }
    router.on(.post, "/async") { request, _ in
        await Task.yield()
        return Response(contentType: "text/plain", body: request.body)
    }
    router.on(.get, "/held") { _, _ in
        let isCancelled = await gate.pass()
        return Response(contentType: "text/plain", body: Array((isCancelled ? "cancelled" : "held").utf8))
    }
    return Service(router: router)
}

/// Checks `condition` in each turn of the loop, a millisecond apart, until it holds or the suite's time limit ends.
func eventually(on loop: isolated EventLoop, _ condition: () -> Bool) async {
    while !condition() { await pause(.milliseconds(1), on: loop) }
}

/// Waits for a while, in tests of slow clients.
func pause(_ duration: Duration, on loop: isolated EventLoop) async {
    var timer: Timer?
    await withCheckedContinuation { continuation in
        timer = Timer(on: loop) { continuation.resume() }
        timer?.schedule(after: duration)
    }
    timer = nil
}

/// Sends `text` from a separate process, which closes its sending side and returns all output until the server closes.
func exchange(_ text: String, with address: SocketAddress) async throws -> String {
    let program = """
        const socket = require("net").connect(\(address.port), "127.0.0.1");
        socket.end(Buffer.from("\(hexadecimal(text.utf8))", "hex"));
        socket.pipe(process.stdout);
        socket.on("error", (error) => { console.error(error); process.exit(1); });
        """
    return String(decoding: try await runNode(["-e", program]), as: UTF8.self)
}
