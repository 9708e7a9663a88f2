import Glibc
import JSON
import Storage
import StorageMySQL
import StoragePostgres
import StorageSQLite

/// Makes calls of one kind to a database and prints their cost as JSON.
///
/// Options: `url`, `rows` (the secrets in the database, from `secret-of-the-bench-0` on), `in-flight`, `count`, `kind`.
func loadStorage(_ options: Options) throws(BenchError) {
    let url = try options.string("url")
    let rows = try options.integer("rows")
    let count = try options.integer("count")
    let inFlight = try options.integer("in-flight")
    let name = try options.string("kind")
    guard let kind = StorageCall.Kind(rawValue: name) else {
        let names = StorageCall.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        throw BenchError.usage("--kind is one of \(names)")
    }
    runToEnd {
        let storage = try await openStorage(url)
        let calls = StorageCall(kind: kind, storage: storage, rows: rows)
        try await calls.prepare(inFlight: inFlight)
        // Opens connections and warms the page cache before measuring.
        try await run(calls, numbers: 0..<(inFlight * 8), inFlight: inFlight)
        let began = Usage.now
        try await run(calls, numbers: (inFlight * 8)..<(inFlight * 8 + count), inFlight: inFlight)
        let took = Usage.now.since(began)
        await storage.close()
        var writer = JSON.Writer()
        writer.beginObject()
        writer.member("count", count)
        writer.member("microseconds", took.wallMicroseconds)
        writer.member("cpuMicroseconds", took.cpuMicroseconds)
        writer.endObject()
        print(String(decoding: writer.finish(), as: UTF8.self))
    }
}

/// Runs a task and ends the process: with status 0 on success, or with 1 and the error.
func runToEnd(_ body: @escaping @Sendable () async throws -> Void) -> Never {
    Task {
        do {
            try await body()
            exit(0)
        } catch {
            complain("\(error)\n")
            exit(1)
        }
    }
    while true { pause() }
}

/// Opens a database of any kind; SQLite without its cache, to measure the database itself.
func openStorage(_ url: String) async throws -> any Storage {
    switch url.prefix(while: { $0 != ":" }) {
    case "sqlite":
        var options = SQLiteOptions()
        options.cachedDevicesMax = 0
        return try await SQLiteStorage.open(try SQLiteLocation(url: url), options: options)
    case "postgres", "postgresql":
        return try await PostgresStorage.open(try PostgresLocation(url: url))
    default:
        return try await MySQLStorage.open(try MySQLLocation(url: url))
    }
}

/// Makes all calls with bounded concurrency; each must have the expected result.
private func run(_ calls: StorageCall, numbers: Range<Int>, inFlight: Int) async throws {
    try await withThrowingTaskGroup { group in
        for lane in 0..<inFlight {
            group.addTask {
                for number in stride(from: numbers.lowerBound + lane, to: numbers.upperBound, by: inFlight) {
                    guard try await calls.make(number, lane: lane) else {
                        throw BenchError.failed("call \(number) did not have the expected result")
                    }
                }
            }
        }
        try await group.waitForAll()
    }
}
