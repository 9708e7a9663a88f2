import APNs
import HTTPServer
import Instruments
import JSON
import Network
import Programs
import Storage
import Testing
import WebClient

@testable import Relay

@Suite("Tracing", .timeLimit(.minutes(2)))
struct TracerTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let other = "other secret that nobody has"

    private static func options(ratio: Double = 0) throws -> Tracer.Options {
        Tracer.Options(url: try WebAddress("http://127.0.0.1:9/v1/traces"), ratio: ratio)
    }

    private static func fixture(ratio: Double = 0) throws -> RelayFixture.Options {
        var options = RelayFixture.Options()
        options.traces = try self.options(ratio: ratio)
        return options
    }

    /// Posts an event with a `traceparent`.
    private static func event(
        _ relay: RelayFixture, flags: String? = "01", secret: String = RelayFixture.secret
    ) async -> Int {
        let body: JSON.Value = [
            "secret": .string(secret), "eventType": "complete", "sessionID": "s", "title": "A title",
        ]
        let headers = flags.map {
            [(name: "traceparent", value: "00-\(trace)-00f067aa0ba902b7-\($0)")]
        }
        let request = Request(
            method: .post, target: "/v1/event", headers: headers ?? [], body: body.encoded())
        return await relay.answer(request).status.rawValue
    }

    private static func spans(_ relay: RelayFixture) async -> [Span] {
        let tracer = await relay.onLoop { $0.services.shared.tracer }
        return tracer?.takeBatch() ?? []
    }

    @Test("A sender's trace is continued: its parent, the admission, the look-up and each push")
    func tree() async throws {
        try await RelayFixture.with(Self.fixture()) { relay in
            let token = String(repeating: "a0", count: 32)
            relay.storage.add(token, under: RelayFixture.key)
            relay.storage.add("bb00", under: RelayFixture.key)
            #expect(await Self.event(relay) == 200)
            let spans = await Self.spans(relay)
            #expect(spans.map(\.name).sorted() == ["POST /v1/event", "admission", "push", "push"])
            let root = try #require(spans.first { $0.kind == .server })
            #expect(root.parent?.text == "00f067aa0ba902b7")
            #expect(spans.allSatisfy { $0.trace.text == Self.trace && $0.began <= $0.ended })
            #expect(spans.allSatisfy { $0.id == root.id || $0.parent == root.id })
            #expect(spans.allSatisfy { $0.began >= root.began && $0.ended <= root.ended })
            let text = String(decoding: SpanExport.body(spans), as: UTF8.self)
            for word in [RelayFixture.secret, "A title", token] { #expect(!text.contains(word), "\(word)") }
            #expect(
                text.contains(#""relay.tenant","value":{"stringValue":"\#(RelayFixture.key.primary.prefix)""#)
            )
        }
    }

    @Test("A stranger's flag, a missing flag and a share of zero trace nothing; a share of one traces all")
    func sampling() async throws {
        try await RelayFixture.with(Self.fixture()) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            _ = await Self.event(relay, secret: Self.other)
            _ = await Self.event(relay, flags: "00")
            _ = await Self.event(relay, flags: nil)
            _ = await Self.event(relay, secret: "")
            #expect(await Self.spans(relay).isEmpty)
        }
        try await RelayFixture.with(Self.fixture(ratio: 1)) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            _ = await Self.event(relay, secret: Self.other)
            #expect(await Self.spans(relay).isEmpty)
            _ = await Self.event(relay, flags: "00")
            _ = await Self.event(relay, flags: nil)
            let roots = await Self.spans(relay).filter { $0.kind == .server }
            #expect(roots.map { $0.trace.text == Self.trace } == [true, false])
            #expect(roots.map { $0.parent == nil } == [false, true])
        }
    }

    @Test("Strangers take no room from the tenants' traces, with and without a traceparent")
    func strangers() async throws {
        try await RelayFixture.with(Self.fixture(ratio: 1)) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            let tracer = try #require(await relay.onLoop { $0.services.shared.tracer })
            for number in 0..<Bounds.tracesPerSecondMax {
                _ = await Self.event(relay, flags: nil, secret: "\(Self.other) \(number)")
                _ = await relay.answer(Request(method: .post, target: "/v1/event", body: Array("{".utf8)))
                tracer.recorder(for: nil)?.finish("POST /v1/event", .server, [], isFailed: false)
            }
            #expect(await Self.spans(relay).isEmpty)
            var left = 0
            while tracer.takesOne() { left += 1 }
            #expect(left >= Bounds.tracesPerSecondMax)
        }
    }

    @Test("A known secret is traced whatever its request asks for, also what isn't there")
    func known() async throws {
        try await RelayFixture.with(Self.fixture(ratio: 1)) { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            for (path, body) in [
                ("/v1/reply/wait", #""eventID":"nobody-sent-it","timeout":0"#), ("/v1/device/list", ""),
            ] {
                let members = #"{"secret":"\#(RelayFixture.secret)"\#(body.isEmpty ? "" : "," + body)}"#
                _ = await relay.answer(Request(method: .post, target: path, body: Array(members.utf8)))
                #expect(await Self.spans(relay).contains { $0.name == "POST " + path }, "\(path)")
            }
        }
    }

    @Test("An asynchronous event is in its request's trace or in none")
    func asynchronous() async throws {
        let lines = LogLines()
        let tracer = Tracer(try Self.options(ratio: 1), log: lines.log)
        let origin = try #require(TraceContext("00-\(Self.trace)-00f067aa0ba902b7-01".utf8))
        #expect(tracer.recorder(from: origin, continues: true)?.place.trace == origin.trace)
        #expect(tracer.recorder(from: nil, continues: true) == nil)
        #expect(tracer.recorder(from: origin, continues: false)?.place.trace != origin.trace)
        await lines.log.close()
    }

    @Test("An attempt at a queued push begins the push's trace, because its storing may not be exported")
    func queued() async throws {
        let lines = LogLines()
        let tracer = Tracer(try Self.options(ratio: 1), log: lines.log)
        let id = "019f0000-0000-7000-80ff-000000000001"
        tracer.recorder(ofPush: id)?.finish("retry", .consumer, [], isFailed: false)
        let span = try #require(tracer.takeBatch()?.first)
        #expect(span.parent == nil && span.trace == tracer.place(ofPush: id)?.trace)
        await lines.log.close()
    }

    @Test("Spans that can't be exported at the end are counted and logged, all in one line")
    func end() async throws {
        let lines = LogLines()
        // Nothing listens on port 9.
        let tracer = Tracer(try Self.options(ratio: 1), log: lines.log)
        let count = 2 * Bounds.spansPerExportMax + 1
        let span = Span(
            trace: try #require(TraceContext.TraceID(1, 2)), id: try #require(TraceContext.SpanID(3)),
            parent: nil, name: "step", kind: .inside, began: 1, ended: 2)
        tracer.add(Array(repeating: span, count: count))
        tracer.finish()
        await tracer.run()
        tracer.add([span])
        #expect(tracer.figures == Tracer.Figures(exported: 0, dropped: UInt64(count + 1)))
        let dropped = try await lines.closed().filter { $0["event"]?.string == "traces.dropped" }
        #expect(dropped.map { $0["spans"]?.int } == [count])
    }

    @Test("Exports go to no proxy, and to the collector within the time that is left")
    func request() throws {
        var options = try Self.options()
        options.url = try WebAddress("http://collector.example:4318/v1/traces")
        let request = SpanExport.request([], options, within: .seconds(1))
        #expect(request.isLocal && request.timeout == .seconds(1) && request.connectTimeout == .seconds(1))
    }

    @Test("Less than a millisecond is a time limit, too", .timeLimit(.minutes(1)))
    func shortLimit() async throws {
        let loop = EventLoop(label: "silent")
        let listener = try await loop.run { loop throws(NetworkError) in
            guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { throw .badAddress("") }
            return LoopBound(try Listener(address, on: loop) { _ in Silent() }, on: loop)
        }
        let address = await loop.run { _ in listener.value.localAddress }
        var options = try Self.options()
        options.url = try WebAddress("http://\(address)/v1/traces")
        let result = await SpanExport.send([], options, within: .nanoseconds(1))
        guard case .later(_, .zero) = result else {
            Issue.record("\(result)")
            return
        }
        await loop.run { _ in listener.value.close() }
    }

    @Test("A blocked secret traces nothing, and a probe neither")
    func blocked() async throws {
        try await RelayFixture.with(Self.fixture(ratio: 1)) { relay in
            relay.storage.state.withLock {
                $0.blocked.append(BlockedSecret(secretHash: RelayFixture.key.primary, createdAt: 1))
            }
            let list = await relay.onLoop { $0.services.shared.blocked }
            try await list.read()
            #expect(await Self.event(relay) == 403)
            _ = await relay.answer(Request(method: .get, target: "/ready", body: []))
            #expect(await Self.spans(relay).isEmpty)
        }
    }

    @Test("The log has the ID of the sender's trace, also while tracing is off, and none without")
    func log() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            _ = await Self.event(relay)
            _ = await Self.event(relay, flags: nil)
            #expect(await relay.onLoop { $0.services.shared.tracer == nil })
            let lines = try await relay.lines.closed().filter { $0["event"]?.string == "request" }
            #expect(lines.map { $0["trace"]?.string } == [Self.trace, nil])
        }
    }

    @Test(
        "Traces per second, spans of a request and waiting spans are bounded, and what is dropped is counted")
    func bounds() async throws {
        let lines = LogLines()
        let tracer = Tracer(try Self.options(ratio: 1), log: lines.log)
        let start = MonotonicTime.current
        let recorder = try #require(tracer.recorder())
        for _ in 0..<Bounds.spansPerTraceMax + 3 { recorder.end(recorder.begin(), "step", .inside) }
        recorder.finish("work", .consumer, [], isFailed: false)
        #expect(tracer.figures == Tracer.Figures(exported: 0, dropped: 3))
        let late = recorder.begin()
        recorder.end(late, "late", .inside)
        var spans: [Span] = []
        while let batch = tracer.takeBatch() { spans += batch }
        #expect(spans.count == Bounds.spansPerTraceMax + 2 && spans.last?.name == "late")
        for _ in 0..<10 * Bounds.tracesPerSecondMax {
            tracer.recorder()?.finish("work", .consumer, [], isFailed: false)
        }
        // Tokens may be added meanwhile.
        let elapsed = Int(MonotonicTime.current.since(start).inMilliseconds)
        let most = Bounds.tracesPerSecondMax + Bounds.tracesPerSecondMax * elapsed / 1_000 + 1
        var traces = 0
        while let batch = tracer.takeBatch() { traces += batch.count }
        #expect((Bounds.tracesPerSecondMax - 1...most).contains(traces))
        tracer.add(Array(repeating: spans[0], count: Bounds.spansWaitingMax + 7))
        #expect(tracer.figures.dropped == 10)
        var sizes: [Int] = []
        while let batch = tracer.takeBatch() { sizes.append(batch.count) }
        #expect(sizes.reduce(0, +) == Bounds.spansWaitingMax && sizes.max() == Bounds.spansPerExportMax)
        await lines.log.close()
    }

    @Test("The share of traces is that of their IDs")
    func share() async throws {
        let lines = LogLines()
        let tracer = Tracer(try Self.options(ratio: 0.25), log: lines.log)
        let ids = ["00", "40", "bf", "c0", "ff"].map { "019f0000-0000-7000-80\($0)-000000000001" }
        #expect(ids.map { tracer.place(ofPush: $0) != nil } == [false, false, false, true, true])
        #expect(tracer.place(ofPush: "no UUID") == nil)
        await lines.log.close()
    }

    @Test(
        "A collector's response says what becomes of the spans",
        arguments: [
            (200, "{}", SpanExport.Result.taken(rejected: 0)), (202, "", .taken(rejected: 0)),
            (200, #"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}}"#, .taken(rejected: 2)),
            (200, #"{"partialSuccess":{"rejectedSpans":3}}"#, .taken(rejected: 3)),
            (200, "not JSON", .taken(rejected: 0)),
            (400, "{}", .refused("the collector answers 400")),
            (413, "{}", .refused("the collector answers 413")),
            (500, "{}", .refused("the collector answers 500")),
            (429, "{}", .later("the collector answers 429", .seconds(7))),
            (503, "{}", .later("the collector answers 503", .seconds(7))),
        ])
    func responses(status: Int, body: String, result: SpanExport.Result) {
        var answer = WebAnswer(status: status, body: Array(body.utf8))
        answer.retryAfter = .seconds(7)
        #expect(SpanExport.interpret(answer) == result)
    }

    @Test("Headers for the collector are pairs, without line breaks")
    func headers() {
        let headers = TraceHeader.parse("authorization=Bearer a=b, X-Key_1=2,empty=")
        #expect(headers?.map(\.name) == ["authorization", "X-Key_1", "empty"])
        #expect(headers?.first?.value == Secret("Bearer a=b"))
        #expect(headers.map { "\($0)".contains("Bearer") } == false)
        for wrong in ["", "a", "=b", "a=b,", "a b=c", "a=b\r\nc: d", "a:=b", "a=é"] {
            #expect(TraceHeader.parse(wrong) == nil, "\(wrong)")
        }
    }
}
