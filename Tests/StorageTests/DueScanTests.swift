import Storage
import Testing

@Suite("The scan for due pushes", .timeLimit(.minutes(2)))
struct DueScanTests {
    private func secret(_ number: Int) -> SecretHash { SecretHash(Digest256(of: Array("\(number)".utf8))) }

    private func rows(of number: Int, _ count: Int, from time: EpochMilliseconds = 0) -> [DuePush] {
        (0..<count).map {
            DuePush(secretHash: secret(number), id: "\(number)-\($0)", dueAt: time + Int64($0))
        }
    }

    @Test("a window that isn't full ends it")
    func end() {
        var scan = DueScan(limit: 10)
        #expect(scan.excluded == [])
        scan.add(rows(of: 1, StorageLimits.claimWindow - 1))
        #expect(scan.excluded == nil)
        #expect(scan.rows.inTurn(limit: 10).map(\.id) == (0..<10).map { "1-\($0)" })
    }

    @Test("a full window is followed by one without its secrets")
    func excludes() {
        var scan = DueScan(limit: 4)
        scan.add(rows(of: 1, StorageLimits.claimWindow))
        #expect(scan.excluded == [secret(1)])
        scan.add(rows(of: 2, StorageLimits.claimWindow, from: 10_000))
        #expect(scan.excluded.map(Set.init) == [secret(1), secret(2)])
        scan.add(rows(of: 3, 1, from: 20_000))
        #expect(scan.excluded == nil)
        #expect(scan.rows.inTurn(limit: 4).map(\.id) == ["1-0", "2-0", "3-0", "1-1"])
    }

    @Test("it ends when there is a push of a different secret for each that may be claimed")
    func enough() {
        var scan = DueScan(limit: 3)
        scan.add((0..<StorageLimits.claimWindow).map { rows(of: $0, 1)[0] })
        #expect(scan.excluded == nil)
        #expect(Set(scan.rows.inTurn(limit: 3).map(\.secretHash)).count == 3)
    }

    @Test("it never excludes more secrets than a query can name")
    func bound() {
        var scan = DueScan(limit: 1_000)
        var next = 0
        while let excluded = scan.excluded {
            #expect(excluded.count <= StorageLimits.claimExcludedSecretsMax)
            let window = (0..<StorageLimits.claimWindow).map { rows(of: next + $0 % 5, 1)[0] }
            next += 5
            scan.add(window)
        }
        #expect(next <= StorageLimits.claimExcludedSecretsMax + 5)
    }

    @Test("among the oldest alone there is one window, full or not")
    func oldest() {
        var scan = DueScan(limit: 10, scope: .oldest)
        #expect(scan.excluded == [])
        scan.add(rows(of: 1, StorageLimits.claimWindow))
        #expect(scan.excluded == nil)
        #expect(scan.rows.inTurn(limit: 10).count == 10)
    }

    @Test("nothing is asked where nothing may be claimed")
    func zero() {
        #expect(DueScan(limit: 0).excluded == nil)
        #expect(rows(of: 1, 2).inTurn(limit: -1) == [])
    }
}
