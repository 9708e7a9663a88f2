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

    @Test(
        "A fallback answers paths without a route, and a withheld response closes the connection unanswered")
    func fallback() async throws {
        var service = testService()
        service.router.fallback = { request, _ in
            var response = Response(contentType: "text/plain", body: Array(request.target.utf8))
            response.isWithheld = request.path == "/withheld"
            return response
        }
        try await serving(service) { loop, serving in
            let client = try await serving.client(on: loop)
            for (path, body) in [("/x?y", "/x?y"), ("/sync", "sync"), ("/", "/")] {
                client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await client.answer(on: loop).body == body)
            }
            client.send("GET /withheld HTTP/1.1\r\nHost: h\r\n\r\nGET /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(await client.closed(on: loop).isEmpty)
            #expect(serving.ledger.count == 0)
        }
    }

    @Test("Pipelined requests are answered in order by synchronous and asynchronous handlers")
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

    @Test("Answers larger than any buffer wait for the client and arrive complete and in order")
    func largeAnswers() async throws {
        var router = Router()
        router.onSync(.get, "/large") { request in
            let digit = request.query.utf8.first ?? 0
            return Response(contentType: "text/plain", body: [UInt8](repeating: digit, count: 1_000_000))
        }
        let service = Service(router: router)
        try await serving(service) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send((0..<40).map { "GET /large?\($0 % 10) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
            for number in 0..<40 {
                let body = try await client.answer(on: loop).body
                #expect(body.utf8.count == 1_000_000)
                #expect(body.first == Character("\(number % 10)") && body.last == body.first)
                // Pauses after every few responses, so that the server's output buffers fill.
                guard number % 8 == 0 else { continue }
                client.pauseReading()
                await pause(.milliseconds(5), on: loop)
                client.resumeReading()
            }
            client.close()
        }
    }

    @Test("Input received while a handler runs is buffered up to a limit, and none is lost")
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

@Suite(.timeLimit(.minutes(1)))
struct SemanticsTests {
    @Test("HEAD returns the same as GET, without the body")
    func head() async throws {
        try await serving(testService()) { loop, serving in
            let client = try await serving.client(on: loop)
            for path in ["/sync", "/async"] {
                client.send("HEAD \(path) HTTP/1.1\r\nHost: h\r\n\r\nGET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
                let head = try await client.answer(isHead: true, on: loop)
                let get = try await client.answer(on: loop)
                #expect(head.headers["content-length"] == "\(get.body.utf8.count)")
                #expect(get.body.isEmpty == false)
            }
            client.send("HEAD /nowhere HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.answer(isHead: true, on: loop).status == 404)
            client.send("HEAD / HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n")
            #expect(try await client.answer(isHead: true, on: loop).status == 400)
            #expect(await client.closed(on: loop) == "")
        }
    }

    @Test(
        "An unknown path is 404, an unsupported method is 405 with Allow, and both keep the connection open"
    )
    func routing() async throws {
        try await serving(testService()) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send("GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n")
            let missing = try await client.answer(on: loop)
            #expect(missing.status == 404)
            #expect(missing.body == Refusal.notFound.sentence + "\n")
            for method in ["DELETE", "BREW", "OPTIONS", "TRACE"] {
                client.send("\(method) /sync HTTP/1.1\r\nHost: h\r\n\r\n")
                let wrong = try await client.answer(on: loop)
                #expect(wrong.status == 405)
                #expect(wrong.headers["allow"] == "GET, HEAD, POST")
            }
            client.send("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.answer(on: loop).headers["allow"] == "GET, HEAD, POST")
            client.close()
        }
    }

    @Test(
        "A client that expects 100 Continue gets it once and in order, and not if its body has already arrived"
    )
    func expectation() async throws {
        let gate = Gate()
        try await serving(testService(gate: gate)) { loop, serving in
            let client = try await serving.client(on: loop)
            let post = "POST /sync HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
            client.send(post)
            #expect(try await client.answer(on: loop) == Answer(status: 100, headers: [:], body: ""))
            client.send("body")
            #expect(try await client.answer(on: loop).body == "body")
            client.send(post + "here")
            #expect(try await client.answer(on: loop).body == "here")
            // After a request that is still being answered, the 100 waits for its response.
            client.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n" + post)
            await gate.arrived(1)
            gate.open()
            #expect(try await client.answer(on: loop).body == "held")
            #expect(try await client.answer(on: loop).status == 100)
            client.send("late")
            #expect(try await client.answer(on: loop).body == "late")
            // The server doesn't ask for a body that it will refuse.
            client.send(
                "POST /sync HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 99999\r\n\r\n")
            #expect(try await client.answer(on: loop).status == 413)
            #expect(await client.closed(on: loop) == "")
        }
    }

    @Test("Connection: close and HTTP/1.0 close the connection; HTTP/1.0 keep-alive keeps it open")
    func closing() async throws {
        try await serving(testService()) { loop, serving in
            let closing = try await serving.client(on: loop)
            closing.send(
                "GET /async HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /sync HTTP/1.1\r\nHost: h\r\n\r\n"
            )
            let last = try await closing.answer(on: loop)
            #expect(last.headers["connection"] == "close")
            #expect(await closing.closed(on: loop) == "")
            let old = try await serving.client(on: loop)
            old.send("GET /sync HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(try await old.answer(on: loop).headers["connection"] == "keep-alive")
            old.send("GET /sync HTTP/1.0\r\n\r\n")
            #expect(try await old.answer(on: loop).headers["connection"] == "close")
            #expect(await old.closed(on: loop) == "")
        }
    }

    @Test(
        "A refused request gets the service's answer, even while the client is still sending"
    )
    func refusals() async throws {
        var service = testService()
        service.refuse = { refusal, request in
            Response(
                status: 200, headers: Headers([("Allow", "nonsense"), ("X-Path", request?.path ?? "none")]),
                body: Array("\(refusal)".utf8))
        }
        service.prepare = { $0.id = "7" }
        service.finish = { request, response, _ in
            response.headers.append("X-Request-ID", request?.id ?? "new")
        }
        let wording = service
        try await serving(wording) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 999999\r\n\r\n")
            client.send(String(repeating: "x", count: 999_999))
            let large = try await client.answer(on: loop)
            #expect(large.status == 413)
            #expect(large.body == "bodyTooLarge")
            #expect(large.headers["x-path"] == "/a")
            #expect(large.headers["x-request-id"] == "7")
            #expect(large.headers["connection"] == "close")
            #expect(await client.closed(on: loop) == "")
            let malformed = try await serving.client(on: loop)
            malformed.send("nonsense\r\n")
            let answer = try await malformed.answer(on: loop)
            #expect(answer.status == 400)
            #expect(answer.headers["x-path"] == "none")
            #expect(answer.headers["x-request-id"] == "new")
            #expect(await malformed.closed(on: loop) == "")
            let wrong = try await serving.client(on: loop)
            wrong.send("PUT /sync HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await wrong.answer(on: loop).headers["allow"] == "GET, HEAD, POST")
            wrong.close()
        }
    }

    @Test("A client that disconnects cancels its handler, whose answer the service still sees")
    func leaving() async throws {
        let gate = Gate()
        let (bodies, body) = AsyncStream.makeStream(of: String.self)
        var service = testService(gate: gate)
        service.finish = { _, response, _ in body.yield(String(decoding: response.body, as: UTF8.self)) }
        let watched = service
        try await serving(watched) { loop, serving in
            let client = try await serving.client(on: loop)
            client.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
            await gate.arrived(1)
            client.close()
        }
        body.finish()
        #expect(await bodies.reduce(into: []) { $0.append($1) } == ["cancelled"])
    }

    @Test("A half-closed client is still answered, and its handlers are cancelled")
    func halfClose() async throws {
        try await serving(testService()) { _, serving in
            let requests = ["/sync", "/held", "/async"].map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }
            let answers = try await exchange(requests.joined(), with: serving.server.address)
            let bodies = answers.split(separator: "\r\n\r\n").map { $0.prefix { $0 != "H" } }
            #expect(bodies == ["", "sync", "cancelled", "async"])
        }
    }
}
