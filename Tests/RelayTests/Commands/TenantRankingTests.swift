import Programs
import Storage
import Testing

@testable import Relay

@Suite("Tenants in order", .timeLimit(.minutes(2)))
struct TenantRankingTests {
    private static func tenant(_ number: Int, devices: Int = 0, waiting: Int = 0, used: Int64? = nil)
        -> Tenant
    {
        var tenant = Tenant(secretHash: SecretHash(Digest256(of: [UInt8(number)])))
        tenant.devices = devices
        tenant.waiting = waiting
        tenant.deliveredAt = used
        return tenant
    }

    @Test("Pages put together are all tenants, the highest first, whatever was added when", arguments: 1...7)
    func pages(limit: Int) {
        var tenants = (0..<40).map { Self.tenant($0, devices: $0 % 5, waiting: $0 % 3, used: Int64($0 % 7)) }
        for sort in TenantSort.allCases {
            let expected = tenants.sorted { sort.cursor(of: $0).isBefore(sort.cursor(of: $1)) }
            var found: [Tenant] = []
            var after: TenantCursor?
            repeat {
                tenants.shuffle()
                var ranking = TenantRanking(by: sort, after: after, limit: limit)
                tenants.forEach { ranking.add($0) }
                #expect(ranking.total == 40)
                found += ranking.page.tenants
                after = ranking.page.next
            } while after != nil && found.count < 100
            #expect(found == expected)
            let values = found.map { sort.value(of: $0) }
            #expect(values == values.sorted(by: >))
        }
    }

    @Test("A cursor is read as it was printed, and nothing else is one")
    func cursors() {
        let hash = SecretHash(Digest256(of: [1]))
        let cursor = TenantCursor(value: 12, secretHash: hash)
        #expect(TenantCursor(cursor.description) == cursor)
        for text in ["", "12", "12-", "12-abc", "x-\(hash.hex)", "-12-\(hash.hex)", "12-\(hash.hex)-"] {
            #expect(TenantCursor(text) == nil, "\(text)")
        }
        let place = WaitingCursor(dueAt: 5, secretHash: hash, id: "01a1fe7c-8f1b-7c11-9d53-3a2f1c6b7d10")
        #expect(WaitingCursor(place.text) == place)
        #expect(WaitingCursor("5-\(hash.hex)") == nil && WaitingCursor("a-b-c") == nil)
    }

    @Test("A hash may be given as logs and commands show it, and has 8 digits or more")
    func prefixes() {
        #expect(SecretHashPrefix("1F8B00aa")?.digits == "1f8b00aa")
        #expect(SecretHashPrefix("1f8b00aa1f8b…")?.digits == "1f8b00aa1f8b")
        #expect(SecretHashPrefix("1f8b00aa1f8b")?.hash == nil)
        let hash = SecretHash(Digest256(of: [1]))
        #expect(SecretHashPrefix(hash.hex)?.hash == hash)
        for text in ["", "1f8b00a", "1f8b00a…", "1f8b00ag", "…1f8b00aa", hash.hex + "0"] {
            #expect(SecretHashPrefix(text) == nil, "\(text)")
        }
    }

    @Test("The queue's summary tells how much waits and that reasons aren't kept")
    func summary() {
        let hash = SecretHash(Digest256(of: [1]))
        let push = WaitingPush(
            secretHash: hash, id: "id", deviceID: "d", eventType: "complete", attempts: 3, dueAt: 100_000,
            isLeased: false, createdAt: 40_000, expiresAt: 90_000_000)
        var report = QueueReport(pushes: [push], isComplete: true, now: 160_000)
        report.waiting = 1
        report.firstDue = 100_000
        let text = report.text(.plain)
        #expect(
            text.contains(
                "1 push is waiting; the oldest has been due for 1m. The database doesn't store the cause"))
        #expect(text.contains("2m") && !text.contains(hash.hex))
        report.waiting = 1_000_000
        report.waitingMayBeMore = true
        #expect(report.text(.plain).contains("At least 1,000,000 pushes are waiting"))
        let empty = QueueReport(pushes: [], isComplete: true, now: 0)
        #expect(empty.text(.plain) == "No push is waiting\n")
    }
}
