import Foundation
import PushSealing
import Testing

@testable import RelayClient

@Suite("Pushes on the phone", .timeLimit(.minutes(1)))
struct PushTests {
    private let secret = PairingSecret()

    private func reader(_ now: Int, _ folder: URL) -> PushReader {
        PushReader(keys: [secret.notificationKey], replays: ReplayFiles(folder: folder)) { now }
    }

    private func temporaryFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "replay-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    @Test("A payload is read at its top level, in data and in body")
    func forms() throws {
        let members = #""serverID":"9f2c","eventType":"complete","sessionID":"ses_1""#
        for json in [
            "{\"aps\":{},\(members)}", "{\"aps\":{},\"data\":{\(members)}}", "{\"body\":{\(members)}}",
            "{\"serverID\":1,\"data\":[],\"body\":{\(members)}}",
        ] {
            let payload = try #require(PushPayload(json: Array(json.utf8)))
            #expect(payload.serverID == "9f2c" && payload.eventType == "complete", "\(json)")
            #expect(payload.sessionID == "ses_1" && payload.sealed == nil && payload.challenge == nil)
        }
        let challenge = #"{"aps":{"content-available":1},"data":{"challengeID":"1","challengeCode":"6b"}}"#
        #expect(PushPayload(json: Array(challenge.utf8))?.challenge == .init(id: "1", code: "6b"))
        #expect(PushPayload(json: Array("[]".utf8)) == nil)
        #expect(PushPayload([:]).eventType == nil)
    }

    @Test("An envelope's type is the one beside it, then the kind, then notify")
    func types() throws {
        let types = [
            #""eventType":"error","kind":"k""#: "error", #""kind":"k""#: "k", #""x":1"#: "notify",
            #""data":{"eventType":"error","kind":"k"}"#: "notify",
        ]
        for (members, type) in types {
            let json = "{\"sealed\":\"A\",\(members)}"
            #expect(PushPayload(json: Array(json.utf8))?.sealedType == type, "\(json)")
        }
    }

    @Test("A sealed push opens once, and again only for what was shown")
    func once() throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let message = SealedMessage(id: "1", sentAt: 1000, title: "t")
        let sealed = try Envelope.seal(message, type: "error", with: secret.notificationKey)
        let payload = PushPayload(["sealed": sealed, "eventType": "error"])
        #expect(reader(1000, folder).read(payload) == .opened(message, with: secret.notificationKey))
        #expect(reader(1000, folder).read(payload) == .refused(.repeated))
        #expect(reader(1000, folder).reread(payload) == .opened(message, with: secret.notificationKey))
        let late = try Envelope.seal(
            SealedMessage(id: "2", sentAt: 1000, title: "t"), type: "error", with: secret.notificationKey)
        let latePush = PushPayload(["sealed": late, "eventType": "error"])
        #expect(reader(1000 + 86_400 + 301, folder).read(latePush) == .refused(.stale))
        #expect(reader(1000 + 86_400 + 300, folder).read(latePush) != .refused(.stale))
        #expect(reader(0, folder).read(PushPayload(["eventType": "error"])) == .unsealed)
        let other = PushReader(keys: [], replays: ReplayFiles(folder: folder))
        #expect(other.read(payload) == .refused(.unknownKey))
        #expect(reader(0, folder).read(PushPayload(["sealed": sealed])) == .refused(.notAuthentic))
    }

    @Test("A folder that isn't there keeps nothing from being shown")
    func noFolder() throws {
        let message = SealedMessage(id: "1", sentAt: 1000, title: "t")
        let sealed = try Envelope.seal(message, type: "notify", with: secret.notificationKey)
        let reader = reader(1000, URL(fileURLWithPath: "/nonexistent"))
        #expect(
            reader.read(PushPayload(["sealed": sealed])) == .opened(message, with: secret.notificationKey))
    }

    @Test("A lock that another process never gives back delays a push only for a moment")
    func stuckLock() throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let lock = folder.appendingPathComponent("replay-\(secret.notificationKey.id).json.lock")
        let holder = Process()
        holder.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
        holder.arguments = [lock.path, "-c", "echo held; exec sleep 30"]
        let output = Pipe()
        holder.standardOutput = output
        try holder.run()
        defer { holder.terminate() }
        #expect(!output.fileHandleForReading.availableData.isEmpty)
        let sealed = try Envelope.seal(
            SealedMessage(id: "1", sentAt: 1000, title: "t"), type: "error", with: secret.notificationKey)
        let started = ContinuousClock.now
        guard case .opened = reader(1000, folder).read(PushPayload(["sealed": sealed, "eventType": "error"]))
        else {
            Issue.record("not opened")
            return
        }
        #expect(started.duration(to: .now) < .seconds(10))
    }

    @Test("A record is bounded, and what it has forgotten can't be repeated")
    func bounded() throws {
        var record = ReplayRecord()
        for number in 1...300 {
            try record.admit(SealedMessage(id: "\(number)", sentAt: 1000 + number), now: 1300)
        }
        #expect(record.entries.count == ReplayRecord.entriesMax && record.floor == 1100)
        for number in [1, 100, 101, 300] {
            #expect(throws: Refusal.repeated) {
                try record.admit(SealedMessage(id: "\(number)", sentAt: 1000 + number), now: 1300)
            }
        }
        #expect(throws: Refusal.repeated) {
            try record.admit(SealedMessage(id: "new", sentAt: 1100), now: 1300)
        }
        try record.admit(SealedMessage(id: "new", sentAt: 1101), now: 1300)
        try record.admit(SealedMessage(id: "future", sentAt: 1 << 53 - 1), now: 1300)
        var brief = SealedMessage(id: "brief", sentAt: 2000)
        brief.timeToLive = 0
        #expect(throws: Refusal.stale) { try record.admit(brief, now: 2301) }
        let data = try JSONEncoder().encode(record)
        #expect(try JSONDecoder().decode(ReplayRecord.self, from: data) == record)
    }
}
