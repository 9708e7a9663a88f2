import Foundation
import JSON
import Network

@testable import AgentBridge

/// A recorded stream with the server's responses, from a file of JSON lines in `Streams`.
///
/// | line | meaning |
/// |---|---|
/// | `{"generation":1,"commands":true}` | the server's generation; whether commands are shown |
/// | `{"at":1.5,"frame":{…}}` | a frame arrives |
/// | `{"at":1.5,"snapshot":{"busy":{…},"requests":[…],"unlisted":[…],"asked":1,"gap":true}}` | a comparison after a gap |
/// | `{"sessions":{"ses_1":{"parent":null,"title":"…"}}}` | the result of look-ups from now on; null: deleted |
/// | `{"messages":{"ses_1":…}}` | the session's messages from now on; null: unreadable |
/// | `{"next":{"ses_1":…}}` | the session's messages in the API that 1.18 shares with 2.x |
/// | `{"open":["per_1"]}` | the requests that the server lists from now on; null: it can't list them |
/// | `{"over":["call_1"]}` | the calls that have ended |
/// | `{"at":9,"rings":["complete ses_1 …"]}` | all rings since the last such line, by this time |
/// | `{"at":9,"states":["start ses_1 working …"]}` | all states for Live Activities since the last such line |
struct Scenario {
    let name: String
    let lines: [JSON.Value]

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Streams")

    static var all: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".jsonl") }.sorted()
    }

    init(_ name: String) throws {
        self.name = name
        let text = try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
        lines = try text.split(separator: "\n").map {
            try JSON.parse(Array($0.utf8), maxBytes: 1 << 20, loneSurrogates: .replaced)
        }
    }

    /// An expectation in the file, and what actually happened.
    struct Check {
        let line: Int
        let expected: [String]
        let rings: [String]
    }

    /// Plays the file and returns what rang.
    func play() -> [Check] {
        var player = Player()
        var checks: [Check] = []
        for (index, line) in lines.enumerated() {
            if let expected = line["rings"]?.array {
                player.advance(to: line["at"]?.double ?? player.time)
                checks.append(
                    Check(line: index + 1, expected: expected.compactMap(\.string), rings: player.rings))
                player.rings = []
            } else if let expected = line["states"]?.array {
                player.advance(to: line["at"]?.double ?? player.time)
                checks.append(
                    Check(line: index + 1, expected: expected.compactMap(\.string), rings: player.states))
                player.states = []
            } else {
                player.apply(line)
            }
        }
        return checks
    }
}

/// Feeds a model and immediately responds to its actions.
struct Player {
    var model = RunModel()
    var generation = Generation.first
    var time = 0.0
    var rings: [String] = []
    /// The states that were sent for Live Activities, besides the rings.
    var states: [String] = []
    private var board = ActivityBoard(ActivityBoard.Options(interval: .seconds(15), hasTexts: true))
    private var sessions: JSON.Value = [:]
    private var messages: [String: JSON.Value] = [:]
    private var next: [String: JSON.Value] = [:]
    /// The open requests; `nil` if the server can't list them.
    private var open: Set<String>? = []
    private var over: Set<String> = []

    private var now: MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000_000) + .milliseconds(Int64(time * 1000))
    }

    mutating func advance(to end: Double) {
        while time + 0.5 <= end {
            time += 0.5
            tick()
        }
        time = end
        tick()
    }

    private mutating func tick() {
        handle(.tick)
        for (session, state) in board.update(model.atWork, now).sorted(by: { $0.key.text < $1.key.text }) {
            states.append("end \(session) \(state.summary)")
        }
        while let job = board.next(now) {
            switch job {
            case .read(let session, let work): board.read(session, reading(session, work.api))
            case .post(let session, let isStart, let state):
                states.append("\(isStart ? "start" : "progress") \(session) \(state.summary)")
                _ = board.finish(session, .accepted(""), now)
            }
        }
    }

    mutating func apply(_ line: JSON.Value) {
        if let number = line["generation"]?.int {
            generation = number == 1 ? .first : .second
            model = RunModel(RunModel.Options(showsCommands: line["commands"]?.bool == true))
        }
        for member in line["sessions"]?.object?.members ?? [] {
            var object = sessions.object ?? JSON.Object()
            object[member.name] = member.value
            sessions = .object(object)
        }
        for member in line["messages"]?.object?.members ?? [] { messages[member.name] = member.value }
        for member in line["next"]?.object?.members ?? [] { next[member.name] = member.value }
        if let list = line["open"] { open = list.array.map { Set($0.compactMap(\.string)) } }
        if let list = line["over"]?.array { over = Set(list.compactMap(\.string)) }
        if let at = line["at"]?.double { advance(to: at) }
        if let frame = line["frame"] {
            for signal in StreamFrame.decode(frame.encoded(), generation) {
                if case .event(let event) = signal { handle(event) }
            }
        }
        if let snapshot = line["snapshot"] { handle(.snapshot(self.snapshot(snapshot))) }
    }

    private func snapshot(_ value: JSON.Value) -> Snapshot {
        var snapshot = Snapshot(
            askedAt: MonotonicTime(nanoseconds: 1_000_000_000_000)
                + .milliseconds(Int64((value["asked"]?.double ?? time) * 1000)),
            busy: [:], requests: [])
        for member in value["busy"]?.object?.members ?? [] {
            if let session = SessionID(member.name) { snapshot.busy[session] = .some(member.value.string) }
        }
        snapshot.requests = (value["requests"]?.array ?? []).compactMap {
            generation == .first
                ? FirstGeneration.request($0, .permission, nil) : SecondGeneration.permission($0)
        }
        snapshot.followsGap = value["gap"]?.bool == true
        snapshot.unlistedSessions = Set(
            (value["unlistedSessions"]?.array ?? []).compactMap { SessionID($0.string) })
        snapshot.unlisted = Set((value["unlisted"]?.array ?? []).compactMap(\.string))
        return snapshot
    }

    private func reading(_ session: SessionID, _ api: Generation? = nil) -> Reading? {
        guard let answer = (api == nil ? messages : next)[session.text], !answer.isNull else { return nil }
        var reading =
            (api ?? generation) == .first ? SessionReading.first(answer) : SessionReading.second(answer)
        if let info = sessions[session.text] { SessionReading.describe(info, in: &reading) }
        return reading
    }

    mutating func handle(_ event: BridgeEvent) {
        for action in model.handle(event, at: now) {
            switch action {
            case .lookUp(let session, _):
                guard let info = sessions[session.text], !info.isNull else {
                    handle(sessions[session.text] == nil ? .lookUpFailed(session) : .deleted(session))
                    continue
                }
                handle(.session(session, parent: info.sessionID("parent"), directory: nil))
            case .read(let id, let session, _, _, let api):
                handle(.read(id, reading(session, api)))
            case .check(let request, _):
                let isOver = request.call.map { over.contains($0.id) } ?? false
                let listing = open.map { $0.contains(request.id) && !isOver ? Listing.listed : .notListed }
                handle(.checked(request.id, listing ?? .unlistable))
            case .ring(let ring):
                rings.append("\(ring.type.rawValue) \(ring.session) \(ring.title) | \(ring.body)")
                _ = board.rang(ring, now)
            case .began, .ended, .over: break
            }
        }
    }
}

extension ContentState {
    /// A state such as `working Fix auth bug | Done. | bash | 1/3 | attempt 2: Overloaded`; absent parts are left out.
    fileprivate var summary: String {
        let parts = [
            title, text, tool, todos.map { "\($0.done)/\($0.total)" },
            retry.map { "attempt \($0.attempt): \($0.message)" },
        ]
        let given = parts.compactMap { $0 }.filter { !$0.isEmpty }
        return given.isEmpty ? status.rawValue : status.rawValue + " " + given.joined(separator: " | ")
    }
}
