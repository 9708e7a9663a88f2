import Network
import Testing

@testable import AgentBridge

@Suite("Rules for events that no stream reports", .timeLimit(.minutes(2)))
struct RunModelTests {
    private func at(_ seconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000_000) + .seconds(seconds)
    }

    @Test(
        "lost runs of a stopped server ring once; sub-agents' runs and failed ones don't"
    )
    func serverGone() throws {
        var model = RunModel()
        let root = try #require(SessionID("ses_1"))
        let child = try #require(SessionID("ses_2"))
        let failed = try #require(SessionID("ses_3"))
        for (session, parent) in [(root, nil), (child, root), (failed, nil)] as [(SessionID, SessionID?)] {
            _ = model.handle(.session(session, parent: parent, directory: "/home/ada/shop"), at: at(0))
            _ = model.handle(.busy(session, directory: nil), at: at(0))
        }
        _ = model.handle(.failed(failed, RunError(name: "APIError"), mark: "evt_1"), at: at(1))
        let request = Request(id: "per_1", session: root, kind: .permission)
        _ = model.handle(.resumed([], [request]), at: at(1))
        let lost = model.handle(.serverGone, at: at(40))
        #expect(lost.contains(.over("per_1", .withdrawn)))
        let reads = lost.compactMap { action -> RingID? in
            if case .read(let id, root, _, _, _) = action { id } else { nil }
        }
        #expect(reads.count == 1)
        let rings = model.handle(.read(try #require(reads.first), nil), at: at(50)).compactMap { action in
            if case .ring(let ring) = action { ring } else { nil }
        }
        #expect(rings.map(\.title) == ["Error: shop"])
        #expect(rings.map(\.body) == ["The OpenCode server stopped during this run."])
        #expect(model.handle(.serverGone, at: at(90)) == [])
    }

    @Test("a request rings unless the list lacks it, and an unreachable server is queried again")
    func listings() throws {
        for (listing, rings) in [
            (.listed, true), (.unlistable, true), (.notListed, false), (.unknown, false),
        ]
            as [(Listing, Bool)]
        {
            var model = RunModel()
            let session = try #require(SessionID("ses_1"))
            _ = model.handle(.session(session, parent: nil, directory: nil), at: at(0))
            _ = model.handle(.opened(Request(id: "per_1", session: session, kind: .permission)), at: at(0))
            #expect(model.handle(.tick, at: at(14)) == [])
            #expect(model.handle(.tick, at: at(15)).count == 1)
            let actions = model.handle(.checked("per_1", listing), at: at(16))
            #expect(actions.contains { if case .read = $0 { true } else { false } } == rings)
            let again = model.handle(.tick, at: at(16) + Bounds.requestRecheckPause)
            #expect(again.isEmpty == (listing != .unknown))
        }
    }

    @Test("later events about deleted sessions are ignored, however many there are")
    func deletions() throws {
        var model = RunModel()
        let root = try #require(SessionID("ses_1"))
        let child = try #require(SessionID("ses_2"))
        _ = model.handle(.session(root, parent: nil, directory: nil), at: at(0))
        _ = model.handle(.session(child, parent: root, directory: nil), at: at(0))
        _ = model.handle(.opened(Request(id: "per_1", session: child, kind: .permission)), at: at(0))
        _ = model.handle(.deleted(root), at: at(1))
        #expect(model.requests.isEmpty && model.tree.count == 0)
        for session in [root, child] {
            #expect(model.handle(.failed(session, RunError(name: "APIError"), mark: nil), at: at(2)) == [])
            #expect(model.handle(.busy(session, directory: nil), at: at(2)) == [])
        }
        for number in 0..<Bounds.deletedSessionsMax * 2 {
            _ = model.handle(.deleted(try #require(SessionID("ses_x\(number)"))), at: at(3))
        }
        #expect(model.tree.isDeleted(try #require(SessionID("ses_x\(Bounds.deletedSessionsMax)"))))
        #expect(!model.tree.isDeleted(root))
    }
}
