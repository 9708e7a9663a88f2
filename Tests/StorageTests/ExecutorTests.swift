import Glibc
import OwnThread
import Storage
import Testing

/// An actor on its own thread that records its calls.
private actor Recorder {
    nonisolated let executor: BlockingExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private(set) var values: [Int] = []
    private var inside = false

    init(executor: BlockingExecutor) {
        self.executor = executor
    }

    func record(_ value: Int) {
        precondition(!inside, "two at a time")
        inside = true
        values.append(value)
        inside = false
    }

    func thread() -> pid_t { gettid() }
}

@Suite("Blocking executor", .timeLimit(.minutes(2)))
struct ExecutorTests {
    @Test("an actor's jobs run on the executor's one thread, and nobody else's does")
    func ownThread() async {
        let executor = BlockingExecutor(label: "test.thread")
        let recorder = Recorder(executor: executor)
        let threads = await [recorder.thread(), recorder.thread(), recorder.thread()]
        #expect(Set(threads).count == 1)
        #expect(threads[0] != gettid())
        #expect(!executor.isCurrent)
        await executor.shutdown()
    }

    @Test("jobs from many tasks run one at a time and none is lost")
    func serial() async {
        let executor = BlockingExecutor(label: "test.serial")
        let recorder = Recorder(executor: executor)
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask { for value in 0..<1_000 { await recorder.record(task * 1_000 + value) } }
            }
        }
        #expect(await recorder.values.sorted() == Array(0..<8_000))
        await executor.shutdown()
    }

    @Test("closures run in the order in which they were submitted, isolated to the executor's actor")
    func closures() async {
        let executor = BlockingExecutor(label: "test.closures")
        let recorder = Recorder(executor: executor)
        for value in 0..<1_000 {
            executor.submit { recorder.assumeIsolated { $0.record(value) } }
        }
        #expect(await recorder.values == Array(0..<1_000))
        await executor.shutdown()
    }

    @Test("shutting down runs what is queued, and may be asked for more than once")
    func drains() async {
        let executor = BlockingExecutor(label: "test.drains")
        let count = Guarded(0)
        for _ in 0..<1_000 { executor.submit { count.withLock { $0 += 1 } } }
        async let first: Void = executor.shutdown()
        async let second: Void = executor.shutdown()
        _ = await (first, second)
        await executor.shutdown()
        #expect(count.withLock { $0 } == 1_000)
        // The kernel lists a thread until shortly after it was joined.
        let deadline = ContinuousClock.now + .seconds(30)
        while threadNames().contains("test.drains"), ContinuousClock.now < deadline { await Task.yield() }
        #expect(!threadNames().contains("test.drains"))
    }

    @Test("a job that comes after the end still runs, one at a time, so that its caller isn't left waiting")
    func late() async {
        let executor = BlockingExecutor(label: "test.late")
        let recorder = Recorder(executor: executor)
        await recorder.record(0)
        await executor.shutdown()
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask { for value in 0..<100 { await recorder.record(1 + task * 100 + value) } }
            }
        }
        #expect(await recorder.values.sorted() == Array(0...800))
        executor.submit { recorder.assumeIsolated { $0.record(801) } }
        #expect(await recorder.values.last == 801)
    }

    @Test("a guarded value is whole whoever changes it")
    func guarded() async {
        let pair = Guarded((0, 0))
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 { pair.withLock { $0 = ($0.0 + 1, $0.1 + 1) } }
                }
            }
        }
        #expect(pair.withLock { $0 } == (8_000, 8_000))
    }

    @Test("an executor that is let go by what came after the end outlives that")
    func lastReference() async {
        let executor = Guarded<BlockingExecutor?>(BlockingExecutor(label: "test.last"))
        await executor.withLock { $0 }?.shutdown()
        // Called as by the runtime, which has only the executor's address: nobody but `executor` retains it.
        let address = executor.withLock {
            UInt(bitPattern: $0.map { Unmanaged.passUnretained($0).toOpaque() })
        }
        let isThereAfterwards = Guarded(false)
        submit(to: address) {
            let observer = Observer(executor.withLock { $0 })
            executor.withLock { $0 = nil }
            isThereAfterwards.withLock { $0 = observer.executor != nil }
        }
        #expect(isThereAfterwards.withLock { $0 })
    }

    private func submit(to address: UInt, _ work: @escaping @Sendable () -> Void) {
        guard let pointer = UnsafeRawPointer(bitPattern: address) else { return }
        Unmanaged<BlockingExecutor>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.submit(work) }
    }

    private final class Observer {
        weak var executor: BlockingExecutor?
        init(_ executor: BlockingExecutor?) { self.executor = executor }
    }

    private func threadNames() -> Set<String> {
        var names: Set<String> = []
        guard let directory = opendir("/proc/self/task") else { return names }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let task = withUnsafePointer(to: entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let file = fopen("/proc/self/task/\(task)/comm", "r") else { continue }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 64)
            guard fgets(&line, 64, file) != nil else { continue }
            names.insert(String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init), as: UTF8.self))
        }
        return names
    }
}

@Suite("Inbox", .timeLimit(.minutes(2)))
struct InboxTests {
    @Test("the first to put wakes the thread, and then nobody until it found nothing")
    func wakes() throws {
        let inbox = Inbox<Int>(capacity: 10)
        #expect(inbox.load == 0)
        #expect(try inbox.put(1))
        #expect(try !inbox.put(2))
        #expect(inbox.load == 3)
        #expect(inbox.take(limit: 10) == [1, 2])
        #expect(inbox.load == 1)
        #expect(try !inbox.put(3))
        #expect(inbox.take(limit: 10) == [3])
        #expect(inbox.take(limit: 10) == [])
        #expect(inbox.load == 0)
        #expect(try inbox.put(4))
    }

    @Test("a batch is the oldest elements in their order, at most the limit")
    func batches() throws {
        let inbox = Inbox<Int>(capacity: 10)
        for value in 0..<7 { _ = try inbox.put(value) }
        #expect(inbox.take(limit: 3) == [0, 1, 2])
        #expect(inbox.take(limit: 3) == [3, 4, 5])
        #expect(inbox.take(limit: 3) == [6])
    }

    @Test("a full inbox refuses one more, and takes it when there is room")
    func full() throws {
        let inbox = Inbox<Int>(capacity: 2)
        _ = try inbox.put(1)
        _ = try inbox.put(2)
        #expect(throws: StorageError.unavailable(logDetail: "2 calls are already waiting")) {
            try inbox.put(3)
        }
        #expect(inbox.take(limit: 1) == [1])
        #expect(try !inbox.put(3))
        #expect(inbox.take(limit: 9) == [2, 3])
    }

    @Test("a closed inbox refuses, and gives out what it has")
    func closed() throws {
        let inbox = Inbox<Int>(capacity: 2)
        _ = try inbox.put(1)
        inbox.close()
        #expect(throws: StorageError.closed) { try inbox.put(2) }
        #expect(inbox.take(limit: 9) == [1])
    }
}
