import Delays
import HTTPServer
import Instruments
import Network
import Programs
import Storage

/// Decides what is traced, and exports spans in the background.
///
/// There is none while tracing is off.
final class Tracer: Sendable {
    /// Where spans go, and how many.
    struct Options: Sendable {
        /// The collector's URL for OTLP over HTTP.
        var url: WebAddress
        /// Further headers of the exports, such as a collector's token.
        var headers: [TraceHeader] = []
        /// The share of traces that are exported, from 0 to 1.
        var ratio: Double
        /// OpenTelemetry's name of the database's system.
        var database = "sqlite"
        /// The hosts of APNs' production and sandbox.
        var apnsHosts = (production: "", sandbox: "")
        /// Waits between exports.
        var gatherTime = Bounds.spanGatherTime
        /// The delays after an export that failed.
        var backOff = Bounds.spanBackOff
        /// The time limit of an export.
        var exportDeadline = Bounds.spanExportDeadline
    }

    /// What became of spans.
    struct Figures: Sendable, Equatable {
        var exported: UInt64 = 0
        /// Those for which there was no room, and those that the collector didn't take.
        var dropped: UInt64 = 0
    }

    private struct State {
        var spans: [Span] = []
        var figures = Figures()
        /// When all traces of a second can be begun again.
        var fullAt = MonotonicTime(nanoseconds: 0)
        var isFinished = false
        /// When the log last said that spans were dropped, and how many have been since.
        var loggedAt: MonotonicTime?
        var unlogged = 0
    }

    let options: Options
    let log: Log
    /// What is added to a monotonic time for nanoseconds since 1970.
    private let offset: UInt64
    private let bucket = TokenBucket(Bounds.tracesPerSecondMax, per: .seconds(1))
    private let state = Lock(State())
    /// Fires when the last export is due.
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    /// A tracer that exports nothing before ``run()``.
    init(_ options: Options, log: Log) {
        self.options = options
        self.log = log
        // Read once: spans of one trace must nest even if the clock is set meanwhile.
        offset = WallClock.systemNanoseconds &- MonotonicTime.current.nanoseconds
        (ends, end) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Nanoseconds since 1970.
    var now: UInt64 { MonotonicTime.current.nanoseconds &+ offset }

    var figures: Figures { state.withLock(\.figures) }

    // MARK: Sampling

    /// The recorder of a request; `nil` if it isn't traced.
    ///
    /// - Parameter given: The request's `traceparent`. Strangers choose it, so it counts only once the request is
    ///   admitted.
    func recorder(for given: TraceContext?) -> SpanRecorder? {
        if let given {
            guard given.isSampled || samples(given.trace) else { return nil }
            return SpanRecorder(given.trace, under: given.span, .awaitsAdmission, for: self)
        }
        return recorder()
    }

    /// The recorder of work that isn't a sender's; `nil` if it isn't traced.
    ///
    /// - Parameters:
    ///   - origin: The traced request that it follows from, if there was one.
    ///   - continues: Whether it belongs to that request's trace, rather than to one with a link to it.
    func recorder(from origin: TraceContext? = nil, continues: Bool = false) -> SpanRecorder? {
        if let origin, continues {
            return takesOne() ? SpanRecorder(origin.trace, under: origin.span, .sampled, for: self) : nil
        }
        var system = SystemRandomNumberGenerator()
        let trace = TraceContext.random(isSampled: true, using: &system).trace
        guard samples(trace), takesOne() else { return nil }
        return SpanRecorder(trace, under: nil, .sampled, links: origin.map { [$0] } ?? [], for: self)
    }

    /// The recorder of a queued push's further attempt; `nil` if it isn't traced.
    func recorder(ofPush id: String) -> SpanRecorder? {
        guard let place = place(ofPush: id), takesOne() else { return nil }
        return SpanRecorder(place.trace, under: place.span, .sampled, for: self)
    }

    /// The place where a queued push's trace begins; `nil` if it isn't traced.
    ///
    /// Its ID is the push's, so that all attempts, whatever relay makes them, are in one trace without a column for it.
    func place(ofPush id: String) -> TraceContext? {
        guard let trace = TraceContext.TraceID(uuid: id), let span = trace.spanID, samples(trace) else {
            return nil
        }
        return TraceContext(trace, span, isSampled: true)
    }

    /// Whether a trace is among the share that is exported.
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

    /// Queues spans; those for which there is no room are dropped.
    func add(_ spans: [Span]) {
        state.withLock { state in
            let room = state.isFinished ? 0 : max(0, Bounds.spansWaitingMax - state.spans.count)
            state.spans += spans.prefix(room)
            state.figures.dropped += UInt64(max(0, spans.count - room))
        }
    }

    /// Counts spans that were dropped.
    func noteDropped(_ count: Int) { state.withLock { $0.figures.dropped += UInt64(count) } }

    /// Exports the waiting spans once more, and has ``run()`` return.
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
            guard left > .zero, await attempt(batch, within: left) else { break }
        }
    }

    /// Takes the spans of the next export; `nil` if none wait.
    func takeBatch() -> [Span]? {
        state.withLock { state in
            guard !state.spans.isEmpty else { return nil }
            let batch = Array(state.spans.prefix(Bounds.spansPerExportMax))
            state.spans.removeFirst(batch.count)
            return batch
        }
    }

    /// Exports a batch, with further attempts after failures that may pass.
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

    /// Exports a batch without further attempts; returns whether the collector took it.
    private func attempt(_ batch: [Span], within deadline: Duration) async -> Bool {
        switch await SpanExport.send(batch, options, within: deadline) {
        case .taken(let rejected):
            note(batch, rejected: rejected)
            return true
        case .refused(let reason), .later(let reason, _):
            drop(batch, reason)
            return false
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

    private func drop(_ batch: [Span], _ reason: String) {
        let count = state.withLock { state -> Int? in
            state.figures.dropped += UInt64(batch.count)
            state.unlogged += batch.count
            let now = MonotonicTime.current
            guard state.loggedAt.map({ now.since($0) >= Bounds.spansDroppedInterval }) ?? true else {
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
