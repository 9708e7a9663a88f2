import Dispatch
package import Testing

/// Gives each test case a thread of its own.
///
/// Cases call C libraries that block. On the threads that all tasks share, one for each processor, two of them would stop
/// every other test.
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    /// For all tests of a suite.
    package var isRecursive: Bool { true }

    package func scopeProvider(for test: Test, testCase: Test.Case?) -> OwnThread? {
        testCase == nil ? nil : self
    }

    package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(QueueExecutor()) { try await function() }
    }
}

extension Trait where Self == OwnThread {
    /// Gives each test case a thread of its own, for tests that block.
    package static var ownThread: OwnThread { OwnThread() }
}

/// Runs jobs one after the other, on a thread that blocks nobody else.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "test.case")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
