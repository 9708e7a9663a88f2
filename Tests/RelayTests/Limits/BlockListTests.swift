import APNs
import HTTPServer
import JSON
import Network
import Programs
import Storage
import Testing

@testable import Relay

@Suite("Blocked secrets", .timeLimit(.minutes(2)))
struct BlockListTests {
    private static let blocked = BlockedSecret(secretHash: RelayFixture.key.primary, createdAt: 1)
    private static let body: JSON.Value = ["secretHash": .string(RelayFixture.key.primary.hex)]

    private static func block(_ storage: FakeStorage, _ secret: BlockedSecret = blocked) {
        storage.state.withLock { $0.blocked.append(secret) }
    }

    private static func answer(
        _ path: String, _ more: JSON.Value, on relay: RelayFixture
    ) async throws -> (status: Int, code: String?) {
        var body = JSON.Object()
        body["secret"] = .string(RelayFixture.secret)
        for member in more.object?.members ?? [] { body[member.name] = member.value }
        let answer = await relay.post(path, .object(body))
        return (answer.status.rawValue, answer.json["code"]?.string)
    }

    @Test("A blocked secret is refused without a question to the database, and nobody else is")
    func refused() async throws {
        try await RelayFixture.with { relay in
            relay.storage.add("aa00", under: RelayFixture.key)
            Self.block(relay.storage)
            let list = await relay.onLoop { $0.services.shared.blocked }
            try await list.read()
            let reads = relay.storage.state.withLock(\.blockReads)
            let requests: [(String, JSON.Value)] = [
                ("/v1/event", ["eventType": "complete", "sessionID": "s"]),
                ("/v1/notify", ["notification": ["title": "t"]]),
                ("/v1/device/register", ["deviceToken": "bb00"]),
            ]
            for (path, body) in requests {
                let answer = try await Self.answer(path, body, on: relay)
                #expect(answer.status == 403 && answer.code == "blocked", "\(path)")
                let other = try await Self.answer(
                    path, .object(merging(body, "secret", "another secret than it")), on: relay)
                #expect(other.status == 200, "\(path)")
            }
            let left = try await Self.answer("/v1/device/list", [:], on: relay)
            #expect(left.status == 200)
            #expect(relay.storage.state.withLock(\.blockReads) == reads)
            #expect(await relay.onLoop { $0.production.pushes.isEmpty })
            #expect(relay.storage.state.withLock { $0.devices.map(\.token) } == ["aa00", "bb00"])
        }
    }

    private func merging(_ value: JSON.Value, _ name: String, _ text: String) -> JSON.Object {
        var object = value.object ?? JSON.Object()
        object[name] = .string(text)
        return object
    }

    @Test("A push that waits ends when its secret was blocked meanwhile, and is not sent")
    func waiting() async throws {
        try await RelayFixture.with { relay in
            let other = SecretHasher().key(of: Secret("another"))
            relay.storage.add("aa00", under: RelayFixture.key)
            relay.storage.add("bb00", under: other)
            relay.fill(["aa00", "bb00"])
            Self.block(relay.storage)
            try await relay.onLoop { $0.services.shared.blocked }.read()
            try await relay.withWorker { _ in
                #expect(await relay.until { $0.production.pushes.count == 1 })
                #expect(await eventually { relay.pending.allSatisfy { $0.lease != nil } })
            }
            await relay.writeEnds()
            #expect(await relay.onLoop { $0.production.pushes.map(\.id) } == ["push-bb00"])
            let rows = relay.storage.state.withLock(\.deliveries)
            #expect(
                Set(rows.map { "\($0.id) \($0.error ?? "sent")" }) == ["push-aa00 Blocked", "push-bb00 sent"])
        }
    }

    @Test("A block under a legacy hash holds, and moves to the primary one at the next look")
    func legacy() async throws {
        let storage = FakeStorage()
        let lines = LogLines(level: .debug)
        Self.block(storage)
        let list = BlockList(storage: storage, log: lines.log)
        try await list.read()
        let key = SecretKey(
            primary: SecretHash(Digest256(of: [1])),
            legacy: [SecretHash(Digest256(of: [2])), Self.blocked.secretHash])
        #expect(!list.contains(SecretKey(primary: key.primary)))
        #expect(list.contains(key))
        await list.refresh()
        // Moved rows are known immediately, before the list is read again.
        #expect(list.contains(key.primary))
        #expect(storage.state.withLock { $0.blocked.map(\.secretHash) } == [key.primary])
        await list.refresh()
        #expect(list.contains(SecretKey(primary: key.primary)) && !list.contains(Self.blocked.secretHash))
        await lines.log.close()
    }

    @Test("While the list can't be read the last one holds, which is logged once, and so is its return")
    func unreadable() async throws {
        let storage = FakeStorage()
        let lines = LogLines(level: .debug)
        Self.block(storage)
        let list = BlockList(storage: storage, log: lines.log)
        try await list.read()
        storage.state.withLock { $0.failure = .unavailable(logDetail: "away") }
        for _ in 0..<3 { await list.refresh() }
        #expect(list.contains(RelayFixture.key))
        storage.state.withLock {
            $0.failure = nil
            $0.blocked = []
        }
        await list.refresh()
        #expect(!list.contains(RelayFixture.key))
        await lines.log.close()
        let text = lines.text
        #expect(text.split(separator: "blocked.unreadable").count == 2)
        #expect(text.split(separator: "blocked.read").count == 3)
    }

    @Test("The relay that is asked blocks and unblocks, and acts on it at once")
    func asked() async throws {
        let storage = FakeStorage()
        let lines = LogLines(level: .debug)
        let list = BlockList(storage: storage, log: lines.log)
        let time = Lock<EpochMilliseconds>(7_000)
        let clock = WallClock { time.withLock { $0 } }
        let blocking = Blocking(storage: storage, list: list, clock: clock, log: lines.log)
        func request(_ body: JSON.Value) -> Request {
            Request(method: .post, target: AdminServer.Path.block.rawValue, body: body.encoded())
        }
        let first = await blocking.block(request(Self.body))
        #expect(BlockAnswer(json: first.body) == BlockAnswer(outcome: .blocked, since: 7_000))
        #expect(list.contains(RelayFixture.key))
        time.withLock { $0 += 1 }
        let second = await blocking.block(request(Self.body))
        #expect(BlockAnswer(json: second.body) == BlockAnswer(outcome: .alreadyBlocked, since: 7_000))
        let third = await blocking.unblock(request(Self.body))
        #expect(BlockAnswer(json: third.body) == BlockAnswer(outcome: .unblocked))
        #expect(!list.contains(RelayFixture.key))
        let fourth = await blocking.unblock(request(Self.body))
        #expect(BlockAnswer(json: fourth.body) == BlockAnswer(outcome: .notBlocked))
        let long = JSON.Value.object(merging(Self.body, "note", String(repeating: "x", count: 256)))
        for body: JSON.Value in [[:], ["secretHash": "aa"], ["secretHash": 1], [], long] {
            #expect(await blocking.block(request(body)).status == 400)
        }
        storage.state.withLock { $0.failure = .unavailable(logDetail: "away") }
        #expect(await blocking.block(request(Self.body)).status == 503)
        await lines.log.close()
        #expect(lines.text.contains("secret.blocked") && lines.text.contains("secret.unblocked"))
    }
}
