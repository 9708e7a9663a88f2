import Glibc
import JSON
import Storage
import StorageMySQL
import StoragePostgres
import StorageSQLite

/// Asks a database for devices, or registers new ones, and prints what it took as JSON.
///
/// Options: `url`, `rows` (secrets `secret-of-the-bench-0` and on that the database has), `in-flight`, `count`, `kind`
/// (`look-ups` of secrets picked at random, or `registrations` of one device under a new secret each).
func loadStorage(_ options: Options) throws(BenchError) {
    let url = try options.string("url")
    let rows = try options.integer("rows")
    let count = try options.integer("count")
    let inFlight = try options.integer("in-flight")
    let kind = try options.string("kind")
    runToEnd {
        let storage = try await openStorage(url)
        let call: @Sendable (Int) async throws(StorageError) -> Bool
        switch kind {
        case "look-ups":
            call = { number async throws(StorageError) in
                let key = SecretHasher().key(
                    of: Secret("secret-of-the-bench-\(scatter(number) % UInt64(rows))"))
                return try await storage.devices(of: key).count == 1
            }
        case "registrations":
            let run = UInt64.random(in: 0...UInt64.max)
            call = { number async throws(StorageError) in
                let key = SecretHasher().key(of: Secret("registration-\(run)-\(number)"))
                var generator = SystemRandomNumberGenerator()
                let registration = Registration(
                    newID: UUIDv7(at: 1_800_000_000_000, using: &generator), token: "aabb",
                    bundleID: "com.example.app",
                    environment: .production, at: 1_800_000_000_000)
                return try await storage.register(registration, under: key, deviceLimit: 50) == .created
            }
        default: throw BenchError.usage("--kind is look-ups or registrations")
        }
        // Connections are opened and pages read before the clock starts.
        try await run(call, numbers: 0..<(inFlight * 8), inFlight: inFlight)
        let began = Usage.now
        try await run(call, numbers: (inFlight * 8)..<(inFlight * 8 + count), inFlight: inFlight)
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

/// Runs a task and ends the process: with status 0, or with 1 and its error.
private func runToEnd(_ body: @escaping @Sendable () async throws -> Void) -> Never {
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

/// Opens a database of any kind; SQLite without its cache, because it is the database that is measured.
private func openStorage(_ url: String) async throws -> any Storage {
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

/// Makes the calls of all numbers, so many at a time; each must have done what it should.
private func run(
    _ call: @escaping @Sendable (Int) async throws(StorageError) -> Bool, numbers: Range<Int>, inFlight: Int
) async throws {
    try await withThrowingTaskGroup { group in
        for lane in 0..<inFlight {
            group.addTask {
                for number in stride(from: numbers.lowerBound + lane, to: numbers.upperBound, by: inFlight) {
                    guard try await call(number) else {
                        throw BenchError.failed("call \(number) did not come to what it should")
                    }
                }
            }
        }
        try await group.waitForAll()
    }
}

/// The same number for the same number, and no pattern among them (SplitMix64's mixing).
private func scatter(_ number: Int) -> UInt64 {
    var mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
}
