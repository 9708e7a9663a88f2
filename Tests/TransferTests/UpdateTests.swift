import OwnThread
import Storage
import StorageContract
import Testing

@Suite("A copy whose source or target changes", .timeLimit(.minutes(2)), .ownThread)
struct UpdateTests {
    /// Every engine with every change.
    private static let changes: [(Engine, Change)] = Engine.available.flatMap { engine in
        Change.allCases.map { (engine, $0) }
    }

    @Test(
        "rows more, fewer or altered in a finished copy are reported, and the next run removes the difference",
        arguments: changes)
    func target(engine: Engine, change: Change) async throws {
        try await withPlaces([.sqlite, engine]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            try await copy(places[0], places[1])
            try await change.make(3, in: places[1])
            let changed = try await contents(of: places[1])
            let differences = TransferTable.all.map { change.difference(3, $0) }
            await #expect(throws: TransferFailure.differs(differences, isMerge: false)) {
                try await copy(places[0], places[1])
            }
            #expect(try await contents(of: places[1]) == changed, "nothing is deleted without notice")
            let summaries = try await copy(places[0], places[1])
            #expect(summaries.map(\.removed) == differences)
            #expect(try await contents(of: places[1]) == contents(of: places[0]))
            try await Filling.expectSame(places[0], places[1])
        }
    }

    @Test("rows that the source loses, gets and alters during the copy", arguments: changes)
    func source(engine: Engine, change: Change) async throws {
        try await withPlaces([.sqlite, engine]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            let place = places[0]
            let target = WatchedDatabase(try await places[1].target()) { call throws(StorageError) in
                // The other tables are copied by now, and the page of the last was read.
                guard call == .store(table: TransferTable.all.last?.name ?? "") else { return }
                do { try await change.make(3, in: place) } catch {
                    throw .internalFault(logDetail: "\(error)")
                }
            }
            let summaries = try await copy(try places[0].source(), target)
            await target.close()
            #expect(
                summaries.map(\.removed) == TransferTable.all.map { change.onOtherSide.difference(3, $0) })
            #expect(try await contents(of: places[1]) == contents(of: places[0]))
        }
    }

    @Test("a source that keeps changing is reported; the next run after it stopped ends with the same rows")
    func running() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            let writer = try await places[0].target()
            let source = WatchedDatabase(try places[0].source()) { call throws(StorageError) in
                guard call == .read else { return }
                do {
                    for table in TransferTable.all { try await Change.more.make(1, in: table, of: writer) }
                } catch {
                    throw .internalFault(logDetail: "\(error)")
                }
            }
            let target = try await places[1].target()
            let failure = await #expect(throws: TransferFailure.self) { try await copy(source, target) }
            await target.close()
            await writer.close()
            guard case .differs(let differences, isMerge: false) = failure else {
                Issue.record("got \(String(describing: failure))")
                return
            }
            #expect(differences.map(\.table) == TransferTable.all.map(\.name))
            #expect(differences.allSatisfy { $0.missing > 0 && $0.altered == 0 && $0.extra == 0 })
            try await copy(places[0], places[1])
            #expect(try await contents(of: places[1]) == contents(of: places[0]))
        }
    }

    @Test("a finished copy is brought up to date by the next run, deletions included", arguments: changes)
    func again(engine: Engine, change: Change) async throws {
        try await withPlaces([.sqlite, engine]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            try await copy(places[0], places[1])
            try await change.make(3, in: places[0])
            // With --merge as well: the target has no rows of its own.
            let summaries = try await copy(places[0], places[1], merging: engine == .sqlite)
            #expect(
                summaries.map(\.removed) == TransferTable.all.map { change.onOtherSide.difference(3, $0) })
            #expect(try await contents(of: places[1]) == contents(of: places[0]))
            #expect(try await copy(places[0], places[1]).allSatisfy(\.removed.isNone))
        }
    }

    @Test(
        "a merge deletes rows that it brought and the source lost, and keeps the target's",
        arguments: Engine.available)
    func merge(to: Engine) async throws {
        try await withPlaces([.sqlite, to]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            let mine = Samples.key("of the target")
            let storage = try await places[1].open()
            _ = try await storage.register(Samples.registration("mine"), under: mine, deviceLimit: 9)
            await storage.close()
            let own = try await contents(of: places[1])
            try await copy(places[0], places[1], merging: true)
            for change in Change.allCases { try await change.make(3, in: places[0]) }
            try await copy(places[0], places[1], merging: true)
            let source = try await contents(of: places[0])
            #expect(try await contents(of: places[1]) == source.merging(own) { $0.union($1) })
        }
    }

    @Test("a key that both had before the merge stays when the source loses it")
    func commonKey() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            try await copy(places[0], places[1])
            // A relay has used it, so that all of its rows are its own.
            try await Self.useAsRelay(places[1])
            try await copy(places[0], places[1], merging: true)
            let before = try await contents(of: places[1])
            try await Change.fewer.make(3, in: places[0])
            try await copy(places[0], places[1], merging: true)
            #expect(try await contents(of: places[1]) == before)
        }
    }

    @Test("rows that were reported stay with --merge")
    func keep() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            try await copy(places[0], places[1])
            try await Change.more.make(3, in: places[1])
            let changed = try await contents(of: places[1])
            await #expect(throws: TransferFailure.self) { try await copy(places[0], places[1]) }
            try await copy(places[0], places[1], merging: true)
            #expect(try await contents(of: places[1]) == changed)
            // Also at once, without the report.
            try await Change.more.make(3, in: places[1])
            try await copy(places[0], places[1], merging: true)
            #expect(try await contents(of: places[1]) != changed)
        }
    }

    @Test(
        "cut before any change to the target, and continued, it ends with the same rows",
        arguments: [false, true])
    func cut(merging: Bool) async throws {
        var cuts = 0
        var isCut = true
        while isCut {
            isCut = try await Self.copyIsCut(after: cuts, merging: merging)
            cuts += 1
        }
        // Four tables, each copied in two pages or fewer, and updated.
        #expect(cuts > 12)
    }

    /// Copies into a place whose connection is cut after some changes, then continues; whether it was cut.
    private static func copyIsCut(after changes: Int, merging: Bool) async throws -> Bool {
        var isCut = false
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 30, receipts: 10)
            var own: [String: Set<[UInt8]>] = [:]
            if merging {
                let storage = try await places[1].open()
                let registration = Samples.registration("mine")
                _ = try await storage.register(registration, under: Samples.key("mine"), deviceLimit: 9)
                await storage.close()
                own = try await contents(of: places[1])
            }
            let source = places[0]
            let cut = WatchedDatabase(try await places[1].target(), changesUntilFailure: changes)
            let target = WatchedDatabase(cut) { call throws(StorageError) in
                guard call == .store(table: "pending_push") else { return }
                do {
                    for change in Change.allCases { try await change.make(2, in: source) }
                } catch {
                    throw .internalFault(logDetail: "\(error)")
                }
            }
            do { try await copy(try source.source(), target, merging: merging) } catch is TransferFailure {
                isCut = true
            }
            await target.close()
            if isCut {
                try await Change.fewer.make(1, in: source)
                // A run that doesn't know what the one before did reports differences first.
                do { try await copy(source, places[1], merging: merging) } catch is TransferFailure {
                    try await copy(source, places[1], merging: merging)
                }
            }
            let expected = try await contents(of: source).merging(own) { $0.union($1) }
            #expect(try await contents(of: places[1]) == expected, "after \(changes) changes")
        }
        return isCut
    }

    // MARK: Relays

    @Test("a relay refuses an unfinished copy, and ends a finished one", arguments: Engine.available)
    func relay(to: Engine) async throws {
        try await withPlaces([.sqlite, to]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            let target = WatchedDatabase(try await places[1].target(), changesUntilFailure: 2)
            await #expect(throws: TransferFailure.self) { try await copy(try places[0].source(), target) }
            await target.close()
            await #expect(throws: StorageError.unfinishedCopy) { try await Self.useAsRelay(places[1]) }
            await #expect(throws: StorageError.unfinishedCopy) { try await places[1].inspect() }
            try await copy(places[0], places[1])
            try await places[1].inspect()
            try await Self.useAsRelay(places[1])
            let again = try await places[1].target()
            #expect(try await again.marks() == nil)
            await again.close()
            try await Change.fewer.make(3, in: places[0])
            let rows = try await contents(of: places[1])["device_registration"]?.count ?? 0
            await #expect(throws: TransferFailure.occupied(table: "device_registration", rows: rows)) {
                try await copy(places[0], places[1])
            }
        }
    }

    @Test("a finished copy of another database is a target like any other")
    func otherSource() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            try await copy(places[0], places[1])
            await #expect(throws: TransferFailure.occupied(table: "device_registration", rows: 50)) {
                try await copy(places[0], places[1], name: "another")
            }
            try await copy(places[0], places[1], merging: true, name: "another")
        }
    }

    @Test(
        "a copy that an earlier version left uncompared is compared, and its differences are reported first")
    func earlierVersion() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            try await copy(places[0], places[1])
            try await Change.more.make(3, in: places[1])
            let target = try await places[1].target()
            let marks = try #require(try await target.marks())
            try await target.update(
                marks.map { mark in
                    var mark = mark
                    (mark.stage, mark.content) = (.copied, nil)
                    return mark
                })
            await target.close()
            let differences = TransferTable.all.map { Change.more.difference(3, $0) }
            await #expect(throws: TransferFailure.differs(differences, isMerge: false)) {
                try await copy(places[0], places[1])
            }
            try await copy(places[0], places[1])
            #expect(try await contents(of: places[1]) == contents(of: places[0]))
        }
    }

    /// Opens a place as a relay does when it starts, and closes it.
    private static func useAsRelay(_ place: TransferPlace) async throws {
        await (try await place.open(asRelay: true)).close()
    }
}
