import Dispatch
package import Testing

/// Gives each test case a thread of its own.
///
/// For cases that call C libraries that block, or compute for long. On the threads that all tasks share, one for each
/// processor, two of them would stop every other test, and keep it from its deadlines.
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
    /// Gives each test case a thread of its own, for tests that block or compute for long.
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
