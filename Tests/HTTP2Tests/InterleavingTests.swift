import HTTP2
import Testing

/// A deterministic random number generator.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// SplitMix64, by Sebastiano Vigna, in the public domain.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A client and a server session that exchange bytes in pieces and act randomly.
///
/// Every request has a number as its `apns-id`, by which the model knows what to expect of the request.
private final class Chaos {
    private var random: SeededGenerator
    private let client: ClientSession
    private let server: ServerSession
    private var toServer: [UInt8] = []
    private var toClient: [UInt8] = []

    private var numbers: [StreamSlot: Int] = [:]
    private var submitted = 0
    private var settled: [Int: Int] = [:]
    private var seen: [Int: Int] = [:]
    private var waiting: [StreamID] = []
    private var numberOf: [StreamID: Int] = [:]
    private var answered: Set<Int> = []
    private var resetByServer: Set<Int> = []

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        var limits = ServerLimits()
        limits.concurrentStreams = 8
        limits.resetBurst = 100_000
        client = try ClientSession(limits: .forTests)
        server = try ServerSession(limits: limits)
    }

    func run(steps: Int) throws {
        for _ in 0..<steps { try step() }
        // Everything that can still arrive does so; then the connection is lost.
        for _ in 0..<20 {
            try gather()
            try deliver(all: true)
            while let stream = waiting.popLast() { answer(stream) }
        }
        client.abandon()
        client.drainEvents { note($0) }
        check()
    }

    private func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<35: submit()
        case 35..<60: if let stream = takeWaiting() { answer(stream) }
        case 60..<64: if let stream = takeWaiting() { try refuse(stream) }
        case 64..<67: if let slot = numbers.keys.sorted().first { try client.cancel(slot) }
        case 67..<69: try server.setMaxConcurrentStreams(.random(in: 0...20, using: &random))
        case 69..<70: try client.ping(1)
        case 70..<71: try server.ping(2)
        case 71: if submitted > 100 { try server.goAway(.noError) }
        default:
            try gather()
            try deliver(all: false)
        }
        client.drainEvents { note($0) }
        server.drainEvents { note($0) }
    }

    private func submit() {
        let body = [UInt8](repeating: 0x61, count: .random(in: 0...3000, using: &random))
        guard let slot = try? client.submit(pushFields(submitted), body: body) else { return }
        #expect(numbers[slot] == nil, "a slot was given out while it was in use")
        numbers[slot] = submitted
        submitted += 1
    }

    private func takeWaiting() -> StreamID? {
        guard let index = waiting.indices.randomElement(using: &random) else { return nil }
        return waiting.remove(at: index)
    }

    private func answer(_ stream: StreamID) {
        guard let number = numberOf[stream] else { return }
        var fields = HeaderFields(status: number.isMultiple(of: 3) ? 410 : 200)
        fields.append("apns-id", "\(number)")
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 500)
        if server.respond(to: stream, fields, body: body) { answered.insert(number) }
    }

    private func refuse(_ stream: StreamID) throws {
        guard let number = numberOf[stream] else { return }
        resetByServer.insert(number)
        try server.reset(stream, Bool.random(using: &random) ? .refusedStream : .internalError)
    }

    private func gather() throws {
        try client.collectOutput(into: &toServer, target: toServer.count + 2000)
        client.drainEvents { note($0) }
        try server.collectOutput(into: &toClient, target: toClient.count + 2000)
        server.drainEvents { note($0) }
    }

    private func deliver(all: Bool) throws {
        try pass(&toServer, all) { try server.receive($0) }
        server.drainEvents { note($0) }
        try pass(&toClient, all) { try client.receive($0) }
        client.drainEvents { note($0) }
    }

    private func pass(_ bytes: inout [UInt8], _ all: Bool, _ to: (UnsafeRawBufferPointer) throws -> Void)
        throws
    {
        let count = all ? bytes.count : Int.random(in: 0...bytes.count, using: &random)
        let piece = Array(bytes[..<count])
        bytes.removeFirst(count)
        try piece.withUnsafeBytes { try to($0) }
    }

    private func note(_ event: ServerEvent) {
        guard case .request(let stream, let request) = event,
            let number = request.fields.string("apns-id").flatMap({ Int($0) })
        else { return }
        seen[number, default: 0] += 1
        numberOf[stream] = number
        waiting.append(stream)
    }

    private func note(_ event: ClientEvent) {
        switch event {
        case .response(let slot, let response):
            let number = settle(slot)
            #expect(answered.contains(number))
            #expect(response.status == (number.isMultiple(of: 3) ? 410 : 200))
            #expect(response.fields.string("apns-id") == "\(number)")
            #expect(
                response.body == [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 500))
        case .failure(let slot, .notProcessed):
            let number = settle(slot)
            #expect(!answered.contains(number), "answered, and yet reported as not processed")
            #expect(seen[number] == nil || resetByServer.contains(number))
        case .failure(let slot, _): _ = settle(slot)
        case .streamLimit, .goAway, .pingAcknowledged: break
        }
    }

    private func settle(_ slot: StreamSlot) -> Int {
        let number = numbers.removeValue(forKey: slot) ?? -1
        settled[number, default: 0] += 1
        return number
    }

    private func check() {
        #expect(submitted > 0)
        #expect(numbers.isEmpty)
        #expect(settled.count == submitted && settled.values.allSatisfy { $0 == 1 })
        #expect(seen.values.allSatisfy { $0 == 1 }, "a request came in twice")
        #expect(client.openStreamCount == 0)
    }
}

@Suite("Random interleavings", .timeLimit(.minutes(2)))
struct InterleavingTests {
    @Test("every request has one end that agrees with what the server did", arguments: 0..<60)
    func interleavings(seed: Int) throws {
        try Chaos(seed: UInt64(seed)).run(steps: 600)
    }
}
