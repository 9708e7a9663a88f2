import JSON
import Network
import PushSealing
import Testing
import WebClient

@testable import AgentBridge

/// Cases that the recorded streams don't cover; `1.x-activity` and `2.x-activity` show the course of a run.
@Suite("States for Live Activities", .timeLimit(.minutes(2)))
struct ActivityBoardTests {
    private let zero = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func at(_ seconds: Int64) -> MonotonicTime { zero + .seconds(seconds) }

    private func board(interval: Int64 = 15, hasTexts: Bool = false) -> ActivityBoard {
        ActivityBoard(ActivityBoard.Options(interval: .seconds(interval), hasTexts: hasTexts))
    }

    private func session(_ number: Int = 1) throws -> SessionID { try #require(SessionID("ses_\(number)")) }

    @Test("only the current state is sent, and nothing accumulates while the relay is unavailable")
    func away() throws {
        let one = try session()
        var board = board()
        var work = Work(since: zero)
        _ = board.update([one: work], at(0))
        #expect(board.next(at(4)) == nil)
        let start = ActivityBoard.Job.post(one, isStart: true, ContentState(status: .working))
        #expect(board.next(at(5)) == start)
        #expect(board.finish(one, .unreachable("x"), at(5)) == false)
        for second in 6...19 as ClosedRange<Int64> {
            work.status = second.isMultiple(of: 2) ? .retry : .working
            _ = board.update([one: work], at(second))
            #expect(board.next(at(second)) == nil)
        }
        #expect(board.next(at(20)) == start, "it is still to be started")
        #expect(board.finish(one, .later("x", .seconds(40)), at(20)) == false)
        #expect(board.next(at(59)) == nil && board.next(at(60)) == start)
        #expect(board.finish(one, .accepted(""), at(60)) == false)
        work.status = .permission
        _ = board.update([one: work], at(61))
        #expect(board.next(at(75)) == .post(one, isStart: false, ContentState(status: .permission)))
        #expect(board.next(at(76)) == nil)
        #expect(board.finish(one, .refused("old"), at(76)) == false)
        #expect(board.next(at(675)) == nil && board.next(at(676)) != nil)
    }

    @Test("an activity is ended once: by a notification, otherwise by an end event")
    func ends() throws {
        let one = try session()
        for type in EventType.allCases {
            var board = board()
            _ = board.update([one: Work(since: zero)], at(0))
            #expect(board.next(at(5)) != nil)
            #expect(board.finish(one, .accepted(""), at(5)) == false)
            let ring = Ring(type: type, session: one, key: "k", title: "T", body: "B", name: "Fix")
            #expect(board.rang(ring, at(6)).status.rawValue == type.rawValue)
            let ended = board.update([:], at(7))
            #expect(ended == (type == .permission ? [one: ContentState(status: .complete)] : [:]))
            #expect(board.update([:], at(8)) == [:])
        }
        var unstarted = board()
        _ = unstarted.update([one: Work(since: zero)], at(0))
        #expect(unstarted.update([:], at(1)) == [:])
    }

    @Test("a session that ends while its start is being sent is ended afterwards")
    func race() throws {
        let one = try session()
        var board = board()
        _ = board.update([one: Work(since: zero)], at(0))
        #expect(board.next(at(5)) != nil)
        #expect(board.update([:], at(6)) == [:])
        #expect(board.finish(one, .accepted(""), at(7)) == true)
        // A failed run may go on for a moment; that isn't a new run.
        _ = board.update([one: Work(since: at(8))], at(8))
        _ = board.rang(Ring(type: .error, session: one, key: "k", title: "T", body: "B"), at(9))
        _ = board.update([one: Work(since: at(8))], at(30))
        #expect(board.next(at(30)) == nil)
        _ = board.update([one: Work(since: at(31))], at(31))
        #expect(board.next(at(36)) == .post(one, isStart: true, ContentState(status: .working)))
    }

    @Test("the number of sessions is bounded, and each gets its turn")
    func bound() throws {
        var board = board()
        var works: [SessionID: Work] = [:]
        for number in 0..<40 { works[try session(number)] = Work(since: at(Int64(number))) }
        _ = board.update(works, at(40))
        var posted: [SessionID] = []
        while case .post(let session, _, _)? = board.next(at(60)) {
            posted.append(session)
            #expect(board.finish(session, .accepted(""), at(60)) == false)
        }
        #expect(try posted == (0..<Bounds.activitiesMax).map { try session($0) })
    }

    @Test("texts are read before each state, shortened, and left out if texts are sealed")
    func texts() throws {
        let one = try session()
        var work = Work(since: zero, directory: "/p", todos: TodoCount(done: 1, total: 2))
        work.retry = Retry(attempt: 2, message: "Overloaded", next: nil)
        var readable = board(hasTexts: true)
        _ = readable.update([one: work], at(0))
        #expect(readable.next(at(5)) == .read(one, work))
        var reading = Reading()
        reading.title = String(repeating: "\"", count: 5_000)
        reading.text = String(repeating: "\\ ", count: 5_000)
        reading.tool = String(repeating: "t", count: 5_000)
        readable.read(one, reading)
        guard case .post(_, true, let state)? = readable.next(at(5)) else {
            Issue.record("no start")
            return
        }
        #expect(state.todos == work.todos && state.retry == work.retry && !state.text.isEmpty)
        var writer = JSON.Writer()
        state.write(to: &writer)
        let bytes = writer.finish()
        #expect(bytes.count < 3_000, "the relay takes 3,500")
        #expect(ContentState(try JSON.parse(bytes, maxBytes: 1 << 16)) == state)

        var sealed = board()
        _ = sealed.update([one: work], at(0))
        #expect(sealed.next(at(5)) == .post(one, isStart: true, ContentState(status: .working)))
        let ring = Ring(type: .complete, session: one, key: "k", title: "T", body: "B", name: "Fix")
        #expect(sealed.rang(ring, at(6)) == ContentState(status: .complete))
        #expect(readable.rang(ring, at(6)).title == "Fix")
    }

    @Test("the queue stores an event's state in sealed form")
    func queued() throws {
        let one = try session()
        let state = ContentState(
            status: .error, title: "Fix", text: "Done.", retry: Retry(attempt: 1, message: "m", next: 7),
            tool: "bash", todos: TodoCount(done: 1, total: 3))
        let ring = Ring(type: .error, session: one, key: "k", title: "T", body: "B")
        let event = QueuedEvent(ring, at: 1, showing: state)
        #expect(QueueRecord(line: QueueRecord.put(event).line.dropLast()) == .put(event))
        let end = QueuedEvent(id: "oc-1", at: 1, type: .end, session: one, text: .general, state: state)
        #expect(QueueRecord(line: QueueRecord.put(end).line.dropLast()) == .put(end))
        let sealer = Sealer(PairingSecret(), serverID: "srv", hidesSessions: true)
        #expect(sealer.sealed(event, at: 1).state == ContentState(status: .error))
        let relay = RelayClient(address: try WebAddress("https://r"), secret: "s")
        let body = try JSON.parse(relay.body(end), maxBytes: 1 << 16)
        #expect(body["eventType"] == "end" && body["title"] == nil)
        #expect(body["contentState"]?["retryInfo"] == ["attempt": 1, "message": "m", "next": 7])
        let start = try JSON.parse(relay.body(state, of: one, isStart: true), maxBytes: 1 << 16)
        #expect(start["eventType"] == "start" && start["title"] == "Fix" && start["eventID"] == nil)
        let progress = try JSON.parse(relay.body(state, of: one, isStart: false), maxBytes: 1 << 16)
        #expect(progress["eventType"] == "progress" && progress["title"] == nil)
    }
}
