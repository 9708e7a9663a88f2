import ChildProcess
import Glibc
import Network
import Testing

/// What a handler has seen, for the test's task.
struct Seen: Sendable {
    var isActive = false
    var alpn: String?
    var bytes: [UInt8] = []
    var readEnded = false
    var closed: ChannelCloseReason?
}

/// Records a channel's events; the test awaits the end.
final class Recorder: ChannelHandler {
    private(set) var seen = Seen()
    private var waiters: [(isDone: (Seen) -> Bool, resume: (Seen) -> Void)] = []
    var onActive: (Channel) -> Void = { _ in }
    var onBytes: (Channel, UnsafeRawBufferPointer) -> Void = { _, _ in }
    var onReadEnded: (Channel) -> Void = { $0.closeAfterFlush(deadline: .seconds(2)) }
    var onWritable: (Channel) -> Void = { _ in }

    func channelActive(_ channel: Channel) {
        seen.isActive = true
        seen.alpn = channel.alpn
        onActive(channel)
        check()
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        seen.bytes.append(contentsOf: bytes)
        onBytes(channel, bytes)
        check()
    }

    func channelReadEnded(_ channel: Channel) {
        seen.readEnded = true
        onReadEnded(channel)
        check()
    }

    func channelWritable(_ channel: Channel) { onWritable(channel) }

    func channelClosed(_ channel: Channel, reason: ChannelCloseReason) {
        #expect(seen.closed == nil, "closed twice")
        seen.closed = reason
        check()
    }

    private func check() {
        for waiter in waiters where waiter.isDone(seen) { waiter.resume(seen) }
        waiters.removeAll { $0.isDone(seen) }
    }

    /// Waits until `isDone` holds; the channels' own deadlines bound the wait.
    func wait(on loop: isolated EventLoop, until isDone: @escaping (Seen) -> Bool) async -> Seen {
        await withCheckedContinuation { continuation in
            // Checked here: before the continuation exists, the loop may run other work, perhaps the last change.
            guard !isDone(seen) else { return continuation.resume(returning: seen) }
            waiters.append((isDone, { continuation.resume(returning: $0) }))
        }
    }
}

let loopback = SocketAddress(ip: "127.0.0.1", port: 0)

/// Writes a new certificate and key to files under a temporary directory.
struct CertificateFiles {
    let certificate: String
    let key: String

    init() throws {
        let directory = try makeTemporaryDirectory()
        certificate = directory + "/certificate.pem"
        key = directory + "/key.pem"
        try renew()
    }

    func renew(names: [String] = ["localhost"]) throws {
        let made = try SelfSignedCertificate(names: names)
        try write(made.certificate, to: certificate)
        try write(made.privateKey, to: key)
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = try #require(fopen(path, "w"))
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}

/// The error from writing to a pipe that nobody can read.
private func writeToBrokenPipe() -> Int32 {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return errno }
    close(ends[0])
    return write(ends[1], [1], 1) < 0 ? errno : 0
}

func withLoop<Result: Sendable>(
    _ body: @Sendable (isolated EventLoop) async throws -> Result
) async throws -> Result {
    let loop = EventLoop(label: "test")
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await loop.run(body)) } catch { result = .failure(error) }
    await loop.stop()
    return try result.get()
}

/// A semaphore for blocking a test's thread.
final class Semaphore: @unchecked Sendable {  // why: made to be shared
    private let handle = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(handle, 0, 0) }

    deinit {
        sem_destroy(handle)
        handle.deallocate()
    }

    func signal() { sem_post(handle) }

    func wait() { while sem_wait(handle) != 0 {} }

    /// False on timeout.
    func wait(seconds: Int) -> Bool {
        var until = timespec()
        clock_gettime(CLOCK_REALTIME, &until)
        until.tv_sec += seconds
        while sem_timedwait(handle, &until) != 0 {
            if errno == ETIMEDOUT { return false }
        }
        return true
    }
}

/// The clock of coarse timers: `CLOCK_MONOTONIC_COARSE`, which advances with the kernel's ticks.
private enum CheapClock {
    /// Nanoseconds between ticks.
    static var tick: Int {
        var step = timespec()
        clock_getres(CLOCK_MONOTONIC_COARSE, &step)
        return step.tv_nsec
    }

    /// Nanoseconds by which it lags behind the precise clock.
    private static var delay: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        let coarse = UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        return Int(clamping: MonotonicTime.current.nanoseconds) - Int(clamping: coarse)
    }

    /// Spins, within a limit, until the lag is as wanted.
    static func spin(until isWanted: (Int) -> Bool) {
        let end = MonotonicTime.current + .milliseconds(20)
        while !isWanted(delay), MonotonicTime.current < end {}
    }
}

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    @Test("a broken pipe is an error on the loop's thread, and elsewhere the end of the process")
    func brokenPipe() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let loop = EventLoop(label: "test")
            let code = await loop.run { _ in writeToBrokenPipe() }
            await loop.stop()
            #expect(code == EPIPE)
        }
        await #expect(processExitsWith: .signal(SIGPIPE)) {
            signal(SIGPIPE, SIG_DFL)
            _ = writeToBrokenPipe()
        }
    }

    @Test("A task started on a loop runs on its thread before and after suspending")
    func tasksStay() async throws {
        try await withLoop { loop in
            let here = loop.isCurrent
            #expect(here)
            let task = loop.spawn { inner in
                #expect(inner.isCurrent)
                await Task.yield()
                #expect(inner.isCurrent)
            }
            await task.value
            #expect(loop.isCurrent)
        }
    }

    @Test("A task on a loop resumes even if every thread of the shared pool is busy")
    func poolIsNotNeeded() async {
        await #expect(processExitsWith: .success) {
            let loop = EventLoop(label: "test")
            let (release, done) = (Semaphore(), Semaphore())
            let hogs = 64
            for _ in 0..<hogs { Task { release.wait() } }
            loop.submit {
                loop.spawn { loop in
                    // Resumed by another thread, then by the loop itself.
                    for resumer in [EventLoop(label: "other"), loop] {
                        await withCheckedContinuation { continuation in
                            resumer.submit { continuation.resume() }
                        }
                        #expect(loop.isCurrent)
                    }
                    done.signal()
                }
            }
            #expect(done.wait(seconds: 10))
            for _ in 0..<hogs { release.signal() }
        }
    }

    @Test("Postponed work runs in order and leaves time for events")
    func putOff() async throws {
        try await withLoop { loop in
            let count = 200
            var done: [Int] = []
            var doneAtTimer: Int?
            let timer = Timer(on: loop) { doneAtTimer = done.count }
            timer.schedule(after: .milliseconds(1))
            await withCheckedContinuation { continuation in
                for number in 0..<count {
                    loop.atNextTurn {
                        let end = MonotonicTime.current + .milliseconds(1)
                        while MonotonicTime.current < end {}
                        done.append(number)
                        if number == count - 1 { continuation.resume() }
                    }
                }
            }
            #expect(done == Array(0..<count))
            #expect(doneAtTimer ?? count < count / 2, "the timer fired too late")
        }
    }

    @Test("Work submitted by other threads runs exactly once, in order per thread")
    func submitted() async throws {
        let loop = EventLoop(label: "test")
        let seen = Lock<[Int]>([])
        await withTaskGroup(of: Void.self) { group in
            for producer in 0..<4 {
                group.addTask {
                    for number in 0..<1_000 {
                        loop.submit { seen.withLock { $0.append(producer * 1_000 + number) } }
                    }
                }
            }
        }
        await loop.stop()
        let all = seen.withLock { $0 }
        #expect(all.sorted() == Array(0..<4_000))
        for producer in 0..<4 {
            let mine = all.filter { $0 / 1_000 == producer }
            #expect(mine == mine.sorted())
        }
    }

    @Test("Timers fire in order of their times, and never after being cancelled")
    func timers() async throws {
        try await withLoop { loop in
            var fired: [Int] = []
            let never = Timer(on: loop) { fired.append(0) }
            never.schedule(after: .milliseconds(1))
            never.cancel()
            let first = Timer(on: loop) { fired.append(1) }
            let began = loop.now
            first.schedule(after: .milliseconds(5))
            var last: Timer?
            await withCheckedContinuation { continuation in
                last = Timer(on: loop) {
                    fired.append(2)
                    continuation.resume()
                }
                last?.schedule(after: .milliseconds(20))
            }
            last = nil
            #expect(fired == [1, 2])
            #expect(MonotonicTime.current.since(began) >= .milliseconds(10))
        }
    }

    @Test("A precise loop's timers never fire early, whatever the cheap clock shows")
    func precise() async throws {
        let loop = EventLoop(label: "test.precise", timers: .precise)
        let tick = CheapClock.tick
        let early = await loop.run { loop in
            var early = 0
            for _ in 0..<20 {
                // By the cheap clock, a whole tick seems to be over as soon as that clock moves.
                CheapClock.spin { $0 > tick * 3 / 4 }
                let began = MonotonicTime.current
                var timer: Timer?
                await withCheckedContinuation { continuation in
                    timer = Timer(on: loop) { continuation.resume() }
                    timer?.schedule(after: .nanoseconds(tick))
                    CheapClock.spin { $0 < tick / 2 }
                }
                timer = nil
                if MonotonicTime.current.since(began) < .nanoseconds(tick) { early += 1 }
            }
            return early
        }
        await loop.stop()
        #expect(early == 0)
    }

    @Test("A timer's callback sees the time after the wait, not before it")
    func nowAfterWaiting() async throws {
        try await withLoop { loop in
            let before = loop.now
            let seen: MonotonicTime = await withCheckedContinuation { continuation in
                var timer: Timer?
                timer = Timer(on: loop) {
                    continuation.resume(returning: loop.now)
                    timer = nil
                }
                timer?.schedule(after: .milliseconds(30))
            }
            #expect(seen.since(before) >= .milliseconds(20))
        }
    }

    @Test("A value whose last box is released on another thread is released on its loop")
    func boundRelease() async throws {
        final class Watched {
            let loop: EventLoop
            let log: Lock<[Bool]>
            init(_ loop: EventLoop, _ log: Lock<[Bool]>) {
                self.loop = loop
                self.log = log
            }
            deinit { log.withLock { $0.append(loop.isCurrent) } }
        }
        let log = Lock<[Bool]>([])
        let loop = EventLoop(label: "test")
        do {
            let bound = await loop.run { loop in LoopBound(Watched(loop, log), on: loop) }
            _ = bound
        }
        await loop.stop()
        #expect(log.withLock { $0 } == [true])
    }
}
