import HTTPServer
import Network
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ConnectionTests {
    @Test("A connection carries one request after the other", arguments: ["/sync", "/async"])
    func keepAlive(path: String) async throws {
        try await serving(testService()) { loop, serving in
            let client = try await serving.client(on: loop)
            for round in 0..<3 {
                client.send("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n\(round)")
                let answer = try await client.answer(on: loop)
                #expect(answer.status == 200)
                #expect(answer.body == "\(round)")
                #expect(answer.headers["connection"] == nil)
                #expect(answer.headers["content-type"] == "text/plain")
                #expect(answer.headers["date"]?.hasSuffix(" GMT") == true)
                #expect(answer.headers["server"] == nil)
            }
            #expect(serving.ledger.count == 1)
            client.close()
        }
    }

    @Test("Pipelined requests are answered in order, whoever answers them")
    func pipelining() async throws {
        try await serving(testService()) { loop, serving in
            let client = try await serving.client(on: loop)
            var text = ""
            for number in 0..<40 {
                let path = number % 3 == 0 ? "/async" : "/sync"
                text += "POST \(path) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                text += "2\r\n\(10 + number)\r\n0\r\n\r\n"
            }
            client.send(text)
            for number in 0..<40 {
                #expect(try await client.answer(on: loop).body == "\(10 + number)")
            }
            client.close()
        }
    }

    @Test("What comes while a handler runs is kept up to a bound, and none of it is lost")
    func readAhead() async throws {
        let gate = Gate()
        try await serving(testService(gate: gate), { $0.limits.readAheadBytesMax = 1000 }) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
            await gate.arrived(1)
            let count = 2_000
            client.send(String(repeating: "GET /sync HTTP/1.1\r\nHost: h\r\n\r\n", count: count))
            gate.open()
            #expect(try await client.answer(on: loop).body == "held")
            for _ in 0..<count {
                guard try await client.answer(on: loop).body == "sync" else {
                    Issue.record("an answer is out of order")
                    break
                }
            }
            client.close()
        }
    }
}
