import Foundation

/// The wall clock of a relay, which a test sets while it runs; timers and the monotonic clock go on as ever.
///
/// The package's library `WallClock` stands between the program and the system, so the program is the one that is
/// shipped. libfaketime isn't used because it shifts monotonic timers, too: on a machine that has been up for less than
/// the shift, none of them fires.
struct FakeClock: Sendable {
    private let directory = try? TemporaryDirectory()
    private let library = Program.tests.appendingPathComponent("libWallClock.so").path
    private let file: String

    /// A clock that is right.
    init() throws {
        guard let directory, FileManager.default.fileExists(atPath: library) else {
            throw Program.Failure(description: "\(library) is missing: swift build --product WallClock")
        }
        file = directory.file("shift")
        try Data(count: MemoryLayout<Int64>.size).write(to: URL(fileURLWithPath: file))
    }

    /// What makes a program go by this clock.
    var environment: [String: String] { ["LD_PRELOAD": library, "WALL_CLOCK": file] }

    /// Sets the clock so many seconds ahead of the right time, or behind.
    func set(ahead seconds: Int) throws {
        var seconds = Int64(seconds)
        // In place: the program has the file mapped.
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        defer { try? handle.close() }
        try handle.write(contentsOf: Data(bytes: &seconds, count: MemoryLayout<Int64>.size))
    }
}
