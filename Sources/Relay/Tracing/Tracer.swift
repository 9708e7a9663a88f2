import Delays
import HTTPServer
import Instruments
import Network
import Programs
import Storage

/// Decides what is traced, and exports spans in the background.
///
/// No tracer exists while tracing is off.
final class Tracer: Sendable {
    /// Where and how spans are exported.
    struct Options: Sendable {
        /// The collector's URL for OTLP over HTTP.
        var url: WebAddress
        /// Additional headers for export requests, such as a collector's token.
        var headers: [TraceHeader] = []
        /// The share of traces that are exported, from 0 to 1.
        var ratio: Double
        /// OpenTelemetry's name for the database system.
        var database = "sqlite"
        /// The APNs hosts for production and sandbox.
        var apnsHosts = (production: "", sandbox: "")
        /// How long spans are collected before an export.
        var gatherTime = Bounds.spanGatherTime
        /// The delays after a failed export.
        var backOff = Bounds.spanBackOff
        /// The time limit of an export.
        var exportDeadline = Bounds.spanExportDeadline
    }

    /// How many spans were exported or dropped.
    struct Figures: Sendable, Equatable {
        var exported: UInt64 = 0
        /// Spans for which there was no room, and spans that the collector didn't accept.
        var dropped: UInt64 = 0
    }

    private struct State {
        var spans: [Span] = []
        var figures = Figures()
        /// When the rate limit allows a full second's traces again.
        var fullAt = MonotonicTime(nanoseconds: 0)
        var isFinished = false
        /// When the log last reported dropped spans.
        var loggedAt: MonotonicTime?
        /// Spans dropped since the log's last report.
        var unlogged = 0
    }

    let options: Options
    let log: Log
    private let bucket = TokenBucket(Bounds.tracesPerSecondMax, per: .seconds(1))
    private let state = Lock(State())
    /// Fires when the last export is due.
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    /// A tracer that exports nothing before ``run()``.
    init(_ options: Options, log: Log) {
        self.options = options
        self.log = log
        (ends, end) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var figures: Figures { state.withLock(\.figures) }

    // MARK: Sampling

    /// A recorder for a request; `nil` if it isn't traced.
    ///
    /// - Parameter given: The request's `traceparent`.
    func recorder(for given: TraceContext?) -> SpanRecorder? {
        let trace = given?.trace ?? newTrace()
        guard given?.isSampled == true || samples(trace) else { return nil }
        return SpanRecorder(trace, under: given?.span, isKnown: false, for: self)
    }

    /// A recorder for work that isn't a sender's request; `nil` if it isn't traced.
    ///
    /// - Parameters:
    ///   - origin: The traced request that the work follows from, if there was one.
    ///   - continues: Whether the work belongs to that request's trace, rather than to a new trace linked to it.
    func recorder(from origin: TraceContext? = nil, continues: Bool = false) -> SpanRecorder? {
        if continues {
            return origin.map { SpanRecorder($0.trace, under: $0.span, isKnown: true, for: self) }
        }
        let trace = newTrace()
        guard samples(trace) else { return nil }
        return SpanRecorder(trace, under: nil, isKnown: true, links: origin.map { [$0] } ?? [], for: self)
    }

    /// A recorder for another attempt at a queued push; `nil` if it isn't traced.
    ///
    /// It has no parent: the span that stored the push is exported only if the event was also traced.
    func recorder(ofPush id: String) -> SpanRecorder? {
        place(ofPush: id).map { SpanRecorder($0.trace, under: nil, isKnown: true, for: self) }
    }

    /// The place, in its trace, of the span that stored a queued push; `nil` if the push isn't traced.
    ///
    /// The trace's ID is the push's, so that every relay's attempts are in one trace without a column for the trace.
    func place(ofPush id: String) -> TraceContext? {
        guard let trace = TraceContext.TraceID(uuid: id), let span = trace.spanID, samples(trace) else {
            return nil
        }
        return TraceContext(trace, span, isSampled: true)
    }

    private func newTrace() -> TraceContext.TraceID {
        TraceContext.random(isSampled: true).trace
    }

    /// Whether a trace belongs to the share that is exported.
    private func samples(_ trace: TraceContext.TraceID) -> Bool {
        Double(trace.randomness) >= (1 - options.ratio) * 0x1p56
    }

    /// Whether one more trace may be exported now.
    func takesOne() -> Bool {
        state.withLock { state in
            guard case .taken(let fullAt) = bucket.take(fullAt: state.fullAt, at: .current) else {
                return false
            }
            state.fullAt = fullAt
            return true
        }
    }

    // MARK: Export

    /// Queues spans; spans for which there is no room are dropped.
    ///
    /// - Parameter lost: The number of spans already dropped.
    func add(_ spans: [Span], lost: Int = 0) {
        state.withLock { state in
            let room = state.isFinished ? 0 : max(0, Bounds.spansWaitingMax - state.spans.count)
            state.spans += spans.prefix(room)
            state.figures.dropped += UInt64(max(0, spans.count - room) + lost)
        }
    }

    /// Makes ``run()`` export the waiting spans once more and return.
    func finish() {
        end.yield()
        end.finish()
    }

    /// Exports spans until ``finish()``.
    func run() async {
        let exporting = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: options.gatherTime)
                while !Task.isCancelled, let batch = takeBatch() { await export(batch) }
            }
        }
        for await _ in ends { break }
        // A slow collector must not keep the process from ending.
        exporting.cancel()
        await exporting.value
        state.withLock { $0.isFinished = true }
        let deadline = MonotonicTime.current + Bounds.spanLastExportDeadline
        while let batch = takeBatch() {
            let left = deadline.since(.current)
            switch left > .zero
                ? await SpanExport.send(batch, options, within: left) : .later("the relay is stopping", .zero)
            {
            case .taken(let rejected): note(batch, rejected: rejected)
            case .refused(let reason), .later(let reason, _):
                drop(batch + (takeBatch(upTo: .max) ?? []), reason, isLast: true)
            }
        }
    }

    /// Takes the spans for the next export; `nil` if none are waiting.
    func takeBatch(upTo max: Int = Bounds.spansPerExportMax) -> [Span]? {
        state.withLock { state in
            guard !state.spans.isEmpty else { return nil }
            let batch = Array(state.spans.prefix(max))
            state.spans.removeFirst(batch.count)
            return batch
        }
    }

    /// Exports a batch, and retries after temporary failures.
    private func export(_ batch: [Span]) async {
        var backOff = options.backOff
        for attempt in 1...Bounds.spanExportAttemptsMax {
            switch await SpanExport.send(batch, options, within: options.exportDeadline) {
            case .taken(let rejected): return note(batch, rejected: rejected)
            case .refused(let reason): return drop(batch, reason)
            case .later(let reason, let wait):
                if Task.isCancelled { return putBack(batch) }
                guard attempt < Bounds.spanExportAttemptsMax else { return drop(batch, reason) }
                let pause = max(backOff.next(), min(wait, Bounds.spanRetryAfterMax))
                if (try? await Task.sleep(for: pause)) == nil { return putBack(batch) }
            }
        }
    }

    private func putBack(_ batch: [Span]) {
        state.withLock { $0.spans = batch + $0.spans }
    }

    private func note(_ batch: [Span], rejected: Int) {
        let rejected = min(max(0, rejected), batch.count)
        state.withLock { state in
            state.figures.exported += UInt64(batch.count - rejected)
            state.figures.dropped += UInt64(rejected)
        }
    }

    /// Counts lost spans, and logs them unless some were logged only recently.
    private func drop(_ batch: [Span], _ reason: String, isLast: Bool = false) {
        let count = state.withLock { state -> Int? in
            state.figures.dropped += UInt64(batch.count)
            state.unlogged += batch.count
            let now = MonotonicTime.current
            guard isLast || state.loggedAt.map({ now.since($0) >= Bounds.spansDroppedInterval }) ?? true
            else {
                return nil
            }
            state.loggedAt = now
            defer { state.unlogged = 0 }
            return state.unlogged
        }
        guard let count else { return }
        log(.warning, "traces.dropped", [.count("spans", count), .note("error", reason)])
    }
}
