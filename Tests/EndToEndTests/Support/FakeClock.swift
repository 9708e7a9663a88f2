import ChildProcess
import Foundation

/// The wall clock of a relay, which a test sets at run time; timers and the monotonic clock are unaffected.
///
/// The package's library `WallClock` sits between the program and the system, so the tests run the program that is
/// shipped. libfaketime isn't used because it shifts monotonic timers, too: on a machine that has been up for less than
/// the shift, none of them fires.
struct FakeClock: Sendable {
    private let directory = try? TemporaryDirectory()
    private let library = Program.tests.appendingPathComponent("libWallClock.so").path
    private let file: String

    /// Makes a clock that is right.
    init() throws {
        guard let directory, FileManager.default.fileExists(atPath: library) else {
            throw Program.Failure(description: "\(library) is missing: swift build --product WallClock")
        }
        file = directory.file("shift")
        try Data(count: MemoryLayout<Int64>.size).write(to: URL(fileURLWithPath: file))
    }

    /// Variables that make a program use this clock.
    var environment: [String: String] { ["LD_PRELOAD": library, "WALL_CLOCK": file] }

    /// Sets the clock ahead of the right time, or behind it if `seconds` is negative.
    func set(ahead seconds: Int) throws {
        var seconds = Int64(seconds)
        // Written in place, because the program has mapped the file.
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        defer { try? handle.close() }
        try handle.write(contentsOf: Data(bytes: &seconds, count: MemoryLayout<Int64>.size))
    }
}
