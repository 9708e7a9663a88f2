import Network
import Testing

@testable import WebPush

/// A queue that `#expect` can change.
final class Queue {
    private(set) var state: SendQueue
    var now = MonotonicTime(nanoseconds: 1_000_000_000)

    init(_ change: (inout SenderSettings) -> Void = { _ in }) {
        var settings = SenderSettings()
        change(&settings)
        state = SendQueue(settings)
    }

    func arrive(_ push: UInt64, host: String, bytes: Int = 10) -> SendQueue.Placement {
        state.arrive(push, host: host, bytes: bytes, at: now)
    }
    func add(_ pushes: ClosedRange<UInt64>, _ host: String) {
        for push in pushes { #expect(arrive(push, host: host) == .queued) }
    }
    func next() -> SendQueue.Step? { state.next(at: now) }
    /// All steps until nothing is left to do.
    func steps() -> [SendQueue.Step] {
        var steps: [SendQueue.Step] = []
        while let step = next() { steps.append(step) }
        return steps
    }
    /// The pushes that start now.
    func starts() -> [UInt64] {
        steps().compactMap { if case .start(let push, _) = $0 { push } else { nil } }
    }
    func waitAgain(_ push: UInt64, _ host: String) { state.wait(push, host: host, bytes: 10) }
    func remove(_ push: UInt64) -> Bool { state.remove(push) }
    func opened(_ connection: UInt64, limit: Int? = 100, isHTTP2: Bool = true) {
        state.opened(connection, isHTTP2: isHTTP2, at: now)
        if let limit { state.limitChanged(connection, to: limit, at: now) }
    }
    func limitChanged(_ connection: UInt64, to limit: Int) {
        state.limitChanged(connection, to: limit, at: now)
    }
    func ended(on connection: UInt64, _ end: SendQueue.End = .answered) {
        state.ended(on: connection, end, at: now)
    }
    func leave(_ connection: UInt64) { state.leave(connection) }
    func ponged(_ connection: UInt64) { state.ponged(connection, at: now) }
    func closed(_ connection: UInt64, _ cause: Unreachable.Cause = .connectionClosed) -> [UInt64] {
        state.closed(connection, cause, at: now, random: 1)
    }
    func check() -> [SendQueue.Care] { state.check(at: now) }
}
