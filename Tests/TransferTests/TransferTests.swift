import OwnThread
import Storage
import StorageContract
import Testing

@Suite("Copying a database", .timeLimit(.minutes(2)), .ownThread)
struct TransferTests {
    @Test(
        "everything arrives as it was, in all directions", Engine.allThere, arguments: Engine.directions)
    func directions(from: Engine, to: Engine) async throws {
        try await withPlaces([from, to]) { places async throws in
            let rows = try await Filling.fill(places[0], devices: 1_100)
            let summaries = try await copy(places[0], places[1])
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
            for index in 0..<3 { checksums.append(try await copy(places[index], places[index + 1])) }
            #expect(checksums[0] == checksums[1])
            #expect(checksums[1] == checksums[2])
            try await Filling.expectSame(places[0], places[3])
        }
    }

    @Test("a copy that was interrupted goes on where it was", arguments: Engine.available)
    func interrupted(to: Engine) async throws {
        try await withPlaces([.sqlite, to]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 1_100)
            for changes in [2, 1, 2] {
                let target = WatchedDatabase(try await places[1].target(), changesUntilFailure: changes)
                await #expect(throws: TransferFailure.target(.unavailable(logDetail: "cut"))) {
                    try await copy(try places[0].source(), target)
                }
                await target.close()
            }
            let steps = Guarded<[TransferProgress]>([])
            _ = try await copy(places[0], places[1]) { step in steps.withLock { $0.append(step) } }
            // Four pages were there before.
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
                try await copy(places[0], places[1])
            }
            _ = try await copy(places[0], places[1], merging: true)
            try await Filling.expectSame(places[0], places[1])
            let again = try await places[1].open()
            #expect(try await again.devices(of: mine).map(\.token) == ["mine"])
            await again.close()
        }
    }

    @Test("pushes of a database without parts of the queue are in part 0", arguments: Engine.available)
    func withoutParts(from: Engine) async throws {
        try await withPlaces([from]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            let table = try #require(TransferTable.all.first { $0.name == "pending_push" })
            let source = try places[0].source()
            let page = try await source.page(
                of: table, after: nil, version: SchemaStep.pushBuckets.rawValue - 1)
            await source.close()
            let column = try #require(table.columns.firstIndex { $0.name == "bucket" })
            #expect(!page.isEmpty)
            #expect(page.allSatisfy { $0.count == table.columns.count && $0[column] == .integer(0) })
        }
    }

    @Test("half a copy of another database is not gone on with")
    func otherSource() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 2_000)
            let target = WatchedDatabase(try await places[1].target(), changesUntilFailure: 2)
            await #expect(throws: TransferFailure.self) {
                try await copy(try places[0].source(), target)
            }
            await target.close()
            await #expect(throws: TransferFailure.otherSource) {
                try await copy(places[0], places[1], name: "another")
            }
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
}
