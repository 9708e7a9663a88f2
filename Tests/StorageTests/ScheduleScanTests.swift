import Testing

@testable import Storage

@Suite("The choice of due schedules", .timeLimit(.minutes(2)))
struct ScheduleScanTests {
    /// A secret whose rows are in the given part of the table.
    private func secret(_ number: Int, inBucket bucket: Int) -> SecretHash {
        var found = 0
        var candidate = 0
        while true {
            let hash = SecretHash(Digest256(of: Array("\(candidate)".utf8)))
            candidate += 1
            guard hash.bucket == bucket else { continue }
            if found == number { return hash }
            found += 1
        }
    }

    private func rows(_ name: String, of secret: SecretHash, _ count: Int, from time: EpochMilliseconds = 0)
        -> [DueSchedule]
    {
        (0..<count).map { DueSchedule(secretHash: secret, id: "\(name)-\($0)", dueAt: time + Int64($0)) }
    }

    @Test("the parts of the table are those from the first on, and continue at the beginning")
    func buckets() {
        #expect(ScheduleScan(start: 3, limit: 9).buckets == [3, 4, 5, 6, 7, 8, 9, 10])
        #expect(ScheduleScan(start: 61, limit: 9).buckets == [61, 62, 63, 0, 1, 2, 3, 4])
        let visited = stride(from: 0, to: StorageLimits.buckets, by: StorageLimits.scheduleBucketsPerClaim)
            .flatMap { ScheduleScan(start: $0, limit: 9).buckets }
        #expect(visited == Array(0..<StorageLimits.buckets))
    }

    @Test("secrets take turns, each with its oldest first, in whatever order they were read")
    func turns() {
        let busy = rows("busy", of: secret(0, inBucket: 5), 600)
        let other = rows("other", of: secret(1, inBucket: 5), 2, from: 10_000)
        let scan = ScheduleScan(start: 5, limit: 6)
        let expected = ["busy-0", "other-0", "busy-1", "other-1", "busy-2", "busy-3"]
        #expect(scan.chosen(from: busy + other).map(\.id) == expected)
        #expect(scan.chosen(from: (busy + other).reversed()).map(\.id) == expected)
    }

    @Test("the parts of the table that are nearest after the first come first, whatever is older")
    func distance() {
        let all = [3, 10, 60].flatMap { bucket in
            rows("\(bucket)", of: secret(0, inBucket: bucket), 1, from: EpochMilliseconds(bucket))
        }
        func order(from start: Int) -> [String] {
            ScheduleScan(start: start, limit: 9).chosen(from: all).map(\.id)
        }
        #expect(order(from: 0) == ["3-0", "10-0", "60-0"])
        #expect(order(from: 4) == ["10-0", "60-0", "3-0"])
        #expect(order(from: 60) == ["60-0", "3-0", "10-0"])
        #expect(order(from: 63) == ["3-0", "10-0", "60-0"])
    }

    @Test("no more than the limit are chosen, and none without one")
    func limit() {
        let some = rows("a", of: secret(0, inBucket: 0), 3)
        #expect(ScheduleScan(start: 0, limit: 2).chosen(from: some).count == 2)
        #expect(ScheduleScan(start: 0, limit: 0).chosen(from: some) == [])
        #expect(ScheduleScan(start: 0, limit: -1).chosen(from: some) == [])
        #expect(ScheduleScan(start: 0, limit: 9).chosen(from: []) == [])
    }
}
