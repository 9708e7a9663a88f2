import OwnThread
import Storage
import StorageContract
import StorageMySQL
import Testing

@Suite("A connection to MariaDB", MySQLServer.isThere, .timeLimit(.minutes(2)), .ownThread)
struct MySQLConnectionTests {
    /// Runs a body with a connection and a temporary table of one column.
    private func withColumn(_ type: String, _ body: (MySQLConnection) throws -> Void) throws {
        let connection = try MySQLServer.connect()
        try connection.run("CREATE TEMPORARY TABLE test.t (v \(type), k int PRIMARY KEY)")
        try body(connection)
    }

    private func row(_ connection: MySQLConnection, _ sql: String) throws -> [SQLRow] {
        var rows: [SQLRow] = []
        try connection.query(sql, []) { row throws(SQLFailure) in rows.append(row) }
        return rows
    }

    @Test("integers come back to the last bit", arguments: [Int64.min, -1, 0, 1, 4_294_967_296, .max])
    func integers(value: Int64) throws {
        try withColumn("bigint") { connection throws in
            #expect(try connection.execute("INSERT INTO test.t VALUES (?, 1)", [.integer(value)]) == 1)
            #expect(try connection.integer("SELECT v FROM test.t WHERE v = ?", [.integer(value)]) == value)
        }
    }

    @Test("texts come back byte for byte, and NULL is no text")
    func texts() throws {
        let long = String(repeating: "🦊", count: 16_000)
        try withColumn("mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin") { connection throws in
            for text in ["", "a", "a ", "e\u{301}", "\u{E9}", "🦊", long, "short again", "a\\'\"%_"] {
                try connection.run("DELETE FROM test.t")
                _ = try connection.execute("INSERT INTO test.t VALUES (?, 1)", [.text(text)])
                let back = try #require(try row(connection, "SELECT v FROM test.t").first).text(0)
                #expect(Array(back.utf8) == Array(text.utf8))
            }
            _ = try connection.execute("UPDATE test.t SET v = ?", [.null])
            #expect(try #require(try row(connection, "SELECT v FROM test.t").first).isNull(0))
        }
    }

    @Test("bytes come back as they are, none, many and zeros among them")
    func blobs() throws {
        let many = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        try withColumn("mediumblob") { connection throws in
            for bytes in [[], [0], many, [1, 0, 255]] {
                try connection.run("DELETE FROM test.t")
                _ = try connection.execute("INSERT INTO test.t VALUES (?, 1)", [.blob(bytes)])
                #expect(try #require(try row(connection, "SELECT v FROM test.t").first).blob(0) == bytes)
            }
        }
    }

    @Test("several rows with long and short texts come in order")
    func rows() throws {
        try withColumn("mediumtext CHARACTER SET utf8mb4") { connection throws in
            let texts = [5, 5_000, 0, 60_000, 3].map { String(repeating: "x", count: $0) }
            for (index, text) in texts.enumerated() {
                let values: [SQLValue] = [.text(text), .integer(Int64(index))]
                _ = try connection.execute("INSERT INTO test.t VALUES (?, ?)", values)
            }
            #expect(try connection.texts("SELECT v FROM test.t ORDER BY k") == texts)
            // Repeated with the same prepared statement, after a row handler gave up halfway.
            #expect(throws: SQLFailure.self) {
                try connection.query("SELECT v FROM test.t ORDER BY k", []) { row throws(SQLFailure) in
                    throw row.wrong(0)
                }
            }
            #expect(try connection.texts("SELECT v FROM test.t ORDER BY k") == texts)
        }
    }

    @Test("an update counts the rows that it found, changed or not")
    func matchedRows() throws {
        try withColumn("int") { connection throws in
            #expect(try connection.execute("INSERT INTO test.t VALUES (1, 1), (1, 2)", []) == 2)
            #expect(try connection.execute("UPDATE test.t SET v = ?", [.integer(1)]) == 2)
            #expect(try connection.execute("INSERT IGNORE INTO test.t VALUES (1, 1)", []) == 0)
            #expect(try connection.execute("DELETE FROM test.t WHERE k = ?", [.integer(9)]) == 0)
        }
    }

    @Test("a value that doesn't fit is an error, and a key that is there says no value")
    func strict() throws {
        try withColumn("varchar(3)") { connection throws in
            let error = #expect(throws: SQLFailure.self) {
                _ = try connection.execute("INSERT INTO test.t VALUES (?, 1)", [.text("hunter2")])
            }
            #expect(error?.kind == .other)
            #expect(connection.isUsable)
            try connection.run("INSERT INTO test.t VALUES ('a', 77123)")
            let duplicate = #expect(throws: SQLFailure.self) {
                _ = try connection.execute(
                    "INSERT INTO test.t VALUES (?, ?)", [.text("b"), .integer(77_123)])
            }
            #expect(duplicate?.kind == .duplicateKey)
            #expect(duplicate?.error.logDetail.contains("77123") == false)
        }
    }

    @Test("a transaction is known to be open, and leaves nothing when it is rolled back")
    func transaction() throws {
        try withColumn("int") { connection throws in
            #expect(!connection.isInTransaction)
            try connection.run("START TRANSACTION")
            _ = try connection.execute("INSERT INTO test.t VALUES (1, 1)", [])
            #expect(connection.isInTransaction)
            try connection.run("ROLLBACK")
            #expect(!connection.isInTransaction)
            #expect(try connection.integer("SELECT count(*) FROM test.t") == 0)
        }
    }

    @Test("waiting ends at the deadline, with TLS and without", arguments: ["disabled", "required"])
    func deadline(mode: String) throws {
        let connection = try MySQLServer.connect(options: "?ssl-mode=\(mode)")
        let began = ContinuousClock.now
        connection.deadline = began + .milliseconds(300)
        let error = #expect(throws: SQLFailure.self) { _ = try connection.integer("SELECT sleep(20)") }
        guard case .timeout = error?.error else {
            Issue.record("got \(String(describing: error))")
            return
        }
        #expect(error?.kind == .connectionLost)
        #expect(!connection.isUsable)
        #expect((.milliseconds(300) ..< .seconds(10)).contains(ContinuousClock.now - began))
        #expect(throws: SQLFailure.self) { try connection.run("DO 1") }
    }

    /// An endless join; `benchmark` and `sleep` may end without an error when they are interrupted.
    private static let longQuery =
        "SELECT count(*) FROM "
        + (1...5).map { "information_schema.collations t\($0)" }.joined(separator: ", ")

    @Test("the server itself gives up a statement after the call's time")
    func statementTimeout() throws {
        var options = ServerOptions.patient
        options.callTimeout = .seconds(1)
        let connection = try MySQLServer.connect(server: options)
        let error = #expect(throws: SQLFailure.self) {
            _ = try connection.integer(
                "SELECT count(*) FROM seq_1_to_100000 a, seq_1_to_100000 b WHERE sha1(a.seq ^ b.seq) = ''")
        }
        guard case .timeout = error?.error else {
            Issue.record("got \(String(describing: error))")
            return
        }
        #expect(connection.isUsable)
        #expect(error?.mayBeDone == false)
    }

    @Test("what a proxy before several shards reports may have been done on some of them")
    func severalShards() throws {
        let connection = try MySQLServer.connect()
        // Vitess' code for nearly every error.
        let error = #expect(throws: SQLFailure.self) {
            try connection.run(
                "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1105, MESSAGE_TEXT = 'a shard is down'")
        }
        #expect(error?.kind == .other)
        #expect(error?.mayBeDone == true)
        #expect(connection.isUsable)
    }

    @Test("a connection that the server ends is lost, and known to be")
    func killed() throws {
        let connection = try MySQLServer.connect()
        let id = try #require(try connection.integer("SELECT connection_id()"))
        try MySQLServer.connect().run("KILL \(id)")
        let error = #expect(throws: SQLFailure.self) { _ = try connection.integer("SELECT 1") }
        #expect(error?.kind == .connectionLost)
        #expect(!connection.isUsable)
    }

    @Test("a large statement goes through, with TLS and without", arguments: ["disabled", "required"])
    func large(mode: String) throws {
        let connection = try MySQLServer.connect(options: "?ssl-mode=\(mode)")
        let bytes = [UInt8](repeating: 7, count: 12_000_000)
        #expect(try connection.integer("SELECT length(?)", [.blob(bytes)]) == 12_000_000)
    }

    @Test(
        "only one connection at a time is in the schema lock, and others give up at their deadline",
        arguments: MySQLServer.all)
    func schemaLock(_ server: MySQLServer) throws {
        let first = try MySQLServer.connect(on: server)
        let second = try MySQLServer.connect(on: server)
        try first.withSchemaLock { () throws(SQLFailure) in
            second.deadline = .now + .milliseconds(100)
            do throws(SQLFailure) {
                let both = try second.withSchemaLock { () throws(SQLFailure) in true }
                Issue.record("both were in it: \(both)")
            } catch {
                guard case .timeout = error.error else { throw error }
            }
        }
        let third = try MySQLServer.connect(on: server)
        let entered = try third.withSchemaLock { () throws(SQLFailure) in true }
        #expect(entered)
    }
}
