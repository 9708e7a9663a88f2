import Programs
import Testing

@testable import Relay
@testable import Storage

@Suite("relay copy", .timeLimit(.minutes(2)))
struct CopyTests {
    private func sources(_ flags: [String: String]) -> SettingSources {
        SettingSources(flags: flags, environment: [:], readFile: { _ in .failure(FileError("none")) })
    }

    @Test("it needs two databases, and not the same one twice")
    func configuration() throws {
        let whole = try CopyConfiguration(
            sources(["RELAY_COPY_FROM": "sqlite:a.db", "RELAY_COPY_TO": "postgres://u:hunter2@h/d"]))
        #expect(whole.source == .sqlite(path: "a.db"))
        #expect(whole.target.engine == .postgres)
        for flags in [[:], ["RELAY_COPY_FROM": "sqlite:a.db"]] {
            let problems = #expect(throws: ConfigurationError.self) {
                _ = try CopyConfiguration(sources(flags))
            }
            #expect(problems?.description.contains("--to is not set") == true)
        }
        let same = #expect(throws: ConfigurationError.self) {
            _ = try CopyConfiguration(
                sources(["RELAY_COPY_FROM": "sqlite:a.db", "RELAY_COPY_TO": "sqlite:a.db"]))
        }
        #expect(same?.description.contains("the same database") == true)
    }

    @Test("a terminal sees a bar that moves at most ten times a second, and a table's end")
    func terminal() {
        var progress = CopyProgress(isTerminal: true)
        let began = ContinuousClock.now
        func text(_ done: Int, _ milliseconds: Int) -> String? {
            let step = TransferProgress(stage: .copying, table: "delivery_log", done: done, total: 2_000)
            return progress.text(for: step, at: began + .milliseconds(milliseconds))
        }
        let first = text(500, 0)
        #expect(
            first
                == "\r\u{1B}[Kcopying    delivery_log         [######------------------]   25%  500 of 2,000")
        #expect(text(600, 50) == nil)
        #expect(text(1_500, 1_000)?.hasSuffix("75%  1,500 of 2,000  1,000/s  1 s left") == true)
        #expect(text(2_000, 1_010)?.hasSuffix("100%  2,000 of 2,000  1,485/s\n") == true)
        #expect(text(2_000, 3_000) == nil)
    }

    @Test("the time that is left has few digits")
    func remaining() {
        let times = [0, 45, 99, 100, 3_600, 5_941, 7_201].map { CopyProgress.remaining(.seconds($0)) }
        #expect(
            times == [
                "1 s left", "45 s left", "99 s left", "2 min left", "60 min left", "1 h 40 min left",
                "2 h 1 min left",
            ])
    }

    @Test("a file gets a line for each table's end, and one now and then")
    func lines() {
        var progress = CopyProgress(isTerminal: false)
        let began = ContinuousClock.now
        func text(_ done: Int, _ seconds: Int) -> String? {
            let step = TransferProgress(
                stage: .comparing, table: "pending_push", done: done, total: 1_000_000)
            return progress.text(for: step, at: began + .seconds(seconds))
        }
        #expect(text(1_000, 0) == "comparing  pending_push           0%  1,000 of 1,000,000\n")
        #expect(text(2_000, 9) == nil)
        #expect(
            text(101_000, 10)
                == "comparing  pending_push          10%  101,000 of 1,000,000  10,000/s  89 s left\n")
        #expect(text(1_000_000, 11)?.contains("100%") == true)
    }

    @Test("an empty table is all there at once")
    func empty() {
        let step = TransferProgress(stage: .copying, table: "event_receipt", done: 0, total: 0)
        #expect(
            CopyProgress.line(step, rate: nil, bar: false) == "copying    event_receipt        100%  0 of 0")
    }

    @Test("numbers have commas between thousands")
    func grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            #expect(CopyProgress.grouped(number) == text)
        }
    }

    private let places = CopyCommand.Places(source: "SQLite a.db", target: "MySQL h:3306/d")

    @Test("a failure says what is where, and each ends the program in its own way")
    func failures() {
        let occupied = TransferFailure.occupied(table: "delivery_log", rows: 12_345)
        let text = CopyReport.message(occupied, places)
        #expect(text.contains("MySQL h:3306/d already has 12,345 rows in delivery_log"))
        #expect(text.contains("Copy into an empty database"))
        #expect(CopyReport.status(occupied) == .data)
        #expect(CopyReport.status(.otherSource) == .data)
        #expect(CopyReport.status(.source(.timeout(logDetail: "x"))) == .unavailable)
        #expect(
            CopyReport.message(.target(.timeout(logDetail: "x")), places).contains(
                "Run the same command again"))
        let inUse = TransferFailure.source(.inUse(logDetail: "process 7 writes a.db"))
        #expect(CopyReport.message(inUse, places).contains("process 7"))
        #expect(CopyReport.message(inUse, places).contains("Stop it"))
        #expect(CopyReport.status(.differs([])) == .data)
    }

    private func checksum(_ rows: Int) -> TransferChecksum {
        var checksum = TransferChecksum()
        for row in 0..<rows { checksum.add([.integer(Int64(row))]) }
        return checksum
    }

    @Test("a difference is told by table, with what to do next")
    func differences() {
        let differences = [
            TransferDifference(table: "delivery_log", source: checksum(1_200), target: checksum(1))
        ]
        #expect(
            CopyReport.message(.differs(differences), places) == """
                MySQL h:3306/d is not a copy of SQLite a.db yet:
                  delivery_log: 1,200 rows with checksum \(checksum(1_200)), the target has 1 row with checksum \
                \(checksum(1))
                A relay still used one of the databases: stop it. Then run the same command again. It empties these \
                tables in MySQL h:3306/d and copies them again.
                """)
    }

    @Test("a summary has a line for each table")
    func summary() {
        let summaries = [
            TransferSummary(table: "delivery_log", checksum: checksum(0)),
            TransferSummary(table: "event_receipt", checksum: checksum(1)),
        ]
        #expect(
            CopyReport.summary(summaries, places, .seconds(3)) == """
                delivery_log: 0 rows, checksum 0000000000000000 on both sides
                event_receipt: 1 row, checksum \(checksum(1)) on both sides
                MySQL h:3306/d has all of SQLite a.db (3 s)

                """)
    }
}
