import Instruments
import Network
import Storage

/// Records the spans of one request, or of another piece of work.
///
/// They are exported when it is finished, if the trace is sampled; spans that end later follow one by one.
final class SpanRecorder: StorageObserver {
    /// Whether the spans are exported.
    enum Verdict: Sendable {
        case sampled
        /// As soon as the request is admitted: strangers must not switch tracing on.
        case awaitsAdmission
        case dropped
    }

    private struct State {
        var verdict: Verdict
        var spans: [Span] = []
        var isFinished = false
        /// The parent of the spans that end next.
        var parent: TraceContext.SpanID
    }

    /// The trace and the work's own span.
    let place: TraceContext
    /// Whether the trace came with the request.
    private let isForeign: Bool
    private let parent: TraceContext.SpanID?
    private let links: [TraceContext]
    private let began: UInt64
    let tracer: Tracer
    private let state: Lock<State>

    /// Begins the work's own span.
    ///
    /// - Parameters:
    ///   - parent: The span that caused the work.
    ///   - links: The places in other traces that it follows from.
    init(
        _ trace: TraceContext.TraceID, under parent: TraceContext.SpanID?, _ verdict: Verdict,
        links: [TraceContext] = [], for tracer: Tracer
    ) {
        let id = Self.newID()
        place = TraceContext(trace, id, isSampled: true)
        isForeign = verdict == .awaitsAdmission
        self.parent = parent
        self.links = links
        self.tracer = tracer
        began = tracer.now
        state = Lock(State(verdict: verdict, parent: id))
    }

    /// That of the current task, if it is traced.
    static var current: SpanRecorder? {
        guard let observer = StorageCalls.observer else { return nil }
        return observer as? SpanRecorder
    }

    private static func newID() -> TraceContext.SpanID {
        var system = SystemRandomNumberGenerator()
        return .random(using: &system)
    }

    /// Does work on its loop, and records its storage calls and those of tasks that it starts.
    ///
    /// In a task of its own, because the closure of `TaskLocal.withValue` doesn't stay on the caller's executor.
    nonisolated(nonsending) func record(
        on loop: EventLoop, _ work: @escaping (isolated EventLoop) async -> Void
    ) async {
        let task = StorageCalls.$observer.withValue(self) { loop.spawn(work) }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    // MARK: Sampling

    /// The request's tenant was admitted.
    func admitted() {
        let awaits = state.withLock { $0.verdict == .awaitsAdmission }
        guard awaits else { return }
        let verdict: Verdict = tracer.takesOne() ? .sampled : .dropped
        state.withLock { $0.verdict = verdict }
    }

    /// Nobody has registered under the request's secret, so anyone may have sent the request.
    func isUnknown() {
        guard isForeign else { return }
        state.withLock { state in
            state.verdict = .dropped
            state.spans = []
        }
    }

    /// Whether the spans are exported; not before the request is admitted.
    var isSampled: Bool { state.withLock { $0.verdict == .sampled } }

    // MARK: Spans

    /// A span that has begun.
    struct Begun: Sendable {
        let id: TraceContext.SpanID
        let began: UInt64
        fileprivate let parent: TraceContext.SpanID

        /// Another span that began at the same time.
        func copy() -> Begun { Begun(id: newID(), began: began, parent: parent) }
    }

    /// Begins a span.
    func begin() -> Begun {
        Begun(id: Self.newID(), began: tracer.now, parent: state.withLock(\.parent))
    }

    /// Begins a span that becomes the parent of those that end before it.
    func enter() -> Begun {
        let begun = begin()
        state.withLock { $0.parent = begun.id }
        return begun
    }

    /// Ends a span, and begins none under it any more.
    func leave(_ begun: Begun, _ name: String, isFailed: Bool) {
        state.withLock { $0.parent = begun.parent }
        end(begun, name, .inside, isFailed: isFailed)
    }

    /// Ends a span.
    func end(
        _ begun: Begun, _ name: String, _ kind: Span.Kind, _ details: [LogField] = [],
        links: [TraceContext] = [], isFailed: Bool = false
    ) {
        add(
            Span(
                trace: place.trace, id: begun.id, parent: begun.parent, name: name, kind: kind,
                began: begun.began, ended: tracer.now, details: details, links: links, isFailed: isFailed))
    }

    /// Adds a span, also of another trace.
    func add(_ span: Span) {
        let (isLate, isFull) = state.withLock { state in
            guard state.verdict != .dropped else { return (false, false) }
            if state.isFinished { return (state.verdict == .sampled, false) }
            guard state.spans.count < Bounds.spansPerTraceMax else { return (false, true) }
            state.spans.append(span)
            return (false, false)
        }
        if isLate { tracer.add([span]) }
        if isFull { tracer.noteDropped(1) }
    }

    /// Ends the work's own span and exports all.
    func finish(_ name: String, _ kind: Span.Kind, _ details: [LogField], isFailed: Bool) {
        let own = Span(
            trace: place.trace, id: place.span, parent: parent, name: name, kind: kind, began: began,
            ended: tracer.now, details: details, links: links, isFailed: isFailed)
        let spans: [Span] = state.withLock { state in
            state.isFinished = true
            defer { state.spans = [] }
            return state.verdict == .sampled ? [own] + state.spans : []
        }
        if !spans.isEmpty { tracer.add(spans) }
    }

    // MARK: Storage

    func beganCall() -> UInt64 { tracer.now }

    func endedCall(_ name: String, began: UInt64, isFailed: Bool) {
        let parent = state.withLock(\.parent)
        add(
            Span(
                trace: place.trace, id: Self.newID(), parent: parent, name: name, kind: .client, began: began,
                ended: tracer.now,
                details: [
                    .note("db.system.name", tracer.options.database), .note("db.operation.name", name),
                ],
                isFailed: isFailed))
    }
}
