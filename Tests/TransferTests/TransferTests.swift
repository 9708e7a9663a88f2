import OwnThread
import StorageContract
import Testing

@testable import Storage

@Suite("Copying a database", .timeLimit(.minutes(2)), .ownThread)
struct TransferTests {
    @Test(
        "everything arrives as it was, in all directions", Engine.allThere, arguments: Engine.directions)
    func directions(from: Engine, to: Engine) async throws {
        try await withPlaces([from, to]) { places async throws in
            let rows = try await Filling.fill(places[0], devices: 1_100)
            let summaries = try copy(places[0], places[1])
            #expect(summaries.map(\.table) == SchemaTable.copied.map(\.name))
            #expect(summaries.map(\.checksum.rows) == rows)
            try await Filling.expectSame(places[0], places[1])
        }
    }

    @Test("a chain through every engine ends with what it began with", Engine.allThere)
    func chain() async throws {
        try await withPlaces([.sqlite, .postgres, .mysql, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 300)
            var checksums: [[TransferSummary]] = []
            for index in 0..<3 { checksums.append(try copy(places[index], places[index + 1])) }
            #expect(checksums[0] == checksums[1])
            #expect(checksums[1] == checksums[2])
            try await Filling.expectSame(places[0], places[3])
        }
    }

    @Test("the tables of OpenCode's relay are copied without being changed", arguments: Engine.available)
    func adoptable(to: Engine) async throws {
        try await withPlaces([.sqlite, to, .sqlite]) { places async throws in
            try places[0].run([
                """
                CREATE TABLE device_registration (id text PRIMARY KEY, secret_hash text, device_token text,
                    bundle_id text, apns_env text, created_at integer, updated_at integer)
                """,
                """
                CREATE TABLE delivery_log (id text PRIMARY KEY, secret_hash text, event_type text,
                    session_id text, status text, error text, created_at integer)
                """,
                """
                INSERT INTO device_registration VALUES
                    ('an ID', '\(Filling.key(1).primary.hex)', 'aa', 'com.example.app', 'sandbox', 1, 2)
                """,
            ])
            let summaries = try copy(places[0], places[1])
            #expect(summaries.map(\.checksum.rows).reduce(0, +) == 1)
            let storage = try await places[1].open()
            #expect(try await storage.devices(of: Filling.key(1)).map(\.token) == ["aa"])
            await storage.close()
            #expect(try copy(places[0], places[2]).count == summaries.count)
        }
    }

    // MARK: Interrupted copies

    @Test("an interrupted copy continues after the rows that are there", arguments: Engine.available)
    func interrupted(to: Engine) async throws {
        try await withPlaces([.sqlite, to]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 1_100)
            // All marks and the first page.
            let target = cut(try places[1].target(), after: 25)
            #expect(throws: TransferFailure.target(.unavailable(logDetail: "cut"))) {
                try Transfer(from: try places[0].source(), named: "source", to: target) { _ in }.run()
            }
            var steps: [TransferProgress] = []
            try copy(places[0], places[1]) { steps.append($0) }
            let first = try #require(steps.first)
            #expect(first.stage == .copying && first.table == "device_registration")
            #expect(first.done == 1_100)
            #expect(steps.count { $0.stage == .copying && $0.table == first.table } == 1)
            try await Filling.expectSame(places[0], places[1])
        }
    }

    @Test("cut before any change to the target, and continued, it ends with the same rows")
    func cuts() async throws {
        var isCut = true
        var cuts = 0
        while isCut {
            try await withPlaces([.sqlite, .sqlite]) { places async throws in
                _ = try await Filling.fill(places[0], devices: 30, receipts: 10)
                let target = cut(try places[1].target(), after: cuts)
                let transfer = Transfer(from: try places[0].source(), named: "source", to: target) { _ in }
                do throws(TransferFailure) {
                    _ = try transfer.run()
                    isCut = false
                } catch {
                    #expect(error == .target(.unavailable(logDetail: "cut")))
                }
            }
            cuts += 1
        }
        // Each of the ten tables has a mark, and a transaction with its rows.
        #expect(cuts > 40)
    }

    @Test("half a copy of another database is not continued")
    func otherSource() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50)
            let target = cut(try places[1].target(), after: 25)
            #expect(throws: TransferFailure.self) {
                try Transfer(from: try places[0].source(), named: "source", to: target) { _ in }.run()
            }
            #expect(throws: TransferFailure.otherSource) {
                try copy(places[0], places[1], name: "another")
            }
        }
    }

    // MARK: Relays

    @Test("a target with rows of its own is left alone", arguments: Engine.available)
    func occupied(to: Engine) async throws {
        try await withPlaces([.sqlite, to]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            let storage = try await places[1].open()
            _ = try await storage.register(
                Samples.registration("mine"), under: Samples.key("of the target"), deviceLimit: 9)
            await storage.close()
            let own = try contents(of: places[1])
            #expect(throws: TransferFailure.occupied(table: "device_registration", rows: 1)) {
                try copy(places[0], places[1])
            }
            #expect(try contents(of: places[1]) == own)
            await (try await places[1].open()).close()
        }
    }

    /// Every engine with every change.
    private static let changes: [(Engine, Change)] = Engine.available.flatMap { engine in
        Change.allCases.map { (engine, $0) }
    }

    @Test(
        "rows that a relay changes in the target during the copy are reported, and the next run copies again",
        arguments: changes)
    func changedTarget(engine: Engine, change: Change) async throws {
        try await withPlaces([.sqlite, engine]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            let source = try places[0].source()
            let target = try places[1].target()
            try Self.expectDifferences(from: source, to: target) { try change.make(in: target) }
            #expect(try Self.rows(target) != Self.rows(source), "nothing is deleted without notice")
            await #expect(throws: StorageError.unfinishedCopy) { try await places[1].inspect() }
            _ = try Transfer(from: source, named: "source", to: target) { _ in }.run()
            #expect(try Self.rows(target) == Self.rows(source))
        }
    }

    @Test(
        "rows that a relay changes in the source during the copy are reported, and the next run copies again",
        arguments: Change.allCases)
    func changedSource(change: Change) async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            let source = try places[0].source()
            let target = try places[1].target()
            let relay = try places[0].openUnlocked()
            try Self.expectDifferences(from: source, to: target) { try change.make(in: relay) }
            _ = try Transfer(from: source, named: "source", to: target) { _ in }.run()
            #expect(try Self.rows(target) == Self.rows(source))
        }
    }

    /// Copies, and makes a change between the last page and the comparison.
    private static func expectDifferences(
        from source: TransferSide, to target: TransferSide, change: @escaping () throws -> Void
    ) throws {
        let last = SchemaTable.copied.last?.name
        let transfer = Transfer(from: source, named: "source", to: target) { step in
            guard step.stage == .copying, step.table == last else { return }
            do { try change() } catch { Issue.record(error) }
        }
        let failure = #expect(throws: TransferFailure.self) { try transfer.run() }
        guard case .differs(let differences) = failure else {
            Issue.record("got \(String(describing: failure))")
            return
        }
        #expect(differences.map(\.table) == SchemaTable.copied.map(\.name))
        #expect(differences.allSatisfy { $0.source != $0.target })
    }

    private static func rows(_ side: TransferSide) throws -> [TransferChecksum] {
        try SchemaTable.copied.map { try side.checksum(of: $0) { _ in } }
    }

    @Test("a relay refuses an unfinished copy, and uses a finished one", arguments: Engine.available)
    func relay(to: Engine) async throws {
        try await withPlaces([.sqlite, to]) { places async throws in
            _ = try await Filling.fill(places[0], devices: 50, receipts: 30)
            do {
                let target = cut(try places[1].target(), after: 25)
                #expect(throws: TransferFailure.self) {
                    try Transfer(from: try places[0].source(), named: "source", to: target) { _ in }.run()
                }
            }
            await #expect(throws: StorageError.unfinishedCopy) { try await places[1].inspect() }
            await #expect(throws: StorageError.unfinishedCopy) { _ = try await places[1].open() }
            try copy(places[0], places[1])
            try await places[1].inspect()
            await (try await places[1].open()).close()
            #expect(throws: TransferFailure.occupied(table: "device_registration", rows: 50)) {
                try copy(places[0], places[1])
            }
        }
    }

    @Test("a file that a relay uses is neither copied nor filled")
    func inUse() async throws {
        try await withPlaces([.sqlite, .sqlite]) { places async throws in
            let relay = try await places[0].open()
            for open in [places[0].source, places[0].target] {
                let failure = #expect(throws: StorageError.self) { _ = try open() }
                guard case .inUse = failure else {
                    Issue.record("got \(String(describing: failure))")
                    continue
                }
            }
            await relay.close()
            let source = try places[0].source()
            let failure = await #expect(throws: StorageError.self) { _ = try await places[0].open() }
            guard case .inUse = failure else {
                Issue.record("got \(String(describing: failure))")
                return
            }
            withExtendedLifetime(source) {}
        }
    }

    @Test("a row's bytes tell it from every other")
    func coding() {
        let rows: [[SQLValue]] = [
            [], [.null], [.null, .null], [.integer(0)], [.integer(-1)], [.text("")], [.blob([])],
            [.text("0")],
            [.text("a"), .text("b")], [.text("ab")], [.text("a\u{301}")], [.text("\u{E1}")], [.blob([97])],
        ]
        #expect(Set(rows.map(TransferChecksum.encode)).count == rows.count)
    }
}
