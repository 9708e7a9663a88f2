import Glibc
import Network
import Programs
import Testing

@testable import Relay

private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

/// A bucket with its state, as kept by a limiter.
private final class Kept {
    let bucket: TokenBucket
    var fullAt = MonotonicTime(nanoseconds: 0)

    init(perMinute rate: Int) { bucket = TokenBucket(perMinute: rate) }

    /// The wait when there is no token.
    func take(at now: MonotonicTime) -> Duration? {
        switch bucket.take(fullAt: fullAt, at: now) {
        case .taken(let fullAt):
            self.fullAt = fullAt
            return nil
        case .refused(let wait): return wait
        }
    }
}

@Suite("Token buckets", .timeLimit(.minutes(2)))
struct TokenBucketTests {
    @Test(
        "A full bucket gives a minute's worth at once, then nothing", arguments: [1, 2, 7, 60, 600, 10_000])
    func burst(rate: Int) {
        let kept = Kept(perMinute: rate)
        for _ in 0..<rate { #expect(kept.take(at: start) == nil) }
        #expect(kept.take(at: start) != nil)
    }

    @Test("The wait that it tells is exact: a token is there then, and not a nanosecond sooner")
    func wait() throws {
        for rate in [1, 7, 60, 601] {
            let kept = Kept(perMinute: rate)
            var now = start
            for _ in 0..<rate { _ = kept.take(at: now) }
            for _ in 0..<5 {
                let wait = try #require(kept.take(at: now))
                #expect(wait > .zero && wait <= .seconds(60))
                #expect(kept.take(at: now + (wait - .nanoseconds(1))) != nil)
                now = now + wait
                #expect(kept.take(at: now) == nil)
            }
        }
    }

    @Test("In the long run it gives its rate, whatever the rhythm of the requests")
    func rate() {
        var random = IDGenerator(seed: 7)
        for rate in [1, 60, 600] {
            let kept = Kept(perMinute: rate)
            var now = start
            var taken = 0
            while now < start + .seconds(3600) {
                if kept.take(at: now) == nil { taken += 1 }
                now = now + .nanoseconds(Int64.random(in: 0...(20_000_000_000 / Int64(rate)), using: &random))
            }
            #expect(taken <= 61 * rate + 1)
            // A bucket that is full for a while loses the tokens that it could have gained.
            #expect(taken >= 45 * rate)
        }
    }

    @Test("A time that goes back a little, as between two loops, gives no token and takes none away")
    func timeGoesBack() {
        let kept = Kept(perMinute: 3)
        #expect(kept.take(at: start) == nil)
        #expect(kept.take(at: MonotonicTime(nanoseconds: start.nanoseconds - 5)) == nil)
        #expect(kept.take(at: start) == nil)
        #expect(kept.take(at: start) == .seconds(20))
    }

    @Test("Whole seconds are rounded up, and never zero")
    func seconds() {
        #expect(RateLimits.wholeSeconds(.nanoseconds(1)) == 1)
        #expect(RateLimits.wholeSeconds(.seconds(1)) == 1)
        #expect(RateLimits.wholeSeconds(.seconds(1) + .nanoseconds(1)) == 2)
        #expect(RateLimits.wholeSeconds(.zero) == 1)
        #expect(RateLimits.wholeSeconds(.seconds(60)) == 60)
    }
}

@Suite("Limiters", .timeLimit(.minutes(2)))
struct RateLimiterTests {
    @Test("Keys don't share a bucket")
    func keys() throws {
        let limiter = try #require(RateLimiter(perMinute: 2))
        for key in 0..<100 {
            #expect(limiter.take(key, at: start) == nil)
            #expect(limiter.take(key, at: start) == nil)
        }
        for key in 0..<100 { #expect(limiter.take(key, at: start) == .seconds(30)) }
    }

    @Test("A rate of 0 is no limiter")
    func off() {
        #expect(RateLimiter(perMinute: 0) == nil)
    }

    /// Measured in a separate process, since other tests allocate memory at the same time.
    @Test("Memory stays as it is under a million keys, and whoever was refused stays refused")
    func flood() async {
        await #expect(processExitsWith: .success) {
            let limiter = try #require(RateLimiter(perMinute: 100))
            for _ in 0..<100 { #expect(limiter.take("busy", at: start) == nil) }
            // The table exists from the start and is written before the first measurement; a place for each of the
            // million keys would take 16 MB.
            for key in 0..<200_000 { _ = limiter.take(key, at: start) }
            let before = residentBytes()
            for key in 200_000..<1_200_000 { #expect(limiter.take(key, at: start) == nil) }
            let growth = residentBytes() - before
            #expect(before > 0 && growth < 4_000_000, "\(growth) bytes more")
            #expect(limiter.take("busy", at: start) != nil)
        }
    }

    @Test("Loops together take no more than one may, however they meet")
    func threads() async throws {
        let limiter = try #require(RateLimiter(perMinute: 1000))
        let taken = await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    var taken = 0
                    for _ in 0..<500 where limiter.take("one", at: start) == nil { taken += 1 }
                    return taken
                }
            }
            return await group.reduce(0, +)
        }
        #expect(taken == 1000)
    }
}

private func residentBytes() -> Int {
    guard case .success(let bytes) = SettingFile.read("/proc/self/statm") else { return 0 }
    let fields = String(decoding: bytes, as: UTF8.self).split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
}

@Suite("A table of buckets", .timeLimit(.minutes(2)))
struct BucketTableTests {
    @Test("A key without a place takes that of the bucket nearest to being full")
    func eviction() {
        let bucket = TokenBucket(perMinute: 10)
        var table = BucketTable(places: BucketTable.ways)
        func take(_ tag: UInt64) -> Duration? { table.take(tag, bucket, at: start) }
        for tag in 1...8 as ClosedRange<UInt64> {
            // The first key took one token, the eighth took eight.
            for _ in 0..<tag { #expect(take(tag) == nil) }
        }
        #expect(take(100) == nil)
        #expect(take(100) == nil)
        // Key 1 was evicted for key 100; all others are unchanged.
        for _ in 0..<2 { #expect(take(8) == nil) }
        #expect(take(8) == .seconds(6))
        for _ in 0..<10 { #expect(take(1) == nil) }
        #expect(take(1) == .seconds(6))
    }

    @Test("A bucket that is full again is a place that is free")
    func full() {
        let bucket = TokenBucket(perMinute: 60)
        var table = BucketTable(places: BucketTable.ways)
        func take(_ tag: UInt64, at now: MonotonicTime) -> Duration? { table.take(tag, bucket, at: now) }
        for tag in 1...8 as ClosedRange<UInt64> { #expect(take(tag, at: start) == nil) }
        let later = start + .seconds(10)
        for _ in 0..<60 { #expect(take(50, at: later) == nil) }
        #expect(take(50, at: later) == .seconds(1))
    }
}
