import Network
import OwnThread
import Testing

@testable import APNs

/// A deterministic random number generator.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    /// SplitMix64, by Sebastiano Vigna, in the public domain.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A pool state with randomly behaving servers, and a model of both.
private struct Model {
    enum ServerPhase: Hashable { case connecting, open, retiring }

    struct Server {
        var phase = ServerPhase.connecting
        var limit = 1
        var streams = 0
        var isBlackHole = false
        var wasAnswered = false
    }

    var random: SeededGenerator
    var state: PoolState
    var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    var servers: [Int: Server] = [:]
    var waiting = 0
    var settled = 0
    var arrived = 0
    /// Whether servers still misbehave; at the end they all recover.
    var isHostile = true
    /// Whether connections that are open when servers recover allow no more streams; new ones always allow some.
    let leavesNoStreams: Bool

    init(seed: UInt64, leavesNoStreams: Bool) {
        self.leavesNoStreams = leavesNoStreams
        random = SeededGenerator(state: seed)
        var settings = ClientSettings()
        settings.connectionsMax = 3
        settings.queuedPushesMax = 40
        settings.settledAge = .seconds(2)
        state = PoolState(settings)
    }

    mutating func run() {
        for _ in 0..<1500 {
            step()
            check()
        }
        isHostile = false
        for index in servers.keys { servers[index]?.isBlackHole = false }
        if leavesNoStreams {
            for index in servers.keys.sorted() where servers[index]?.phase != .connecting {
                servers[index]?.limit = 0
                state.limitChanged(index, to: 0, at: now)
            }
        }
        for _ in 0..<4000 where settled < arrived {
            calmStep()
            check()
        }
        #expect(settled == arrived, "\(arrived - settled) pushes are stuck; \(state.queued) wait")
    }

    private mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: arrive()
        case 30..<60: if let index = pick({ $0.streams > 0 && !$0.isBlackHole }) { answer(index) }
        case 60..<64: if let index = pick({ $0.streams > 0 }) { refuse(index) }
        case 64..<67: if let index = pick({ $0.phase == .open }) { goAway(index) }
        case 67..<69: if let index = pick({ _ in true }) { cut(index) }
        case 69..<79: if let index = pick({ $0.phase == .connecting }) { connect(index) }
        case 79..<84: if let index = pick({ $0.phase != .connecting }) { changeLimit(index) }
        case 84..<85: if let index = pick({ $0.phase == .open }) { servers[index]?.isBlackHole = true }
        case 85..<88: if state.queued > 0 { giveUp() }
        default: pass(.milliseconds(Int.random(in: 1...800, using: &random)))
        }
        perform()
    }

    /// Performs a step with well-behaved servers: connections open, pushes are answered, time passes.
    private mutating func calmStep() {
        if let index = pick({ $0.phase == .connecting }) {
            connect(index)
            state.limitChanged(index, to: 5, at: now)
            servers[index]?.limit = 5
        } else if let index = pick({ $0.streams > 0 }) {
            answer(index)
        } else {
            pass(.milliseconds(500))
        }
        perform()
    }

    private mutating func pick(_ isFit: (Server) -> Bool) -> Int? {
        servers.filter { isFit($0.value) }.keys.sorted().randomElement(using: &random)
    }

    private mutating func arrive() {
        arrived += 1
        switch state.arrive(at: now) {
        case .connection(let index): started(index)
        case .queue: waiting += 1
        case .queueFull, .unreachable: settled += 1
        }
    }

    private mutating func started(_ index: Int) {
        let server = servers[index]
        #expect(server?.phase == .open, "a push was put onto a connection that doesn't take any")
        let allowed = server?.wasAnswered == true ? server?.limit ?? 0 : min(1, server?.limit ?? 0)
        #expect((server?.streams ?? 0) < allowed, "more streams than the server allows")
        servers[index]?.streams += 1
    }

    private mutating func answer(_ index: Int) {
        let kinds: [PoolState.AnswerKind] =
            isHostile ? [.accepted, .accepted, .rejected, .unproven] : [.accepted]
        servers[index]?.streams -= 1
        servers[index]?.wasAnswered = true
        settled += 1
        state.answered(index, kinds.randomElement(using: &random) ?? .accepted, at: now)
    }

    private mutating func refuse(_ index: Int) {
        servers[index]?.streams -= 1
        state.ended(index, .refused, at: now, jitter: 0.5)
        state.requeue(at: now)
        waiting += 1
    }

    private mutating func goAway(_ index: Int) {
        state.retire(index, at: now, jitter: 0.5)
        servers[index]?.phase = .retiring
    }

    private mutating func cut(_ index: Int) {
        for _ in 0..<(servers[index]?.streams ?? 0) {
            state.ended(index, .broken, at: now, jitter: 0.5)
            settled += 1
        }
        servers[index] = nil
        state.closed(index, at: now, jitter: 0.5)
    }

    private mutating func connect(_ index: Int) {
        servers[index]?.phase = .open
        state.opened(index, at: now)
    }

    private mutating func changeLimit(_ index: Int) {
        let limit = Int.random(in: 0...8, using: &random)
        servers[index]?.limit = limit
        state.limitChanged(index, to: limit, at: now)
    }

    private mutating func giveUp() {
        state.unqueue()
        waiting -= 1
        settled += 1
    }

    private mutating func pass(_ time: Duration) {
        let then = now + time
        while let due = state.nextTick, due <= then {
            now = max(now, due)
            state.tick(at: now, jitter: 0.5)
            perform()
            #expect(state.nextTick.map { $0 > now || $0 == due } ?? true)
            if state.nextTick == due { break }
        }
        now = then
        state.tick(at: now, jitter: 0.5)
    }

    /// Performs the state's actions as the client does.
    private mutating func perform() {
        var rounds = 0
        repeat {
            for action in state.takeActions() { perform(action) }
            while let index = state.next(at: now) {
                waiting -= 1
                started(index)
            }
            rounds += 1
            #expect(rounds < 100, "the state never comes to rest")
        } while !state.actions.isEmpty && rounds < 100
    }

    private mutating func perform(_ action: PoolState.Action) {
        switch action {
        case .open(let index):
            #expect(servers[index] == nil, "an index is used twice")
            servers[index] = Server()
        case .ping(let index):
            if servers[index]?.isBlackHole == false { state.ponged(index, at: now) }
        case .retire(let index, _):
            servers[index]?.phase = .retiring
            if servers[index]?.streams == 0 { cut(index) }
        case .close(let index, _): cut(index)
        case .failQueued:
            while waiting > 0 { giveUp() }
        }
        // A retired connection closes after its last answer.
        for (index, server) in servers where server.phase == .retiring && server.streams == 0 { cut(index) }
    }

    private func check() {
        #expect(state.queued == waiting)
        var live = 0
        for (index, connection) in state.connections.enumerated() {
            guard let connection else {
                #expect(servers[index] == nil)
                continue
            }
            #expect(connection.streams == servers[index]?.streams)
            if connection.phase == .open || connection.phase == .connecting { live += 1 }
        }
        #expect(live <= state.settings.connectionsMax)
        #expect(state.queued <= state.settings.queuedPushesMax + arrived - settled)
    }
}

@Suite("The pool against arbitrary servers", .timeLimit(.minutes(2)), .ownThread)
struct PoolStateModelTests {
    @Test(
        "limits hold at every step, and when the servers recover every push gets an outcome",
        arguments: 0..<100, [false, true])
    func anything(seed: Int, leavesNoStreams: Bool) {
        var model = Model(seed: UInt64(seed), leavesNoStreams: leavesNoStreams)
        model.run()
    }
}
