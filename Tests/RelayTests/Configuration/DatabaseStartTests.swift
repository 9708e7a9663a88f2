import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Waiting for the database at the start", .timeLimit(.minutes(2)))
struct DatabaseStartTests {
    /// A clock that advances when somebody waits, and a database that responds after some attempts.
    private final class Bench: Sendable {
        private struct State {
            var now: Duration = .zero
            var waits: [Duration] = []
            var attempts = 0
        }

        private let state = Lock(State())

        var waits: [Duration] { state.withLock { $0.waits } }

        func start(deadline: Duration, isStopping: Bool = false) -> DatabaseStart {
            let formatter = LogFormatter(format: .json, colour: false)
            return DatabaseStart(
                place: "Postgres h/d", engine: .postgres, deadline: deadline,
                log: Log(level: .error, formatter: formatter, write: { _ in }), isStopping: { isStopping },
                now: { self.state.withLock { $0.now } },
                pause: { duration in
                    self.state.withLock { state in
                        state.now += duration
                        state.waits.append(duration)
                    }
                })
        }

        func attempt(succeedsAfter failures: Int, _ error: StorageError) throws(StorageError) -> Int {
            let attempts = state.withLock { state in
                state.attempts += 1
                return state.attempts
            }
            guard attempts > failures else { throw error }
            return attempts
        }
    }

    private let down = StorageError.unavailable(logDetail: "Connection refused")

    @Test("A server that comes up is waited for, each wait twice as long up to a bound")
    func waits() async throws {
        let bench = Bench()
        let attempts = try await bench.start(deadline: .seconds(60)).open { () async throws(StorageError) in
            try bench.attempt(succeedsAfter: 6, down)
        }
        #expect(attempts == 7)
        #expect(bench.waits == [250, 500, 1_000, 2_000, 2_000, 2_000].map { .milliseconds($0) })
    }

    @Test("A file that another relay has is waited for a little, also where no server is waited for")
    func fileInUse() async throws {
        let bench = Bench()
        let taken = StorageError.inUse(logDetail: "locked by process 7")
        let failure = await #expect(throws: StartError.self) {
            try await bench.start(deadline: .zero).open { () async throws(StorageError) in
                try bench.attempt(succeedsAfter: 100, taken)
            }
        }
        #expect(bench.waits.reduce(.zero, +) == Bounds.databaseFileDeadline)
        #expect(failure?.message.contains("locked by process 7") == true)
        #expect(failure?.message.contains("Stop the other process") == true)
        let other = Bench()
        _ = await #expect(throws: StartError.self) {
            try await other.start(deadline: .zero).open { () async throws(StorageError) in
                try other.attempt(succeedsAfter: 100, down)
            }
        }
        #expect(other.waits.isEmpty)
    }

    @Test("After the deadline the relay gives up with status 69 and the database's own words")
    func deadline() async {
        let bench = Bench()
        let failure = await #expect(throws: StartError.self) {
            _ = try await bench.start(deadline: .seconds(5)).open { () async throws(StorageError) in
                try bench.attempt(succeedsAfter: .max, down)
            }
        }
        #expect(failure?.status == .unavailable)
        #expect(failure?.message.contains("Connection refused") == true)
        #expect(bench.waits.reduce(.zero, +) == .seconds(5))
    }

    @Test("What nothing but a person can change is not waited for")
    func refused() async {
        let bench = Bench()
        let failure = await #expect(throws: StartError.self) {
            _ = try await bench.start(deadline: .seconds(5)).open { () async throws(StorageError) in
                try bench.attempt(succeedsAfter: .max, .refused(logDetail: "password"))
            }
        }
        #expect(failure?.status == .unavailable)
        #expect(bench.waits == [])
    }

    @Test("A request to stop ends the waiting")
    func stop() async {
        let bench = Bench()
        let failure = await #expect(throws: StartError.self) {
            _ = try await bench.start(deadline: .seconds(5), isStopping: true)
                .open { () async throws(StorageError) in try bench.attempt(succeedsAfter: .max, down) }
        }
        #expect(failure?.status == .success)
        #expect(bench.waits == [])
    }
}
