import Storage
import StorageContract
import Testing

@Suite("Copying a database", .timeLimit(.minutes(2)))
struct TransferTests {
    @Test(
        "everything arrives as it was, in all directions", Engine.allThere, arguments: Engine.directions)
    func directions(from: Engine, to: Engine) async throws {
        try await withPlaces([from, to]) { places async throws in
            let rows = try await Filling.fill(places[0], devices: 1_100)
            let summaries = try await Self.copy(places[0], places[1])
            #expect(summaries.map(\.table) == TransferTable.all.map(\.name))
            #expect(summaries.map(\.checksum.rows) == rows)
            try await Filling.expectSame(places[0], places[1])
        }
    }

    @Test("a chain through every engine ends with what it began with", Engine.allThere)
    func chain() async throws {
        try await withPlaces([.sqlite, .postgres, .mysql, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 300)
            var checksums: [[TransferSummary]] = []
            for index in 0..<3 { checksums.append(try await Self.copy(places[index], places[index + 1])) }
            #expect(checksums[0] == checksums[1])
            #expect(checksums[1] == checksums[2])
            try await Filling.expectSame(places[0], places[3])
        }
    }

    @Test("a copy that was interrupted goes on where it was", arguments: Engine.available)
    func interrupted(to: Engine) async throws {
        try await withPlaces([.sqlite, to]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 1_100)
            for pages in 1...3 {
                let target = FailingTarget(try await places[1].target(), pagesUntilFailure: pages)
                await #expect(throws: TransferFailure.target(.unavailable(logDetail: "cut"))) {
                    try await Self.copy(try places[0].source(), target)
                }
                await target.close()
            }
            let steps = Guarded<[TransferProgress]>([])
            _ = try await Self.copy(places[0], places[1]) { step in steps.withLock { $0.append(step) } }
            // Three pages were there before, or more where a table has fewer.
            let first = try #require(steps.withLock { $0.first })
            #expect(first.stage == .copying)
            #expect(first.table != "device_registration" || first.done > 1_024)
            try await Filling.expectSame(places[0], places[1])
        }
    }

    @Test(
        "a target with rows of its own is left alone, unless it may be merged with",
        arguments: Engine.available)
    func occupied(to: Engine) async throws {
        try await withPlaces([.sqlite, to]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 200)
            let mine = Samples.key("of the target")
            let storage = try await places[1].open()
            _ = try await storage.register(Samples.registration("mine"), under: mine, deviceLimit: 9)
            await storage.close()
            await #expect(throws: TransferFailure.occupied(table: "device_registration", rows: 1)) {
                try await Self.copy(places[0], places[1])
            }
            _ = try await Self.copy(places[0], places[1], merging: true)
            try await Filling.expectSame(places[0], places[1])
            let again = try await places[1].open()
            #expect(try await again.devices(of: mine).map(\.token) == ["mine"])
            await again.close()
        }
    }

    @Test("a second copy replaces what has changed since the first")
    func again() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50)
            _ = try await Self.copy(places[0], places[1])
            let storage = try await places[0].open()
            let change = Samples.registration(Filling.token(7), bundleID: "changed", at: Samples.time + 9_999)
            _ = try await storage.register(change, under: Filling.key(7), deviceLimit: 999)
            await storage.close()
            _ = try await Self.copy(places[0], places[1], merging: true)
            try await Filling.expectSame(places[0], places[1])
        }
    }

    @Test("half a copy of another database is not gone on with")
    func otherSource() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 2_000)
            let target = FailingTarget(try await places[1].target(), pagesUntilFailure: 1)
            await #expect(throws: TransferFailure.self) {
                try await Self.copy(try places[0].source(), target)
            }
            await target.close()
            await #expect(throws: TransferFailure.otherSource) {
                try await Self.copy(places[0], places[1], name: "another")
            }
        }
    }

    @Test("a source that changes while it is copied is noticed, and the next run begins anew")
    func changed() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 20)
            let storage = try await places[0].open()
            let target = ChangingTarget(try await places[1].target()) {
                let late = Samples.registration("late")
                _ = try? await storage.register(late, under: Samples.key("late"), deviceLimit: 9)
            }
            let failure = await #expect(throws: TransferFailure.self) {
                try await Self.copy(try places[0].source(), target)
            }
            await target.close()
            guard case .differs(let table, let there, let here) = failure else {
                Issue.record("got \(String(describing: failure))")
                return await storage.close()
            }
            #expect(table == "device_registration")
            #expect(there.rows == here.rows + 1)
            await storage.close()
            _ = try await Self.copy(places[0], places[1])
            try await Filling.expectSame(places[0], places[1])
        }
    }

    @Test("a row's bytes tell it from every other")
    func coding() {
        let rows: [[SQLValue]] = [
            [], [.null], [.null, .null], [.integer(0)], [.integer(-1)], [.text("")], [.blob([])],
            [.text("0")],
            [.text("a"), .text("b")], [.text("ab")], [.text("a\u{301}")], [.text("\u{E1}")], [.blob([97])],
        ]
        let encoded = rows.map(TransferCoding.encode)
        #expect(Set(encoded).count == rows.count)
        for (row, bytes) in zip(rows, encoded) {
            #expect(TransferCoding.decode(bytes).map(TransferCoding.encode) == bytes)
            #expect(TransferCoding.decode(bytes)?.count == row.count)
            if !bytes.isEmpty, bytes != [0], bytes != [0, 0] {
                #expect(TransferCoding.decode(bytes.dropLast()) == nil)
            }
        }
    }

    // MARK: Parts

    @discardableResult
    private static func copy(
        _ from: TransferPlace, _ to: TransferPlace, merging: Bool = false, name: String = "source",
        report: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> [TransferSummary] {
        let target = try await to.target()
        do {
            let summaries = try await copy(
                try from.source(), target, merging: merging, name: name, report: report)
            await target.close()
            return summaries
        } catch {
            await target.close()
            throw error
        }
    }

    @discardableResult
    private static func copy(
        _ source: any TransferDatabase, _ target: any TransferDatabase, merging: Bool = false,
        name: String = "source", report: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> [TransferSummary] {
        let transfer = Transfer(from: source, named: name, to: target, merging: merging, report: report)
        do {
            let summaries = try await transfer.run()
            await source.close()
            return summaries
        } catch {
            await source.close()
            throw error
        }
    }
}
