import Dispatch
package import Testing

/// Gives each test case a separate thread.
///
/// For cases that call blocking C libraries or compute for a long time. On the threads that all tasks share, one per
/// processor, two such cases could stop every other test and make it miss its deadlines.
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    /// For all tests in a suite.
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
    /// Gives each test case a separate thread, for tests that block or compute for a long time.
    package static var ownThread: OwnThread { OwnThread() }
}

/// Runs jobs one after the other on a thread that blocks nobody else.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "test.case")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
