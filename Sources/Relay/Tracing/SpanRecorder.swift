import Instruments
import Network
import Programs
import Storage

/// Records the spans of one request, or of another piece of work.
///
/// The spans are exported when the work is finished, if the work is for a known tenant; spans that end later are
/// exported one by one.
final class SpanRecorder: StorageObserver {
    private struct State {
        /// Whether the work is for a known tenant: strangers must not be able to cause exports.
        var isKnown: Bool
        var spans: [Span] = []
        /// The number of spans for which there was no room.
        var lost = 0
        var isFinished = false
        /// Whether spans that end after the work are exported.
        var isExported = false
        /// The parent of the spans that end next.
        var parent: TraceContext.SpanID
    }

    /// The trace and the work's own span.
    let place: TraceContext
    private let parent: TraceContext.SpanID?
    private let links: [TraceContext]
    /// The offset that turns a monotonic time into nanoseconds since 1970.
    ///
    /// Computed once: the spans must nest even if the clock is set in the meantime.
    private let offset = WallClock.systemNanoseconds &- MonotonicTime.current.nanoseconds
    private let began: UInt64
    let tracer: Tracer
    private let state: Lock<State>

    /// Begins the work's own span.
    ///
    /// - Parameters:
    ///   - parent: The span that caused the work.
    ///   - isKnown: Whether the work is for a known tenant; otherwise nothing is exported before ``noteKnown()``.
    ///   - links: The places in other traces that the work follows from.
    init(
        _ trace: TraceContext.TraceID, under parent: TraceContext.SpanID?, isKnown: Bool,
        links: [TraceContext] = [], for tracer: Tracer
    ) {
        let id = TraceContext.SpanID.random()
        place = TraceContext(trace, id, isSampled: true)
        self.parent = parent
        self.links = links
        self.tracer = tracer
        began = MonotonicTime.current.nanoseconds &+ offset
        state = Lock(State(isKnown: isKnown, parent: id))
    }

    /// Nanoseconds since 1970.
    var now: UInt64 { MonotonicTime.current.nanoseconds &+ offset }

    /// The current task's recorder, if the task is traced.
    static var current: SpanRecorder? {
        guard let observer = StorageCalls.observer else { return nil }
        return observer as? SpanRecorder
    }

    /// Runs work on its loop, and records the storage calls made by the work and by tasks that it starts.
    ///
    /// Runs in its own task, because the closure of `TaskLocal.withValue` doesn't stay on the caller's executor.
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

    /// Records that the request's secret turned out to have devices, or something that only devices leave behind.
    func noteKnown() { state.withLock { $0.isKnown = true } }

    // MARK: Spans

    /// A span that has begun.
    struct Begun: Sendable {
        let id: TraceContext.SpanID
        let began: UInt64
        fileprivate let parent: TraceContext.SpanID

        /// Another span that began at the same time.
        func copy() -> Begun { Begun(id: .random(), began: began, parent: parent) }
    }

    /// Begins a span.
    func begin() -> Begun {
        Begun(id: .random(), began: now, parent: state.withLock(\.parent))
    }

    /// Begins a span that is the parent of other spans until ``leave(_:_:isFailed:)`` ends it.
    func enter() -> Begun {
        let begun = begin()
        state.withLock { $0.parent = begun.id }
        return begun
    }

    /// Ends a span that ``enter()`` began; later spans are no longer its children.
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
                began: begun.began, ended: now, details: details, links: links, isFailed: isFailed))
    }

    /// Adds a span, possibly from another trace.
    func add(_ span: Span) {
        let isLate = state.withLock { state in
            if state.isFinished { return state.isExported }
            if state.spans.count < Bounds.spansPerTraceMax {
                state.spans.append(span)
            } else {
                state.lost += 1
            }
            return false
        }
        if isLate { tracer.add([span]) }
    }

    /// Ends the work's own span and exports all spans.
    func finish(_ name: String, _ kind: Span.Kind, _ details: [LogField], isFailed: Bool) {
        let own = Span(
            trace: place.trace, id: place.span, parent: parent, name: name, kind: kind, began: began,
            ended: now, details: details, links: links, isFailed: isFailed)
        let (spans, lost) = state.withLock { state in
            state.isFinished = true
            // Checked only now, so that only exported traces count toward the limit.
            state.isExported = state.isKnown && tracer.takesOne()
            defer { state.spans = [] }
            return state.isExported ? ([own] + state.spans, state.lost) : ([], 0)
        }
        if !spans.isEmpty { tracer.add(spans, lost: lost) }
    }

    // MARK: Storage

    func beganCall() -> UInt64 { now }

    func endedCall(_ name: String, began: UInt64, isFailed: Bool) {
        let parent = state.withLock(\.parent)
        add(
            Span(
                trace: place.trace, id: .random(), parent: parent, name: name, kind: .client, began: began,
                ended: now,
                details: [
                    .note("db.system.name", tracer.options.database), .note("db.operation.name", name),
                ],
                isFailed: isFailed))
    }
}
