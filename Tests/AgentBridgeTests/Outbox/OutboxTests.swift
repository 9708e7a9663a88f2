import ChildProcess
import Foundation
import Network
import Programs
import PushSealing
import Testing

@testable import AgentBridge

private func ring(_ key: String, _ session: String = "ses_1") throws -> Ring {
    Ring(type: .complete, session: try #require(SessionID(session)), key: key, title: "T", body: "é\n\"")
}

private func rung(_ eventID: String) throws -> RungRequest {
    var request = Request(id: "per_1", session: try #require(SessionID("ses_1")), kind: .permission)
    request.directory = "/home/ada/shop"
    request.digest = "0123"
    request.api = .second
    return RungRequest(request: request, eventID: eventID, offersAnswers: true)
}

@Suite("The queue's file", .timeLimit(.minutes(2)))
struct OutboxTests {
    @Test("queued and delivered events and started runs are known after a restart")
    func restart() async throws {
        let directory = try TemporaryDirectory()
        let session = try #require(SessionID("ses_2"))
        do {
            let outbox = try Outbox(directory: directory.path, Console())
            await outbox.put(try ring("complete ses_1 msg_1"))
            await outbox.put(try ring("complete ses_1 msg_1"))
            await outbox.put(try ring("complete ses_1 msg_2"))
            await outbox.note(.began(ResumedRun(session: session)))
            let run = ResumedRun(session: try #require(SessionID("ses_3")), directory: "/home/ada/shop")
            await outbox.note(.began(run))
            for id in ["evt_1", "evt_2"] { await outbox.note(.rang(try rung(id), at: WallClock.system.now)) }
            await outbox.over("evt_1")
            await outbox.note(.ended(session))
            #expect(await outbox.count == 2)
        }
        let outbox = try Outbox(directory: directory.path, Console())
        #expect(await outbox.count == 2)
        #expect(await outbox.resumed.map(\.session.text) == ["ses_3"])
        #expect(await outbox.resumed.map(\.directory) == ["/home/ada/shop"])
        #expect(await outbox.rung == [try rung("evt_2")])
        let posted = Lock<[QueuedEvent]>([])
        let task = Task {
            await outbox.run { event in
                posted.withLock { $0.append(event) }
                return .accepted("sent 1")
            }
        }
        while await outbox.count > 0 { await Task.yield() }
        task.cancel()
        await task.value
        let text = QueuedEvent.Text.readable(title: "T", body: "é\n\"")
        #expect(posted.withLock { $0 }.map(\.text) == [text, text])
        let again = try Outbox(directory: directory.path, Console())
        await again.put(try ring("complete ses_1 msg_1"))
        #expect(await again.count == 0, "a delivered event is not queued again")
    }

    @Test("an incomplete line from a crash affects no other record")
    func tornLine() async throws {
        let directory = try TemporaryDirectory()
        do {
            let outbox = try Outbox(directory: directory.path, Console())
            await outbox.put(try ring("a"))
        }
        let file = try #require(FileHandle(forWritingAtPath: directory.path + "/queue.jsonl"))
        try file.seekToEnd()
        try file.write(contentsOf: Data(#"{"put":{"id":"oc-x","at":1,"ty"#.utf8))
        try file.close()
        let outbox = try Outbox(directory: directory.path, Console())
        #expect(await outbox.count == 1)
        await outbox.put(try ring("b"))
        #expect(await outbox.count == 2)
        #expect(await (try Outbox(directory: directory.path, Console())).count == 2)
    }

    @Test("a file over its limit is set aside instead of preventing every start")
    func oversized() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/queue.jsonl"
        let file = open(path, O_RDWR | O_CREAT, 0o600)
        #expect(file >= 0 && ftruncate(file, off_t(Bounds.queueFileBytesMax + 1)) == 0)
        close(file)
        let outbox = try Outbox(directory: directory.path, Console())
        await outbox.put(try ring("a"))
        #expect(await outbox.count == 1)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                == ["queue.jsonl", "queue.jsonl.aside", "queue.lock"])
        #expect(await (try Outbox(directory: directory.path, Console())).count == 1)
        // The file can also grow while the bridge is running; waiting events are kept.
        #expect(truncate(path, off_t(2 * Bounds.queueFileBytesMax)) == 0)
        await outbox.put(try ring("b"))
        #expect(await outbox.count == 2)
        #expect(await (try Outbox(directory: directory.path, Console())).count == 2)
    }

    @Test("a request repeated after it was over is a new event, also after a restart")
    func turns() async throws {
        let directory = try TemporaryDirectory()
        let sealer = Sealer(PairingSecret(), serverID: "srv", hidesSessions: false)
        let ring = try ring("permission ses_1 per_1")
        let outbox = try Outbox(directory: directory.path, sealer: sealer, Console())
        let first = await outbox.put(ring)
        #expect(await outbox.put(ring) == first)
        await outbox.over(first)
        let second = await outbox.put(ring)
        #expect(second != first)
        #expect(await outbox.put(ring) == second)
        let again = try Outbox(directory: directory.path, sealer: sealer, Console())
        #expect(await again.put(ring) == second)
        await again.over(second)
        #expect(await ![first, second].contains(again.put(ring)))
    }

    @Test("records of another process are found, and survive a rewrite")
    func sharing() throws {
        let directory = try TemporaryDirectory()
        let (owner, other) = (
            try QueueFile(directory: directory.path), try QueueFile(directory: directory.path)
        )
        let (first, second) = (QueueRecord.put(try event("a")), QueueRecord.put(try event("b")))
        try other.append([first], isDurable: true)
        #expect(try owner.readNew() == [first])
        try other.append([second], isDurable: true)
        var merged: [QueueRecord] = []
        try owner.rewrite { new in
            merged = [first] + new
            return merged
        }
        #expect(merged == [first, second])
        // The other process switches to the new file.
        let third = QueueRecord.done(id: "a", at: 5)
        try other.append([third], isDurable: false)
        #expect(try owner.readNew() == [third])
        #expect(try QueueFile(directory: directory.path).readNew() == [first, second, third])
    }

    @Test("every record is read back as it was written")
    func records() throws {
        let session = try #require(SessionID("ses_é"))
        for record in [
            QueueRecord.put(try event("a")), .put(try event("a", text: .sealed("AQ"))),
            .put(try event("a", text: .general)), .done(id: "a", at: 7), .ended(session),
            .began(ResumedRun(session: session)), .began(ResumedRun(session: session, directory: "/é")),
            .over(id: "a", at: 7), .rang(try rung("evt_1"), at: 7),
        ] {
            #expect(QueueRecord(line: record.line.dropLast()) == record)
            #expect(record.line.count { $0 == UInt8(ascii: "\n") } == 1)
        }
        for line in ["", "{}", "[]", #"{"later":1}"#, #"{"put":{}}"#, #"{"done":""}"#] {
            #expect(QueueRecord(line: Array(line.utf8)[...]) == nil)
        }
    }

    @Test("with a sealer no text is on disk, including earlier ones")
    func sealing() async throws {
        let directory = try TemporaryDirectory()
        func contents() throws -> String {
            try String(contentsOfFile: directory.path + "/queue.jsonl", encoding: .utf8)
        }
        do {
            let outbox = try Outbox(directory: directory.path, Console())
            await outbox.put(try ring("before"))
            #expect(try contents().contains("é"))
        }
        let sealer = Sealer(PairingSecret(), serverID: "srv", hidesSessions: false)
        let outbox = try Outbox(directory: directory.path, sealer: sealer, Console())
        #expect(await outbox.count == 1)
        #expect(try !contents().contains("é"))
        for _ in 1...2 { await outbox.put(try ring("after")) }
        #expect(await outbox.count == 2)
        #expect(try !contents().contains("é"))
        // A process that doesn't seal also leaves an event.
        try QueueFile(directory: directory.path).append(
            [.put(try event("other", at: WallClock.system.now))], isDurable: false)
        let posted = Lock<[QueuedEvent]>([])
        let task = Task {
            await outbox.run { event in
                posted.withLock { $0.append(event) }
                return .accepted("sent 1")
            }
        }
        while posted.withLock({ $0.count }) < 3, !Task.isCancelled { await Task.yield() }
        task.cancel()
        await task.value
        let all = posted.withLock { $0 }
        #expect(all.count == 3 && all.allSatisfy { !$0.isReadable })
    }

    @Test("events delivered before sealing was on aren't sent again, even if found again")
    func turnedOn() async throws {
        let directory = try TemporaryDirectory()
        do {
            let outbox = try Outbox(directory: directory.path, Console())
            let id = await outbox.put(try ring("delivered"))
            await outbox.note(.done(id: id, at: WallClock.system.now))
            await outbox.put(try ring("waiting"))
        }
        let sealer = Sealer(PairingSecret(), serverID: "srv", hidesSessions: false)
        for _ in 1...2 {
            let outbox = try Outbox(directory: directory.path, sealer: sealer, Console())
            #expect(await outbox.count == 1)
            for key in ["delivered", "waiting"] { await outbox.put(try ring(key)) }
            #expect(await outbox.count == 1)
        }
    }

    @Test("only one process owns the queue, until it ends")
    func ownership() throws {
        let directory = try TemporaryDirectory()
        var first = try QueueOwnership(directory: directory.path)
        #expect(first != nil)
        #expect(try QueueOwnership(directory: directory.path) == nil)
        first = nil
        #expect(try QueueOwnership(directory: directory.path) != nil)
    }
}
