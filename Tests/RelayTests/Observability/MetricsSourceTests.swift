import Dispatch
import Network
import Storage
import Testing

@testable import HTTPServer
@testable import Relay

@Suite("Where metrics come from", .timeLimit(.minutes(2)))
struct MetricsSourceTests {
    /// A source over a fixture's only loop, with no clients in use.
    private func source(of relay: RelayFixture, _ ledger: ConnectionLedger) async -> MetricsSource {
        let clients = await relay.loop.run { loop in
            LoopBound(LoopClients { _, _ in fatalError("nothing is sent") }, on: loop)
        }
        let shared = await relay.onLoop { $0.services.shared }
        var source = MetricsSource(
            loops: [MetricsSource.Loop(services: relay.services, clients: clients)], shared: shared,
            ledger: ledger, connectionsMax: 1, tls: nil, database: "fake")
        // The machine may be slow; tests of the deadlines set shorter ones.
        source.reportDeadline = .seconds(60)
        source.readinessDeadline = .seconds(60)
        return source
    }

    private func ledger() -> ConnectionLedger {
        var limits = Limits()
        limits.connectionsMax = 1
        return ConnectionLedger(limits: limits)
    }

    @Test("Connections that were refused count among the limits, those that are open for themselves")
    func connections() async throws {
        try await RelayFixture.with { relay in
            let ledger = ledger()
            #expect(ledger.admit(nil, bytes: 7) == .admitted)
            for _ in 0..<2 { ledger.noteRefused() }
            ledger.noteEvicted()
            let snapshot = try #require(await source(of: relay, ledger).snapshot())
            #expect(snapshot.connections == 1 && snapshot.connectionMemoryBytes == 7)
            #expect(snapshot.connectionsEvicted == 1)
            let limits = snapshot.loops.counts.limitSamples
            #expect(limits.first { $0.labels == ["connections"] }?.value == .integer(2))
            #expect(snapshot.readiness.isReady)
        }
    }

    @Test("A database that takes longer than a scrape may is none")
    func slowDatabase() async throws {
        try await RelayFixture.with { relay in
            let gate = Gate()
            relay.storage.state.withLock { $0.pingGate = gate }
            var source = await source(of: relay, ledger())
            source.readinessDeadline = .milliseconds(10)
            let snapshot = try #require(await source.snapshot())
            #expect(snapshot.readiness.storage == "unavailable" && snapshot.readiness.queue == "unknown")
            gate.open()
        }
    }

    @Test("While a loop doesn't answer there are no metrics, rather than sums that go back")
    func silentLoop() async throws {
        try await RelayFixture.with { relay in
            var source = await source(of: relay, ledger())
            source.reportDeadline = .milliseconds(10)
            source.readinessDeadline = .milliseconds(10)
            let release = DispatchSemaphore(value: 0)
            relay.loop.submit { release.wait() }
            #expect(await source.snapshot() == nil)
            release.signal()
        }
    }
}
