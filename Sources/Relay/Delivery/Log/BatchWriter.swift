import Network

/// A buffer of rows to write: decides which rows are accepted and which form a batch; a pure value.
protocol BatchBuffer: Sendable {
    associatedtype Batch: Sendable

    /// Whether ``BatchWriter/finish()`` was called, after which no rows are accepted.
    var isFinished: Bool { get set }

    /// Takes the next batch to write; `nil` if nothing is waiting.
    mutating func takeBatch() -> Batch?
}

/// Accepts rows from any thread and writes them in batches in one task, so that no response waits for the database.
///
/// While one batch is written, the next one is collected.
final class BatchWriter<Buffer: BatchBuffer>: Sendable {
    private let buffer: Lock<Buffer>
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation

    /// Nothing is written before ``run(gathering:then:write:)``.
    init(_ buffer: sending Buffer) {
        self.buffer = Lock(buffer)
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Reads or changes the buffer.
    func withBuffer<Output>(_ body: (inout Buffer) -> Output) -> Output {
        buffer.withLock { body(&$0) }
    }

    /// Changes the buffer, and wakes ``run(gathering:then:write:)`` if `body` returns true.
    @discardableResult
    func add(_ body: (inout Buffer) -> Bool) -> Bool {
        let isWorthWaking = withBuffer(body)
        if isWorthWaking { wake() }
        return isWorthWaking
    }

    /// Makes ``run(gathering:then:write:)`` look at the buffer.
    func wake() { wakeUp.yield() }

    /// Writes batches as they arrive until ``finish()``, then writes the rest and returns.
    ///
    /// - Parameters:
    ///   - gather: Waits before rows are written, so that they share transactions.
    ///   - rest: Called whenever the buffer has been emptied, except the last time.
    func run(
        gathering gather: () async -> Void = {}, then rest: () async -> Void = {},
        write: (Buffer.Batch) async -> Void
    ) async {
        for await _ in wakeUps {
            await gather()
            await writeAll(write)
            await rest()
        }
        await writeAll(write)
    }

    private func writeAll(_ write: (Buffer.Batch) async -> Void) async {
        while let batch = withBuffer({ $0.takeBatch() }) { await write(batch) }
    }

    /// Ends ``run(gathering:then:write:)``; no further rows are accepted.
    func finish() {
        withBuffer { $0.isFinished = true }
        wakeUp.finish()
    }
}
