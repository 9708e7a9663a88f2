import Network
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(2)))
struct DeadlineTests {
    private static let limits: Limits = {
        var limits = Limits()
        limits.headDeadline = .seconds(10)
        limits.bodyDeadline = .seconds(20)
        limits.idleDeadline = .seconds(70)
        limits.writeStallDeadline = .seconds(30)
        return limits
    }()

    private func at(_ seconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: UInt64(seconds) * 1_000_000_000)
    }

    @Test("The first head has one deadline from accept, answered with 408 only if the head has begun")
    func firstHead() {
        var deadlines = ConnectionDeadlines(limits: Self.limits, now: at(0))
        #expect(deadlines.due == at(10))
        #expect(deadlines.verdict(now: at(10)) == .close)
        deadlines.update(.head, request: 0, now: at(9))
        #expect(deadlines.verdict(now: at(9)) == .wait(until: at(10)))
        #expect(deadlines.verdict(now: at(10)) == .refuse(.headTimeout))
    }

    @Test("Each wait has its own deadline, which further bytes don't extend")
    func waits() {
        var deadlines = ConnectionDeadlines(limits: Self.limits, now: at(0))
        deadlines.update(.body, request: 0, now: at(5))
        deadlines.update(.body, request: 0, now: at(24))
        #expect(deadlines.verdict(now: at(25)) == .refuse(.bodyTimeout))
        deadlines.update(.handler, request: 1, now: at(6))
        #expect(deadlines.due == nil)
        #expect(deadlines.verdict(now: at(9999)) == .wait(until: nil))
        deadlines.update(.firstByte, request: 1, now: at(100))
        #expect(deadlines.due == at(170))
        #expect(deadlines.verdict(now: at(170)) == .close)
        deadlines.update(.head, request: 1, now: at(160))
        deadlines.update(.head, request: 1, now: at(169))
        #expect(deadlines.verdict(now: at(170)) == .refuse(.headTimeout))
        // The next request's headers, in the same input as the end of this request.
        deadlines.update(.head, request: 2, now: at(169))
        #expect(deadlines.due == at(179))
    }

    @Test("A client that reads none of its answer is disconnected")
    func writeStall() {
        var deadlines = ConnectionDeadlines(limits: Self.limits, now: at(0))
        deadlines.update(.handler, request: 1, now: at(0))
        deadlines.wrote(1000)
        deadlines.update(pendingBytes: 600, now: at(1))
        #expect(deadlines.due == at(31))
        deadlines.update(pendingBytes: 600, now: at(20))
        #expect(deadlines.verdict(now: at(31)) == .close)
        // More bytes written, none accepted: no progress.
        deadlines.wrote(5000)
        deadlines.update(pendingBytes: 5600, now: at(21))
        #expect(deadlines.due == at(31))
        deadlines.update(pendingBytes: 0, now: at(25))
        #expect(deadlines.due == nil)
        deadlines.wrote(10)
        deadlines.update(pendingBytes: 10, now: at(100))
        #expect(deadlines.due == at(130))
    }

    @Test("A client that reads below the minimum rate is disconnected, one at that rate is not")
    func slowReader() {
        let rate = Self.limits.sendBytesPerSecondMin
        /// When the connection closes, in seconds, for a client that reads this many bytes per second; nil if it never does.
        func end(_ bytesPerSecond: Int) -> Int? {
            var deadlines = ConnectionDeadlines(limits: Self.limits, now: at(0))
            deadlines.update(.handler, request: 1, now: at(0))
            var pending = 200 * rate
            deadlines.wrote(pending)
            for second in 0...1_000 {
                deadlines.update(pendingBytes: max(0, pending), now: at(second))
                if pending <= 0 { return nil }
                if deadlines.verdict(now: at(second)) == .close { return second }
                pending -= bytesPerSecond
            }
            return 1_001
        }
        #expect(end(0) == 30)
        #expect(end(1) == 31, "a byte now and then buys next to nothing")
        #expect((59...61).contains(end(rate / 2) ?? 0))
        #expect(end(rate) == nil)
        #expect(end(10 * rate) == nil)
    }

    @Test("The earlier of both deadlines counts")
    func earliest() {
        var deadlines = ConnectionDeadlines(limits: Self.limits, now: at(0))
        deadlines.update(.firstByte, request: 1, now: at(0))
        deadlines.wrote(1)
        deadlines.update(pendingBytes: 1, now: at(0))
        #expect(deadlines.due == at(30))
        deadlines.update(.head, request: 1, now: at(1))
        #expect(deadlines.due == at(11))
    }
}
