import Network
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(2)))
struct LedgerTests {
    private func address(_ text: String) throws -> SocketAddress {
        try #require(SocketAddress(ip: text, port: 1))
    }

    private func limits(all: Int, each: Int) -> Limits {
        var limits = Limits()
        limits.connectionsMax = all
        limits.connectionsPerAddressMax = each
        return limits
    }

    @Test(
        "A ledger counts connections in total and per client, and exempt addresses have no limit of their own"
    )
    func counts() throws {
        let proxy = try address("10.0.0.1")
        let ledger = ConnectionLedger(limits: limits(all: 4, each: 2)) { $0.host == proxy.host }
        let client = try address("2001:db8::1")
        let neighbour = try address("2001:db8::2")
        let other = try address("2001:db8:0:1::1")
        #expect(ledger.admit(client, bytes: 1) == .admitted)
        #expect(ledger.admit(neighbour, bytes: 1) == .admitted)
        #expect(ledger.admit(client, bytes: 1) == .refused, "one /64 is one client")
        #expect(ledger.admit(other, bytes: 1) == .admitted)
        ledger.release(neighbour, bytes: 1)
        #expect(ledger.admit(client, bytes: 1) == .admitted)
        ledger.release(other, bytes: 1)
        for _ in 0..<2 { #expect(ledger.admit(proxy, bytes: 1) == .admitted) }
        #expect(ledger.admit(proxy, bytes: 1) == .connectionsFull, "four in all")
        ledger.release(client, bytes: 1)
        ledger.release(client, bytes: 1)
        for _ in 0..<2 { #expect(ledger.admit(proxy, bytes: 1) == .admitted, "no cap of its own") }
        #expect(ledger.admit(proxy, bytes: 1) == .connectionsFull)
        #expect(ledger.count == 4 && ledger.memoryBytes == 4)
    }

    @Test("A ledger counts memory and admits no connection beyond its limit")
    func memory() throws {
        var limits = limits(all: 10, each: 10)
        limits.connectionMemoryBytesMax = 100
        let ledger = ConnectionLedger(limits: limits)
        #expect(ledger.admit(nil, bytes: 60) == .admitted)
        #expect(ledger.admit(nil, bytes: 41) == .memoryFull)
        #expect(ledger.admit(nil, bytes: 40) == .admitted)
        #expect(!ledger.isMemoryFull)
        #expect(ledger.addBytes(1))
        #expect(ledger.isMemoryFull)
        #expect(!ledger.addBytes(-1))
        ledger.release(nil, bytes: 60)
        #expect(ledger.memoryBytes == 40)
    }

    @Test("The limit per address falls once the server is half full, so a few addresses can't fill it")
    func addressShare() throws {
        let share = AddressShare(limits(all: 16_384, each: 1_024))
        #expect(share.perAddress(open: 0) == 1_024)
        #expect(share.perAddress(open: 8_192) == 1_024)
        #expect((519...521).contains(share.perAddress(open: 12_288)))
        #expect(share.perAddress(open: 16_384) == 16)
        #expect(share.perAddress(open: 20_000) == 16)
        // Sixteen addresses take turns opening as many connections as they can.
        let ledger = ConnectionLedger(limits: limits(all: 16_384, each: 1_024))
        let attackers = try (1...16).map { try address("192.0.2.\($0)") }
        var isGrowing = true
        while isGrowing {
            isGrowing = false
            for attacker in attackers where ledger.admit(attacker, bytes: 0) == .admitted { isGrowing = true }
        }
        #expect((10_000..<12_000).contains(ledger.count))
        #expect(try ledger.admit(address("198.51.100.7"), bytes: 0) == .admitted)
    }

    @Test("The limit per address doesn't fall if it is as high as the limit for all")
    func noShares() {
        let share = AddressShare(limits(all: 32, each: 32))
        #expect(share.perAddress(open: 31) == 32)
    }

    @Test("An IPv6 /48 may have as many connections as four addresses")
    func site() throws {
        let ledger = ConnectionLedger(limits: limits(all: 1_000, each: 10))
        var admitted = 0
        for network in 0..<100 {
            if try ledger.admit(address("2001:db8:7:\(network)::1"), bytes: 0) == .admitted { admitted += 1 }
        }
        #expect(admitted == 40)
        #expect(try ledger.admit(address("2001:db8:8::1"), bytes: 0) == .admitted)
        try ledger.release(address("2001:db8:7:1::1"), bytes: 0)
        #expect(try ledger.admit(address("2001:db8:7:99::1"), bytes: 0) == .admitted)
    }
}

@Suite(.timeLimit(.minutes(2)))
struct EvictionQueueTests {
    private func at(_ seconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: seconds * 1_000_000_000)
    }

    @Test("Connections are evicted in the order in which they were last active")
    func order() {
        var random = SystemRandomNumberGenerator()
        var queue = EvictionQueue()
        var active: [UInt64: UInt64] = [:]
        let judge: (UInt64, MonotonicTime) -> EvictionQueue.Verdict = { id, since in
            guard let seconds = active[id] else { return .forget }
            return self.at(seconds) > since ? .keep(since: self.at(seconds)) : .evict
        }
        for clock in 0..<500 as Range<UInt64> {
            active[clock] = clock
            queue.add(clock, since: at(clock), judge: judge)
            // Random connections become active or close, and occasionally one is evicted.
            if let id = active.keys.randomElement(using: &random) { active[id] = clock }
            if clock % 5 == 0, let id = active.keys.randomElement(using: &random) { active[id] = nil }
            guard clock % 3 == 0 else { continue }
            let longest = active.values.min()
            let taken = queue.takeFirst(judge: judge)
            #expect(taken.flatMap { active[$0] } == longest)
            if let taken { active[taken] = nil }
        }
    }

    @Test("When every connection is busy, none is evicted and all stay in the queue")
    func busy() {
        var queue = EvictionQueue()
        for id in 0..<100 as Range<UInt64> {
            queue.add(id, since: at(id)) { _, since in .keep(since: since) }
        }
        #expect(queue.takeFirst { _, _ in .keep(since: at(1_000)) } == nil)
        #expect(queue.count == 100)
        #expect(queue.takeFirst { id, _ in id == 42 ? .evict : .keep(since: at(1_001)) } == 42)
    }

    @Test("Entries of closed connections are purged even if nothing is evicted")
    func tidy() {
        var queue = EvictionQueue()
        for id in 0..<100_000 as Range<UInt64> {
            queue.add(id, since: at(0)) { entry, _ in entry + 10 > id ? .evict : .forget }
            guard queue.count <= 200 else {
                Issue.record("\(queue.count) entries for 10 connections")
                return
            }
        }
        #expect(queue.takeFirst { entry, _ in entry >= 99_990 ? .evict : .forget } ?? 0 >= 99_990)
    }
}
