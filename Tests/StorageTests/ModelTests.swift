import Storage
import StorageContract
import Testing

@Suite("Models", .timeLimit(.minutes(2)))
struct ModelTests {
    @Test("a UUIDv7 has its time, version and variant where RFC 9562 puts them")
    func layout() throws {
        // The RFC's example: 2022-02-22 14:22:22 -05:00 is 0x017F22E279B0.
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            let text = UUIDv7(at: 0x017F_22E2_79B0, using: &generator).text
            #expect(text.count == 36)
            #expect(text.hasPrefix("017f22e2-79b0-7"))
            let characters = Array(text)
            #expect([8, 13, 18, 23].allSatisfy { characters[$0] == "-" })
            #expect("89ab".contains(characters[19]))
            #expect(characters.allSatisfy { "0123456789abcdef-".contains($0) })
        }
    }

    @Test("UUIDv7s differ in one millisecond and sort by time")
    func order() {
        var generator = SeededGenerator(seed: 2)
        let same = (0..<1_000).map { _ in UUIDv7(at: 1_795_262_400_123, using: &generator).text }
        #expect(Set(same).count == 1_000)
        let later = (0..<100).map { UUIDv7(at: 1_795_262_400_000 + $0, using: &generator).text }
        #expect(later == later.sorted())
    }

    @Test("UUIDv7s of one source sort in the order in which they were made, also within a millisecond")
    func following() throws {
        var generator = SeededGenerator(seed: 4)
        var last: UUIDv7?
        // The last ID is made after the clock has gone back.
        let times =
            (0..<20_000).map { 1_795_262_400_000 + EpochMilliseconds($0 / 5_000) } + [1_795_262_399_000]
        let made = times.map { time in
            let id = UUIDv7(at: time, after: last, using: &generator)
            last = id
            return id.text
        }
        #expect(Array(made.dropLast()) == made.dropLast().sorted())
        #expect(Set(made).count == made.count)
        #expect(made.allSatisfy { Array($0)[14] == "7" && "89ab".contains(Array($0)[19]) })
        #expect(try #require(made.last) < made[0])
    }

    @Test("the same time and numbers make the same UUIDv7")
    func deterministic() {
        var (first, second) = (SeededGenerator(seed: 3), SeededGenerator(seed: 3))
        #expect(UUIDv7(at: 5, using: &first) == UUIDv7(at: 5, using: &second))
    }

    @Test("a delivery's error is cut to 1,024 bytes between two characters and loses NULs")
    func errorText() {
        #expect(error(of: nil) == nil)
        #expect(error(of: "") == "")
        #expect(error(of: "Unregistered") == "Unregistered")
        #expect(error(of: "a\0b\0") == "ab")
        let full = String(repeating: "x", count: 1_024)
        #expect(error(of: full) == full)
        #expect(error(of: full + "y") == full)
        let wide = String(repeating: "x", count: 1_022) + "🦊🦊"
        #expect(error(of: wide) == String(repeating: "x", count: 1_022))
    }

    @Test("pushes that end alike share a row, as far as their IDs are UUIDs and it has room")
    func sharedRow() {
        let ids = (0..<6).map { _ in Samples.id().text }
        var row = Samples.delivery(Samples.key("secret"), id: ids[0], to: "a")
        #expect(row.singles == [row])
        let pairs = [
            (ids[1], ids[2]), ("1", ids[3]), (ids[3], String(repeating: "\0", count: 36)),
            (ids[3], String(repeating: "é", count: 18)), (ids[4], ids[5]),
        ]
        let areAdded = pairs.map { row.add(id: $0, deviceID: $1) }
        #expect(areAdded == [true, false, false, false, true])
        #expect(row.pushCount == 3)
        #expect(row.singles.map(\.id) == [ids[0], ids[1], ids[4]])
        #expect(row.singles.map(\.deviceID) == ["a", ids[2], ids[5]])
        #expect(row.singles.allSatisfy { $0.singles == [$0] && $0.sessionID == row.sessionID })
        var adds = 0
        while row.add(id: ids[1], deviceID: ids[2]) { adds += 1 }
        #expect(row.pushCount == StorageLimits.pushesPerDelivery && adds == row.pushCount - 3)
        // As MySQL's type for long texts allows.
        #expect(row.others.utf8.count < 65_536)
    }

    @Test("every table with secrets' rows begins its key with the column by which engines shard")
    func shardKeys() {
        for table in SchemaTable.all {
            #expect(table.key.first == "secret_hash", "\(table.name)")
            // SQLite isn't sharded, so its log is in the order in which it is pruned.
            #expect(table.sqliteKey == nil || table.name == "delivery_log", "\(table.name)")
            #expect(Set(table.key).isSubset(of: table.columnNames), "\(table.name)")
            #expect(table.indices.allSatisfy { Set($0.columns).isSubset(of: table.columnNames) })
            // A sharding engine keeps an index unique only if the index begins with that column.
            #expect(table.indices.allSatisfy { !$0.isUnique || $0.columns.first == "secret_hash" })
        }
        #expect(Set(SchemaTable.all.map(\.name)).count == SchemaTable.all.count)
        for (name, columns) in SchemaState.adoptedColumns {
            let table = SchemaTable.all.first { $0.name == name }
            #expect(table.map { columns.isSubset(of: $0.columnNames) } == true, "\(name)")
        }
    }

    @Test("the schema's steps are numbered from 1 without a gap, and what is pending follows the version")
    func steps() throws {
        #expect(SchemaStep.allCases.map(\.rawValue) == Array(1...SchemaStep.current))
        #expect(try SchemaStep.pending(after: 0) == SchemaStep.allCases)
        #expect(try SchemaStep.pending(after: 1) == Array(SchemaStep.allCases.dropFirst()))
        #expect(try SchemaStep.pending(after: SchemaStep.current) == [])
        let newer = SchemaStep.current + 1
        #expect(throws: StorageError.schemaTooNew(found: newer, known: SchemaStep.current)) {
            try SchemaStep.pending(after: newer)
        }
    }

    @Test("what an error says to a caller holds nothing of what the log keeps")
    func errorsAreSafe() {
        let detail = "/var/lib/relay.db SELECT password"
        let errors: [StorageError] = [
            .unavailable(logDetail: detail), .crowded(logDetail: detail), .timeout(logDetail: detail),
            .unsuitable(logDetail: detail), .full(logDetail: detail),
            .readOnly(logDetail: detail), .inUse(logDetail: detail), .corrupt(logDetail: detail),
            .schemaTooNew(found: 3, known: 2), .schemaTooOld(found: 1, needed: 2),
            .foreignDatabase(logDetail: detail), .unfinishedCopy, .invalidValue(field: "eventID"), .closed,
            .internalFault(logDetail: detail),
        ]
        for error in errors {
            #expect(!"\(error)".contains("SELECT"))
            #expect(!"\(error)".contains("/var"))
            #expect("\(error)".hasSuffix(".") || "\(error)".hasSuffix("`."))
            #expect(error.logDetail.hasPrefix("\(error)"))
        }
        #expect(StorageError.full(logDetail: detail).logDetail.contains(detail))
        #expect(errors.filter(\.isTransient).count == 4)
    }

    private func error(of text: String?) -> String? {
        Delivery(
            id: "1", secretHash: SecretHash(Digest256(of: [])), eventType: "complete", sessionID: "s",
            status: .failed, error: text, createdAt: 0
        ).error
    }
}
