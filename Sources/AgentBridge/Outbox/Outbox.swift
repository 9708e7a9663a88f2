import Glibc
import Instruments
import Network
import Programs

/// The queue of events for the relay: durable, bounded, and in order for each session.
actor Outbox {
    private let file: QueueFile
    private let sealer: Sealer?
    private let console: Console
    private let wallClock: @Sendable () -> EpochMilliseconds
    private var contents = QueueContents()
    private var rewrittenSize: Int64 = 0
    /// Whether the last write failed, which is reported only once.
    private var isUnwritable = false

    /// Opens the queue in a directory and reads the state of earlier processes.
    ///
    /// - Parameter sealer: Seals texts before they are written to disk, and any that were stored unsealed.
    init(
        directory: String, sealer: Sealer? = nil, _ console: Console,
        wallClock: @escaping @Sendable () -> EpochMilliseconds = { WallClock.system.now }
    ) throws(FileError) {
        file = try QueueFile(directory: directory)
        self.sealer = sealer
        self.console = console
        self.wallClock = wallClock
        var contents = QueueContents()
        try Self.setAsideIfOversized(file, keeping: contents, console)
        let records = try file.readNew()
        // Sealing changes events' IDs, so the records of deliveries are applied first.
        for record in records { contents.apply(record) }
        if let sealer { contents.replaceEvents { sealer.sealed($0, at: wallClock()) } }
        // Texts that were queued before sealing was turned on must not stay on disk.
        if sealer != nil, records.contains(where: \.isReadable) {
            try file.rewrite { new in
                for record in new { contents.apply(record.sealed(by: sealer, at: wallClock())) }
                return contents.records
            }
        }
        self.contents = contents
    }

    /// Runs that an earlier process saw begin but not end.
    var resumed: [ResumedRun] { contents.runs.values.sorted { $0.session.text < $1.session.text } }

    /// Requests that rang in an earlier process and may still be open.
    var rung: [RungRequest] { contents.rung.values.sorted { $0.at < $1.at }.map(\.request) }

    /// The number of waiting events.
    var count: Int { contents.queue.count }

    /// Queues a ring unless it is already queued or was delivered; it is on disk when this returns.
    ///
    /// Returns the event's ID. A request that is repeated after its end is a new event even if the server reuses its
    /// identifier, because a reply to the earlier request must not answer it.
    ///
    /// - Parameters:
    ///   - state: The state for the session's Live Activities.
    ///   - actions: The possible replies.
    @discardableResult
    func put(_ ring: Ring, showing state: ContentState? = nil, actions: [String] = []) -> String {
        var event = self.event(ring, 0, state, actions)
        // Each turn skips one entry of `over`, so there are never more turns than entries.
        for turn in 0..<contents.over.count where contents.over[event.id] != nil {
            event = self.event(ring, turn + 1, state, actions)
        }
        guard contents.done[event.id] == nil, !contents.queue.contains(event.id) else { return event.id }
        // Before sealing was turned on, the same event had another ID.
        if sealer != nil {
            let readable = QueuedEvent(ring, at: event.at).id
            guard contents.done[readable] == nil || contents.over[readable] != nil else { return readable }
        }
        write([.put(event)], isDurable: true)
        return event.id
    }

    /// Whether phones can show a ring's questions in full, so that they can be answered.
    nonisolated func canAsk(_ ring: Ring) -> Bool {
        let now = wallClock()
        return ring.asked.flatMap { sealer?.sealed(QueuedEvent(ring, at: now), asking: $0, at: now) }?.offer
            == ring.asked?.offer
    }

    private func event(_ ring: Ring, _ turn: Int, _ state: ContentState?, _ actions: [String]) -> QueuedEvent
    {
        let readable = QueuedEvent(ring, turn: turn, at: wallClock(), showing: state, actions: actions)
        if let asked = ring.asked, let (event, _) = sealer?.sealed(readable, asking: asked, at: readable.at) {
            return event
        }
        return sealer?.sealed(readable, at: readable.at) ?? readable
    }

    /// Records that an event's request was answered or withdrawn.
    func over(_ id: String) { write([.over(id: id, at: wallClock())], isDurable: true) }

    /// Queues the end of a session's Live Activities, which no notification announces.
    func end(_ session: SessionID, _ state: ContentState) {
        let at = wallClock()
        let key = "end \(session) at \(at)"
        let event = QueuedEvent(
            id: "oc-" + (sealer?.hash(key) ?? Fingerprint.hex(key, count: 40)), at: at, type: .end,
            session: sealer?.visible(session) ?? session, text: .general,
            state: sealer == nil ? state : state.withoutText)
        write([.put(event)], isDurable: false)
    }

    /// Records that a run began or is over, or that a request rang, so that this survives restarts.
    func note(_ record: QueueRecord) { write([record], isDurable: false) }

    private func write(_ records: [QueueRecord], isDurable: Bool) {
        do throws(FileError) {
            try Self.setAsideIfOversized(file, keeping: contents, console)
            try file.append(records, isDurable: isDurable)
            isUnwritable = false
            try readFile()
        } catch {
            if !isUnwritable {
                console.note("cannot write the queue: \(error); pending events will be lost at a restart")
            }
            isUnwritable = true
            for record in records { contents.apply(record) }
        }
    }

    /// Sets the file aside if no bridge can have written that much: it may belong to another program, and isn't read.
    private static func setAsideIfOversized(
        _ file: QueueFile, keeping contents: QueueContents, _ console: Console
    ) throws(FileError) {
        guard file.isOversized else { return }
        let path = try file.setAside(keeping: contents.records)
        console.note("the queue file exceeded \(Bounds.queueFileBytesMax) bytes and was moved to \(path)")
    }

    private func readFile() throws(FileError) {
        try Self.setAsideIfOversized(file, keeping: contents, console)
        for record in try file.readNew() { contents.apply(record.sealed(by: sealer, at: wallClock())) }
    }

    /// Rewrites the file if it has grown too large.
    private func compact() {
        contents.forget(deliveredBefore: wallClock() - Bounds.doneMemory.inMilliseconds)
        guard file.size > 2 * rewrittenSize + Int64(Bounds.queueFileBytesRewritten) else { return }
        do throws(FileError) {
            try file.rewrite { new in
                for record in new { contents.apply(record.sealed(by: sealer, at: wallClock())) }
                return contents.records
            }
            rewrittenSize = file.size
        } catch {
            console.explain("cannot rewrite the queue: \(error)")
        }
    }

    // MARK: Posting

    /// Posts events until the task is cancelled.
    func run(_ post: @escaping @Sendable (QueuedEvent) async -> RelayClient.Answer) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                step { event in
                    group.addTask {
                        var next: QueuedEvent? = event
                        while let event = next {
                            await self.finish(event, await post(event))
                            next = await self.nextAfterFinish()
                        }
                    }
                }
                guard (try? await Task.sleep(for: Bounds.queuePollInterval)) != nil else { break }
            }
            group.cancelAll()
        }
    }

    private func step(_ start: (QueuedEvent) -> Void) {
        try? readFile()
        for event in contents.queue.expire(before: wallClock() - Bounds.eventAgeMax.inMilliseconds) {
            console.note(
                "dropped an event of \(event.session): the relay did not accept it within 15 minutes")
            write([.done(id: event.id, at: wallClock())], isDurable: false)
        }
        compact()
        while let event = contents.queue.next(.current) { start(event) }
    }

    private func nextAfterFinish() -> QueuedEvent? { Task.isCancelled ? nil : contents.queue.next(.current) }

    private func finish(_ event: QueuedEvent, _ answer: RelayClient.Answer) {
        let outcome: PostQueue.Outcome
        let name = "\(event.type.rawValue) of \(event.session)"
        switch answer {
        case .accepted(let summary):
            console.note("\(name): \(summary)")
            if let place = RelayClient.place(of: event.id) {
                console.explain("the event \(event.id) has the trace \(place.trace.text)")
            }
            outcome = .done
        case .refused(let reason):
            console.note("\(name): the relay refused it: \(reason)")
            outcome = .done
        case .later(let reason, let pause):
            console.note("\(name): the relay can't accept it now (\(reason)); retrying")
            outcome = .later(pause)
        case .unreachable(let reason):
            if !Task.isCancelled { console.note("the relay doesn't answer (\(reason)); retrying") }
            outcome = .unreachable
        }
        contents.queue.finish(event, outcome, .current, random: .random(in: 0...1))
        if outcome == .done { write([.done(id: event.id, at: wallClock())], isDurable: false) }
    }
}
