import HTTPServer
import Network
import Testing

/// Limits on what one client can take from others.
@Suite(.timeLimit(.minutes(1)))
struct FairnessTests {
    /// Counts handled requests, in total and per turn of a loop.
    private final class Counter: Sendable {
        private struct State {
            var all = 0
            var inTurn = 0
            var inTurnMax = 0
        }

        /// The loop that handlers run on; turns are not counted without it.
        let loop = Lock<EventLoop?>(nil)
        private let state = Lock(State())

        var value: Int { state.withLock(\.all) }
        var inTurnMax: Int { state.withLock(\.inTurnMax) }

        func add() {
            let isFirst = state.withLock { state in
                state.all += 1
                state.inTurn += 1
                state.inTurnMax = max(state.inTurnMax, state.inTurn)
                return state.inTurn == 1
            }
            guard isFirst else { return }
            loop.withLock { $0 }?.atTurnEnd { [self] in state.withLock { $0.inTurn = 0 } }
        }
    }

    private static let request = "GET /count HTTP/1.1\r\nHost: h\r\n\r\n"

    private func counting(_ counter: Counter) -> Service {
        var service = testService()
        service.router.onSync(.get, "/count") { _ in
            counter.add()
            return Response(contentType: "text/plain", body: [])
        }
        return service
    }

    @Test("A pipelining client gets a few requests answered per turn of the loop")
    func pipelining() async throws {
        let counter = Counter()
        try await serving(counting(counter)) { loop, serving in
            counter.loop.withLock { $0 = loop }
            let greedy = try await serving.client(on: loop)
            let modest = try await serving.client(on: loop)
            // The kernel may take a while to deliver the modest client's request, so the greedy one sends many.
            let count = 50_000
            greedy.send(String(repeating: Self.request, count: count))
            _ = try await greedy.answer(on: loop)
            modest.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await modest.answer(on: loop)
            #expect(counter.value < count / 2, "\(counter.value) requests were answered first")
            // Four at the read event, and four more after the other connections' events.
            #expect(counter.inTurnMax <= 8, "\(counter.inTurnMax) requests in one turn")
            greedy.close()
            modest.close()
        }
    }

    @Test("No further request is handled while a client doesn't read its answers")
    func unreadAnswers() async throws {
        let counter = Counter()
        let body = [UInt8](repeating: 120, count: 60_000)
        var router = Router()
        router.onSync(.get, "/count") { _ in
            counter.add()
            return Response(contentType: "text/plain", body: body)
        }
        let service = Service(router: router)
        try await serving(service) { loop, serving in
            let client = try await serving.client(on: loop)
            client.pauseReading()
            client.send(String(repeating: Self.request, count: 5_000))
            var handled = -1
            while counter.value > handled {
                handled = counter.value
                await pause(.milliseconds(50), on: loop)
            }
            // The kernel buffers a few responses. The server holds one, and the pipelined input.
            #expect(handled * body.count < 1_500_000, "\(handled) answers were made")
            let held = body.count + 2 * Limits().readAheadBytesMax
            #expect((body.count / 2...held).contains(serving.ledger.memoryBytes))
            client.close()
        }
    }

    @Test("When the server is full, a new connection replaces the one that has been idle the longest")
    func longestIdleGoesFirst() async throws {
        try await serving(testService(), { $0.limits.connectionsMax = 3 }) { loop, serving in
            let clients = [
                try await serving.client(on: loop), try await serving.client(on: loop),
                try await serving.client(on: loop),
            ]
            for client in clients {
                client.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
                _ = try await client.answer(on: loop)
            }
            // The oldest connection is no longer the one that has been idle longest.
            clients[0].send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await clients[0].answer(on: loop)
            let newcomer = try await serving.client(on: loop)
            newcomer.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await newcomer.answer(on: loop).status == 200)
            #expect(await clients[1].closed(on: loop) == "")
            for client in [clients[0], clients[2]] {
                client.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await client.answer(on: loop).status == 200)
                client.close()
            }
            newcomer.close()
            await eventually(on: loop) { serving.ledger.count == 0 }
        }
    }

    @Test("An address that may have all connections can't keep itself out with unfinished requests")
    func unfinishedRequests() async throws {
        try await serving(
            testService(),
            {
                $0.limits.connectionsMax = 3
                $0.limits.connectionsPerAddressMax = 3
            }
        ) { loop, serving in
            for round in 0..<5 {
                for _ in 0..<4 {
                    let half = try await serving.client(on: loop)
                    half.send("GET /sync HTTP/1.1\r\nHost:")
                }
                let scraper = try await serving.client(on: loop)
                scraper.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await scraper.answer(on: loop).status == 200, "round \(round)")
            }
            #expect(serving.ledger.refusedCount == 0)
        }
    }

    @Test("A client that only trickles bytes counts as idle")
    func drippingIsIdle() async throws {
        try await serving(testService(), { $0.limits.connectionsMax = 2 }) { loop, serving in
            let slow = try await serving.client(on: loop)
            slow.send("POST /sync HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\n")
            let idle = try await serving.client(on: loop)
            let dripping = slow.drip("x", every: .milliseconds(1), on: loop)
            await pause(.milliseconds(20), on: loop)
            let newcomer = try await serving.client(on: loop)
            newcomer.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await newcomer.answer(on: loop).status == 200)
            _ = await slow.closed(on: loop)
            dripping.cancel()
            idle.send("GET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await idle.answer(on: loop).status == 200)
            idle.close()
            newcomer.close()
        }
    }

    @Test("A connection whose request is being handled is never evicted")
    func handledStays() async throws {
        let gate = Gate()
        try await serving(testService(gate: gate), { $0.limits.connectionsMax = 1 }) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
            await gate.arrived(1)
            let newcomer = try await serving.client(on: loop)
            #expect(try await newcomer.answer(on: loop).status == 503)
            gate.open()
            #expect(try await client.answer(on: loop).body == "held")
            client.close()
        }
    }
}
